"""What forbids a faster way between two devices, what does not, and of what it is not known.

ACS and IOMMU: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html (PCI Access Control
Services); BARs and peer memory: https://docs.nvidia.com/cuda/gpudirect-rdma.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from raxl.model import nominal
from raxl.model.accelerator import Accelerator
from raxl.model.component import PciFunction
from raxl.model.facts import Reading
from raxl.model.link import FABRIC_NAMES
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.path import BLOCKS, CLEAR, SLOWS, UNKNOWN, Condition, Path, unknown
from raxl.model.peering import UNREAD, Peering
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED
from raxl.topology import gpudirect, ways

_REDIRECTS = ("ReqRedir", "CmpltRedir")
"""Controls by which a port sends peer traffic up to the root port."""
_OF_PORTS = ("sysfs", "lspci", "lspci-tree")
"""What names the bridges that are there; of a topology document's tree the ports may be made up."""
_OWN_DRIVERS = {"nvidia": "nvidia", "amd": "amdgpu"}
_ACS = "whether ACS redirects peer traffic"
_TRANSLATES = "whether an IOMMU translates DMA"
_HELD = {
    "blocked": "the IOMMU blocks a device's DMA",
    "unmanaged": "a device's IOMMU group is unmanaged: a virtual machine or a process holds it",
}
_DISTANCES = {
    "PHB": "no switch joins them: the way leads through a host bridge of the processor",
    "NODE": "no switch joins them: the way leads through the processor, from one host bridge to another",
    "SYS": "they hang on different NUMA nodes: the way leads from one to the other",
}


class Pair(NamedTuple):
    """The two ends of a path, where they sit, and the path."""

    node: Node
    peering: Peering
    ends: tuple[Accelerator | Nic, Accelerator | Nic]
    functions: tuple[PciFunction | None, PciFunction | None]
    path: Path

    @property
    def accelerators(self) -> tuple[Accelerator, ...]:
        """The ends that are accelerators."""
        return tuple(end for end in self.ends if isinstance(end, Accelerator))

    @property
    def nics(self) -> tuple[Nic, ...]:
        """The ends that are NICs."""
        return tuple(end for end in self.ends if isinstance(end, Nic))


def of(pair: Pair) -> tuple[Condition, ...]:
    """Every condition that matters for this pair: those of PCIe for none that is lost or joined by a fabric."""
    found = [*_states(pair)]
    if pair.path.kind not in (None, "pcie"):
        return (*found, *_fabric(pair))
    found += _scale_up(pair)
    if not any(one.kind == "state" for one in found):
        found += [*_distance(pair), *_width(pair), *_acs(pair)]
        if pair.accelerators:
            found += [*_iommu(pair), *_bars(pair)]
        found += gpudirect.conditions(pair) if len(pair.accelerators) == 1 else _peers(pair)
    return tuple(found)


def _states(pair: Pair) -> Iterator[Condition]:
    for end in pair.ends:
        if end.state in ("lost", "down"):
            yield Condition("state", BLOCKS, f"{end.id} is {end.state}", evidence=end.evidence)
    for accelerator in pair.accelerators:
        driver, own = accelerator.attributes.get("driver"), _OWN_DRIVERS.get(accelerator.vendor)
        if driver and own and driver != own:
            yield Condition("driver", BLOCKS, f"{accelerator.id} is bound to {driver}, not to {own}", ("sysfs",))
        if accelerator.attributes.get("mig_mode") == "Enabled" and len(pair.accelerators) == 2:
            message = f"{accelerator.id} is in MIG mode: its instances reach no other GPU"
            yield Condition("mig", BLOCKS, message, evidence=accelerator.evidence)


def _fabric(pair: Pair) -> Iterator[Condition]:
    """Whether the fabric that joins them carries anything between them."""
    ids = {end.id for end in pair.ends}
    link = next((one for one in pair.node.links if {one.a, one.b} == ids), None)
    if link is not None and link.state == "down":
        told = [one.message for one in pair.node.problems if one.subject == "links.fabric" and one.reason == FAILED]
        named = [message for message in told if ids & set(re.findall(r"\w+:\d+", message))]
        yield Condition(
            "fabric", BLOCKS, next(iter(named), "they are in different cliques of the fabric"), link.evidence
        )


def _scale_up(pair: Pair) -> Iterator[Condition]:
    """Whether a fabric could join two accelerators that PCIe joins."""
    if len(pair.accelerators) != 2:
        return
    told = next((one for one in pair.node.problems if one.subject in ("links.scale_up", "links")), None)
    ids = [one.pci.device_id if one.pci else None for one in pair.accelerators]
    if pair.path.kind is None or (told and told.subject == "links.scale_up" and all(map(nominal.may_have_nvlink, ids))):
        message = told.message if told else "nobody says it"
        reason = told.reason if told else NOT_ASKED
        yield unknown(
            "scale-up", "whether a scale-up fabric joins them", reason, message, told.evidence if told else ()
        )
        return
    others = sorted({str(link.kind) for link in pair.node.links if link.kind not in (None, "pcie")})
    if others:
        fabric = " and ".join(FABRIC_NAMES.get(name, name.upper()) for name in others)
        yield Condition(
            "scale-up", SLOWS, f"{fabric} joins other pairs of this node, not these two", pair.path.evidence
        )


def _distance(pair: Pair) -> Iterator[Condition]:
    message = _DISTANCES.get(pair.path.link_class or "")
    if message is None:
        return
    kinds = {hop.kind for hop in pair.path.hops}
    if "cpu-internal" in kinds:
        message += ", inside one processor"
    elif "cpu-interconnect" in kinds:
        message += ", from processor to processor"
    yield Condition("distance", SLOWS, message, pair.path.evidence)


def _width(pair: Pair) -> Iterator[Condition]:
    for hop in pair.path.hops:
        link = hop.link
        if link is not None and link.width is not None and link.max_width is not None and link.width < link.max_width:
            message = f"the link of {hop.a} and {hop.b} has {link.width} lanes of {link.max_width}"
            yield Condition("width", SLOWS, message, hop.evidence)


def _acs(pair: Pair) -> Iterator[Condition]:
    """Whether the ports at which the traffic turns send it up to the root port."""
    mine, other = pair.functions
    ports = ways.meeting(mine, other) if mine and other else ()
    if not ports or mine is None or mine.evidence not in _OF_PORTS:
        return
    if pair.node.path_trust == "virtual":
        yield unknown("acs", _ACS, NOT_APPLICABLE, "the ports of a virtual PCI tree are not those of the machine")
        return
    readings = {port: pair.peering.ports.get(port, UNREAD) for port in ports}
    evidence = tuple(dict.fromkeys(one.source for one in readings.values() if one.source))
    on = {port: [name for name in one.value or () if name in _REDIRECTS] for port, one in readings.items()}
    redirecting = [port for port in ports if on[port]]
    if redirecting:
        names = " and ".join(name for name in _REDIRECTS if any(name in on[port] for port in redirecting))
        where = " and ".join(redirecting)
        message = f"ACS is on at {where} ({names}): peer traffic turns at the root complex, not there"
        yield Condition("acs", SLOWS, message, evidence)
    elif silent := _silent(list(readings.values())):
        yield unknown("acs", f"{_ACS} at {' and '.join(ports)}", silent.reason, silent.message, evidence)
    else:
        yield Condition("acs", CLEAR, f"ACS redirects nothing at {' and '.join(ports)}", evidence)


def _iommu(pair: Pair) -> Iterator[Condition]:
    """Whether an IOMMU translates what the devices send to each other."""
    if pair.node.path_trust == "virtual":
        yield unknown("iommu", _TRANSLATES, NOT_APPLICABLE, "a virtual machine does not see the machine's own IOMMU")
        return
    if None in pair.functions:
        yield unknown("iommu", _TRANSLATES, NOT_ASKED, "where both devices sit is not known")
        return
    functions = [function.address for function in pair.functions if function]
    types = [pair.peering.iommu_types.get(address, UNREAD) for address in functions]
    known = [str(one.value) for one in types if one.value is not None]
    evidence = tuple(dict.fromkeys(one.source for one in (*types, pair.peering.iommus) if one.source))
    translating = [name for name in known if name.startswith("DMA")]
    absent = all(one.reason == NOT_PRESENT for one in types)
    held = next((name for name in known if name in _HELD), None)
    if held:
        yield Condition("iommu", BLOCKS, _HELD[held], evidence)
    elif translating and pair.node.os.architecture == "aarch64":
        yield Condition("iommu", CLEAR, f"the SMMU translates DMA ({translating[0]}), as it should here", evidence)
    elif translating:
        message = f"the IOMMU translates DMA ({translating[0]}): peer traffic goes through it; iommu=pt lets it pass"
        yield Condition("iommu", SLOWS, message, evidence)
    elif types and len(known) == len(types):
        yield Condition("iommu", CLEAR, f"the IOMMU lets DMA pass ({known[0]})", evidence)
    elif pair.peering.iommus.value == () or (types and absent and pair.peering.iommus.value):
        words = "no IOMMU runs" if not pair.peering.iommus.value else "the devices are in no IOMMU group"
        yield Condition("iommu", CLEAR, words, evidence)
    else:
        yield _by_parameters(pair, types)


def _by_parameters(pair: Pair, types: list[Reading]) -> Condition:
    """What the kernel's command line says, where the devices' groups say nothing."""
    words = str(pair.peering.kernel_parameters.value or "").split()
    for word in ("iommu=pt", "iommu.passthrough=1", "iommu=off"):
        if word in words:
            return Condition("iommu", CLEAR, f"the kernel was started with {word}", ("/proc/cmdline",))
    silent = _silent([*types, pair.peering.iommus]) or Reading(
        None, "", NOT_ASKED, "where the devices sit is not known"
    )
    return unknown("iommu", _TRANSLATES, silent.reason, silent.message)


def _bars(pair: Pair) -> Iterator[Condition]:
    """Whether all memory of an accelerator can be reached over PCIe at once; what holds of both ends is said once."""
    found: dict[tuple[str, str, str | None, str], list[tuple[str, str]]] = {}
    for end, function in zip(pair.ends, pair.functions, strict=True):
        if isinstance(end, Accelerator) and function is not None:
            reading = pair.peering.bars.get(function.address, UNREAD)
            found.setdefault(_bar(end, reading), []).append((end.id, reading.source))
    for (status, message, reason, why), told in found.items():
        evidence = tuple(source for _, source in told if source)
        message = message.format(" and ".join(id for id, _ in told))
        yield unknown("bar", message, reason, why, evidence) if reason else Condition("bar", status, message, evidence)


def _bar(accelerator: Accelerator, reading: Reading) -> tuple[str, str, str | None, str]:
    """Status, message with a place for the accelerator, and why it is not known."""
    memory = accelerator.memory_bytes
    if reading.value is None:
        return UNKNOWN, "whether a BAR covers the memory of {}", reading.reason or NOT_ASKED, reading.message
    if memory is None:
        return UNKNOWN, "whether a BAR covers the memory of {}", NOT_ASKED, "how much memory that is, is not known"
    if reading.value >= memory:
        return CLEAR, f"a BAR of {_size(reading.value)} covers the memory of {{}}", None, ""
    sizes = f"{_size(reading.value)}, its memory {_size(memory)}"
    return SLOWS, f"the largest BAR of {{}} is {sizes}: peers see a part at a time", None, ""


def _size(count: int) -> str:
    return f"{count / (1 << 30):.3g} GiB" if count >= 1 << 30 else f"{count / (1 << 20):.3g} MiB"


def _peers(pair: Pair) -> Iterator[Condition]:
    """Whether the drivers let the two map each other's memory, where that is not a matter of course."""
    if len(pair.accelerators) != 2:
        return
    a, b = pair.accelerators
    if a.vendor != b.vendor:
        message = f"whether a driver maps memory of {a.vendor} for {b.vendor}"
        yield unknown("p2p", message, NOT_SUPPORTED, "nothing that raxl reads says it")
    elif told := _told_of_peers(pair):
        yield told
    elif any("geforce" in (one.model or "").lower() for one in (a, b)):
        message = "whether the driver lets GeForce cards reach each other"
        yield unknown("p2p", message, NOT_ASKED, "nvidia-smi topo -p2p was not asked")


def _told_of_peers(pair: Pair) -> Condition | None:
    """What the driver itself says of the two; nothing where it was not asked."""
    reading = pair.peering.p2p.get(frozenset(one.address for one in pair.functions if one), UNREAD)
    names = " and ".join(one.id for one in pair.accelerators)
    if reading.value == "ok":
        return Condition("p2p", CLEAR, f"the driver lets {names} read and write each other", (reading.source,))
    if reading.value is not None:
        return Condition("p2p", BLOCKS, f"{names} may not reach each other: {reading.value}", (reading.source,))
    if reading.reason == NOT_ASKED:
        return _pasted(pair, names)
    return unknown(
        "p2p", f"whether {names} may reach each other", str(reading.reason), reading.message, (reading.source,)
    )


def _pasted(pair: Pair, names: str) -> Condition | None:
    """What `nvidia-smi topo -p2p` said of reads and writes between the two, where somebody gave its output."""
    a, b = pair.accelerators
    asked = re.compile(rf"p2p_(?:(?:read|write|read_write|write_read)_)?gpu{b.index}")
    words = [str(word) for name, word in a.attributes.items() if asked.fullmatch(name)]
    if not words:
        return None
    if set(words) == {"OK"}:
        return Condition("p2p", CLEAR, f"the driver lets {names} reach each other", (_P2P_TOOL,))
    bad = next(word for word in words if word != "OK")
    return Condition("p2p", BLOCKS, f"{names} may not reach each other: {_P2P_WORDS.get(bad, bad)}", (_P2P_TOOL,))


_P2P_TOOL = "nvidia-smi topo -p2p"
_P2P_WORDS = {
    "CNS": "the chipset does not support it",
    "GNS": "the GPU does not support it",
    "TNS": "the topology does not support it",
    "NS": "it is not supported",
    "DR": "it is switched off",
}
"""Its legend."""


def _silent(readings: list[Reading]) -> Reading | None:
    """The first of the readings that has no value."""
    return next((one for one in readings if one.value is None), None)
