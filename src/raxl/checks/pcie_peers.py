"""What lets devices of a node reach each other over PCIe, or keeps them from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from raxl.checks import P1, P2, Case, Verdict, check, ok, skip, warn
from raxl.checks.pcie_hops import Device, devices, is_virtual, no_accelerator, reading, unread_together
from raxl.checks.words import listed, size
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK, ROOT, STANDARD, Evidence
from raxl.model.problem import NOT_SUPPORTED

_NCCL = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"
_REDIRECTS = ("ReqRedir", "CmpltRedir")
_HANDED_ON = "vfio-pci"
_MOST_DEVICES = 64
_SWITCH_OFF = (
    "lspci -vvv shows ACSCtl; switch ACS (and, where no virtual machine needs it, the IOMMU: iommu=pt or off) off in "
    "the firmware's setup, or clear ReqRedir and CmpltRedir at boot (setpci -s {} ECAP_ACS+6.w=0000, each port); no "
    "job may run meanwhile"
)


class Turn(NamedTuple):
    """Where traffic between two devices turns."""

    a: Device
    b: Device
    ports: tuple[str, ...]
    is_switch: bool
    """Whether a switch joins them; else the ports are root ports of one host bridge."""


def _turns(case: Case) -> list[Turn]:
    """Of each pair of accelerators that PCIe alone joins, and of each accelerator and RDMA adapter, the ports at which
    their traffic turns; pairs that meet in the processor are left out."""
    counting = sorted((one for one in devices(case) if one.counts), key=lambda one: one.address)[:_MOST_DEVICES]
    joined = {frozenset((link.a, link.b)) for link in case.node.links if link.kind not in (None, "pcie")}
    found = []
    for a, b in combinations(counting, 2):
        if not (a.is_accelerator or b.is_accelerator) or frozenset((a.id, b.id)) in joined:
            continue
        roots = [reading(case, one.address, "root").value for one in (a, b)]
        mine, other = (reading(case, one.address, "chain").value or () for one in (a, b))
        if roots[0] is None or roots[0] != roots[1] or a.address.rpartition(".")[0] == b.address.rpartition(".")[0]:
            continue
        common = 0
        while common < min(len(mine), len(other)) and mine[common] == other[common]:
            common += 1
        ports = tuple(chain[common] for chain in (mine, other) if len(chain) > common)
        if len(ports) == 2:
            found.append(Turn(a, b, ports, common > 0))
    return found


def _redirected(case: Case, turn: Turn) -> list[str]:
    """The ports that send peer traffic up. Root ports do so harmlessly where no IOMMU translates it."""
    ports = [port for port in turn.ports if set(reading(case, port, "acs").value or ()).intersection(_REDIRECTS)]
    return ports if turn.is_switch or not _passes(case, turn) else []


def _passes(case: Case, turn: Turn) -> bool:
    """Whether the IOMMU is known to let the traffic of both pass as it is, or has to translate it on this platform."""
    types = [reading(case, one.address, "iommu") for one in (turn.a, turn.b)]
    return all(one.value == "identity" for one in types) or case.node.os.architecture == "aarch64"


@check("pcie.acs", "No bridge turns traffic between devices away", P1, QUICK, "config", vantage=ROOT, reference=_NCCL)
def acs(case: Case) -> Iterator[Verdict]:
    """Access control on a bridge sends what one device writes to its neighbour up to the processor, where it is slow,
    or is lost: the first collective then hangs, or carries wrong data.

    Read: the ACS control register of the ports at which traffic between two accelerators, or an accelerator and an
    RDMA adapter, turns, out of the extended configuration space (root) or `lspci -vvv`. It warns where requests or
    completions are redirected at the ports of a switch, or at root ports of one host bridge unless the IOMMU is known
    to let the traffic pass (type `identity`).

    Not to be confused: accelerators that NVLink or XGMI joins do not care. With devices handed on to virtual machines
    ACS has to stay on, and inside one the ports are made up. On ARM the SMMU has to translate.
    """
    if (verdict := no_accelerator(case)) is not None:
        yield verdict
        return
    if is_virtual(case):
        yield skip("node", "the ports of a virtual machine are not the machine's, and virtual machines need ACS")
        return
    turns = _turns(case)
    if not turns:
        yield skip("node", "no two devices here meet at a bridge: they are joined otherwise, or in the processor")
        return
    ports = list(dict.fromkeys(port for turn in turns for port in turn.ports))
    bad = list(dict.fromkeys(port for turn in turns for port in _redirected(case, turn)))
    handed = [address for address in case.facts.pcie if reading(case, address, "driver").value == _HANDED_ON]
    if bad and handed:
        yield skip("node", f"ACS is on at {listed(bad)}, and has to be: {listed(handed)} is given to a virtual machine")
    elif bad:
        yield _redirecting(case, turns, bad)
    silent = {port: reading(case, port, "acs") for port in ports if not reading(case, port, "acs").known}
    clear = len(ports) - len(silent) - len(bad)
    if clear and not bad:
        yield ok("node", f"{clear} ports between devices let their traffic turn, or the IOMMU lets it pass")
    yield from unread_together(case, silent, "whether ACS redirects traffic at the port")


def _redirecting(case: Case, turns: list[Turn], bad: list[str]) -> Verdict:
    pairs = [turn for turn in turns if set(turn.ports).intersection(bad)]
    shown = [
        Evidence(reading(case, port, "acs").source, f"{port}: {' '.join(reading(case, port, 'acs').value)}")
        for port in bad[:16]
    ]
    named = f"{pairs[0].a.id} and {pairs[0].b.id}" + (f" and {len(pairs) - 1} more pairs" if len(pairs) > 1 else "")
    where = "a switch" if any(turn.is_switch for turn in pairs) else "root ports"
    words = f"ACS redirects peer traffic at {listed(bad)} ({where}): between {named} it is slow, or lost"
    return warn("node", words, *shown, remedy=_SWITCH_OFF.format(bad[0]), remedy_class="config")


@check("pcie.p2p", "What the driver claims of peer access over PCIe holds", P1, STANDARD, "config", reference=_NCCL)
def p2p(case: Case) -> Iterator[Verdict]:
    """NCCL believes the driver that two GPUs can reach each other, and hangs where the platform turns their writes
    away.

    Read: NVML's answer for each pair that PCIe alone joins, with ACS of the ports between them and the IOMMU. It
    warns where the driver claims that a pair can reach each other while ACS redirects or the IOMMU translates their
    traffic.

    Not to be confused: a driver that denies peer access, as GeForce's does, is slow and safe. Only a transfer whose
    data is verified proves that peer access works: `raxl bench-transport`.
    """
    if (verdict := no_accelerator(case)) is not None:
        yield verdict
        return
    if is_virtual(case):
        yield skip("node", "ports and IOMMU of a virtual machine are not the machine's")
        return
    claims: Mapping[frozenset[str], Reading] = case.facts.drivers.get("p2p", NOT_READ).value or {}
    claiming = {one.id for one in case.node.accelerators if one.vendor == "nvidia"}
    pairs = [turn for turn in _turns(case) if {turn.a.id, turn.b.id} <= claiming]
    if not pairs:
        yield skip("node", "no two NVIDIA GPUs here are joined by PCIe alone at one host bridge")
        return
    said: list[str] = []
    silent: dict[str, Reading] = {}
    for turn in pairs:
        claim = claims.get(frozenset((turn.a.address, turn.b.address)), NOT_READ)
        names = f"{turn.a.id} and {turn.b.id}"
        if not claim.known:
            silent.setdefault(turn.a.id, claim)
        elif claim.value == "ok" and (why := _hindered(case, turn)):
            words = f"the driver claims that {names} reach each other, and {why}: a collective may hang"
            remedy = f"{_SWITCH_OFF.format(turn.ports[0])}; until then run with NCCL_P2P_DISABLE=1"
            yield warn(
                turn.a.id, words, Evidence(claim.source, "ok"), remedy=remedy, remedy_class="config", root=turn.b.id
            )
        else:
            said.append(f"{names}: {claim.value}")
    if said:
        yield ok("node", f"the driver says of peer access {listed(said)}")
    yield from unread_together(case, silent, "what the driver claims of peer access")


def _hindered(case: Case, turn: Turn) -> str | None:
    if bad := _redirected(case, turn):
        return f"ACS redirects their traffic at {listed(bad)}"
    types = [str(reading(case, one.address, "iommu").value) for one in (turn.a, turn.b)]
    if any(one.startswith("DMA") for one in types) and case.node.os.architecture != "aarch64":
        return f"the IOMMU translates their traffic ({types[0]})"
    return None


@check("pcie.bar-size", "Accelerators of one kind show as much of their memory to the bus", P2, QUICK, "config")
def bar_size(case: Case) -> Iterator[Verdict]:
    """Peers and adapters reach as much of a device's memory as its largest BAR covers.

    Read: the sizes in `resource`, and the memory's. It warns where a BAR is smaller than that of another device of
    the same model in the node.

    Not to be confused: workstation and older cards show 256 MiB unless the firmware resizes BARs, and all of them
    alike.
    """
    if (verdict := no_accelerator(case)) is not None:
        yield verdict
        return
    sizes: dict[str, int] = {}
    silent: dict[str, Reading] = {}
    most: dict[str | None, int] = {}
    for device in case.node.accelerators:
        bar = reading(case, device.pci.address if device.pci else None, "bar")
        if bar == NOT_READ and case.node.recorded_by is not None:
            continue  # its family is not asked for it
        if bar.known:
            sizes[device.id] = bar.value
            most[device.model] = max(most.get(device.model, 0), bar.value)
        else:
            silent[device.id] = bar
    small = False
    for device in case.node.accelerators:
        own = sizes.get(device.id)
        if own is not None and device.model and own < most[device.model]:
            small = True
            words = f"the largest BAR of {device.id} is {size(own)}, of others of its model {size(most[device.model])}"
            yield warn(device.id, words, Evidence("resource", str(own)), remedy=_RESIZE, remedy_class="config")
    if sizes and not small:
        yield ok("node", f"BARs of {listed(sorted({size(one) for one in sizes.values()}))}, alike for each model")
    yield from unread_together(case, silent, "the size of the BAR")
    if not sizes and not silent:
        yield skip("node", "BARs are read of display and processing functions alone", NOT_SUPPORTED)


_RESIZE = "switch Above 4G Decoding and Resizable BAR on in the firmware's setup, and reboot the drained node"
