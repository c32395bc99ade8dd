"""GPUDirect RDMA: whether adapters read and write the memory of accelerators, or the host copies in between."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.checks import P0, P1, Case, Verdict, check, evidence, fail, ok, skip, unknown, warn, without
from raxl.checks.ports import is_rdma, none
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ
from raxl.model.finding import HOST, QUICK, Evidence
from raxl.model.link import PCIE_CLASSES
from raxl.model.machine import NcclLog
from raxl.model.nic import Nic
from raxl.model.path import BLOCKS, CLEAR, Condition
from raxl.model.peering import Peering
from raxl.model.problem import NOT_ASKED
from raxl.topology import gpudirect

_VENDORS = ("nvidia", "amd")
_OPTIONS = ("PCI_P2PDMA", "DMABUF_MOVE_NOTIFY")
_REMEDIES = {
    "nvidia": "modprobe nvidia_peermem (after the RDMA driver), or install the open kernel module, after a drain",
    "amd": "install amdgpu-dkms, or a kernel with PCI_P2PDMA and DMABUF_MOVE_NOTIFY, after a drain",
}
_FIRST_THAT_KNOWS = (2, 23, 4)
"""The first NCCL that finds nvidia_peermem where the kernel lists no memory peers (NVIDIA/nccl #1676)."""
_NEW_MODULE, _OLD_MODULE = "nvidia_peermem", "nv_peer_mem"


def _pair(case: Case) -> tuple[Accelerator, Nic] | Verdict:
    """An accelerator and an RDMA adapter of the node, or why there is no such pair."""
    device = next((one for one in case.node.accelerators if one.vendor in _VENDORS), None)
    if device is None:
        return without(case, "NVIDIA or AMD accelerator")
    nic = next((one for one in case.node.nics if is_rdma(one)), None)
    return (device, nic) if nic is not None else none(case)


def _condition(case: Case, device: Accelerator, nic: Nic) -> Condition:
    facts = case.facts
    peering = Peering(
        nvidia_module=facts.host.get("nvidia_module", NOT_READ),
        memory_clients=facts.host.get("memory_clients", NOT_READ),
        modules=facts.modules,
    )
    return gpudirect.readiness(device, nic, peering, case.node.os.kernel)


@check(
    "gdr.path",
    "Adapters may reach the memory of accelerators",
    P0,
    QUICK,
    "config",
    vantage=HOST,
    reference="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html",
)
def path(case: Case) -> Iterator[Verdict]:
    """Without GPUDirect RDMA all traffic between nodes is copied through the host's memory, at a fraction of the rate.

    Read: the loaded modules, the kind of NVIDIA's kernel module, the kernel's release, and the kernel's list of who
    offers device memory to RDMA; of AMD, else the kernel's configuration. It warns where there is an accelerator and an
    RDMA adapter, and neither nvidia_peermem is loaded nor DMA-BUF can serve (open kernel module, Linux 5.12).

    Not to be confused: nvidia_peermem is on its way out, and its absence alone is no fault. What is read here says that
    it may work; only a transfer proves it (`raxl bench-transport`).
    """
    pair = _pair(case)
    if isinstance(pair, Verdict):
        yield pair
        return
    device, nic = pair
    condition = _condition(case, device, nic)
    if device.vendor == "amd" and condition.status not in (CLEAR, BLOCKS):
        condition = _by_configuration(case) or condition
    told = [Evidence(source, condition.message) for source in condition.evidence]
    if condition.status == CLEAR:
        yield ok("node", f"GPUDirect RDMA is {condition.message}", *told)
    elif condition.status == BLOCKS:
        yield warn(
            "node",
            f"the host copies all traffic between nodes: {condition.message}",
            *told,
            remedy=_REMEDIES[device.vendor],
            remedy_class="config",
        )
    else:
        yield unknown("node", condition.reason or NOT_ASKED, condition.message, *told)


def _by_configuration(case: Case) -> Condition | None:
    """Whether the kernel was built with DMA-BUF between devices, where no client of peer memory is listed.

    RCCL goes by the same two options of /boot/config-RELEASE.
    """
    reading = case.facts.host.get("kernel_config", NOT_READ)
    if not reading.known:
        return None
    missing = [name for name in _OPTIONS if reading.value.get(name) != "y"]
    if not missing:
        message = "ready by DMA-BUF (the kernel has PCI_P2PDMA and DMABUF_MOVE_NOTIFY)"
        return Condition(gpudirect.KIND, CLEAR, message, (reading.source,))
    message = f"amdkfd is no client of peer memory, and the kernel was built without {listed(missing)}"
    return Condition(gpudirect.KIND, BLOCKS, message, (reading.source,))


@check(
    "gdr.affinity",
    "The adapter next to each accelerator is in use",
    P1,
    QUICK,
    "config",
    reference="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-net-gdr-level",
)
def affinity(case: Case) -> Iterator[Verdict]:
    """An accelerator whose own adapter is down uses one behind another processor, and shares it with that one's.

    Read: the PCIe classes between accelerators and RDMA adapters, and the adapters' states. It warns where the nearest
    adapter that is up is behind the host bridge (NODE, SYS) and one that is down shares a switch with the accelerator
    (PIX, PXB).

    Not to be confused: a hypervisor makes its PCI tree up, so that nearness says nothing there.
    """
    devices = [one for one in case.node.accelerators if one.vendor in _VENDORS]
    nics = {nic.id: nic for nic in case.node.nics if is_rdma(nic)}
    pair = _pair(case)
    if isinstance(pair, Verdict):
        yield pair
        return
    if case.node.path_trust == "virtual":
        yield skip("node", "a hypervisor made the PCI tree up: what is near to what is not known")
        return
    ranks = _ranks(case, nics)
    far = [one for device in devices if (one := _far(device.id, ranks.get(device.id, {}), nics))]
    far += [one for device in devices if (one := _untold(device.id, ranks.get(device.id, {}), nics))]
    yield from far
    if not ranks:
        yield unknown("node", NOT_ASKED, "no PCIe class between an accelerator and an RDMA adapter is known")
    elif not far:
        yield ok("node", f"each of {len(ranks)} accelerators has its nearest RDMA adapter up")


def _ranks(case: Case, nics: dict[str, Nic]) -> dict[str, dict[str, str]]:
    """By accelerator, the class of its path to each RDMA adapter."""
    found: dict[str, dict[str, str]] = {}
    for link in case.node.links:
        for device, nic in ((link.a, link.b), (link.b, link.a)):
            if nic in nics and device not in nics and link.link_class in PCIE_CLASSES:
                found.setdefault(device, {})[nic] = link.link_class
    return found


def _far(device: str, classes: dict[str, str], nics: dict[str, Nic]) -> Verdict | None:
    near = PCIE_CLASSES[:2]
    up = [(PCIE_CLASSES.index(one), nic) for nic, one in classes.items() if nics[nic].state != "down"]
    down = [nic for nic, one in classes.items() if nics[nic].state == "down" and one in near]
    if not up or not down or min(up)[0] < PCIE_CLASSES.index("NODE"):
        return None
    rank, other = min(up)
    words = f"{listed(down)} beside {device} is down: its traffic goes by {other} ({PCIE_CLASSES[rank]})"
    remedy = f"bring {down[0]} up (see ib.port-state), or keep jobs of several nodes off {device}"
    return warn(device, words, remedy=remedy, remedy_class="config")


def _untold(device: str, classes: dict[str, str], nics: dict[str, Nic]) -> Verdict | None:
    """Where the adapters that share a switch with it are in states that nobody read."""
    states = {nic: nics[nic].state for nic, one in classes.items() if one in PCIE_CLASSES[:2]}
    if "unknown" not in states.values() or {"ok", "degraded"}.intersection(states.values()):
        return None
    names = [nic for nic, state in states.items() if state == "unknown"]
    return unknown(device, NOT_ASKED, f"whether {listed(names)} beside {device} is up was not read")


@check(
    "gdr.nccl",
    "The NCCL in use finds the module for GPUDirect RDMA",
    P1,
    QUICK,
    "config",
    reference="https://github.com/NVIDIA/nccl/issues/1676",
)
def nccl(case: Case) -> Iterator[Verdict]:
    """An upgrade of the system replaces nv_peer_mem by nvidia_peermem, and an older NCCL then copies through the host.

    Read: the version that NCCL's log gives (`--from LOG`) or that was found beside the driver, the loaded modules, and
    the kind of NVIDIA's kernel module. It fails where NCCL is older than 2.23.4, nvidia_peermem is loaded, nv_peer_mem
    is not, and the log says that GPU Direct RDMA is disabled or DMA-BUF cannot serve.
    """
    log = case.facts.logs.get("nccl", NOT_READ)
    told: NcclLog | None = log.value if log.known else None
    version = (told.version if told else None) or next(
        (one.version for one in case.node.software if one.name == "nccl"), None
    )
    if told is not None and told.library != "NCCL":
        yield skip("node", f"the log is of {told.library}, which needs no such module")
        return
    if version is None:
        yield skip("node", "the version of NCCL is not known: its log (NCCL_DEBUG=INFO) tells it")
        return
    number = tuple(int(word) for word in re.findall(r"[0-9]{1,6}", version)[:3])
    modules, module = case.facts.modules, case.facts.host.get("nvidia_module", NOT_READ)
    is_disabled = told is not None and False in told.direct.values()
    if number >= _FIRST_THAT_KNOWS:
        yield ok("node", f"NCCL {version} recognises {_NEW_MODULE}")
    elif not modules.known:
        yield unknown(
            "node", modules.reason or NOT_ASKED, f"NCCL is {version}; which modules are loaded: {modules.message}"
        )
    elif _NEW_MODULE not in modules.value or _OLD_MODULE in modules.value:
        yield ok("node", f"NCCL {version} needs no {_NEW_MODULE} here")
    elif is_disabled or module.value == "closed":
        yield fail(
            "node",
            f"NCCL {version} does not recognise {_NEW_MODULE}, 2.23.4 does: it copies through the host",
            evidence(log, f"NCCL version {version}"),
            evidence(modules, f"{_NEW_MODULE} is loaded, {_OLD_MODULE} is not"),
            remedy="install NCCL 2.23.4 or newer for the jobs, and look for GPU Direct RDMA Enabled in its log",
            remedy_class="config",
            root=version,
        )
    elif module.value == "open":
        yield ok("node", f"NCCL {version} does not recognise {_NEW_MODULE}, and the open kernel module has DMA-BUF")
    else:
        words = (
            f"NCCL {version} does not recognise {_NEW_MODULE}; whether DMA-BUF serves is not known: {module.message}"
        )
        yield unknown("node", module.reason or NOT_ASKED, words)
