"""NCCL and RCCL topology XML: what `NCCL_TOPO_DUMP_FILE` writes and `NCCL_TOPO_FILE` reads.

NCCL's `src/graph/xml.cc`; RCCL adds `xgmi`. Clouds publish such files for their virtual machines, without `gpu`
elements and often without ids, some without classes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from raxl.intake import nccl_links, nccl_tree
from raxl.intake.foreign import Foreign
from raxl.intake.nccl_tree import FORM, Device, Net, Place, number
from raxl.model.component import PciFunction
from raxl.model.nic import Nic
from raxl.model.node import NumaNode, OperatingSystem
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, Problem
from raxl.model.report import Claim, Report
from raxl.sources import kernel_list, xml_text

_ACCELERATORS = ("0302", "0380", "1200")
"""Classes of a 3D controller, another display controller and a processing accelerator."""
_VENDORS = {"10de": "nvidia", "1002": "amd"}
_CLASS_VENDORS = {"0302": "nvidia", "0380": "amd", "1200": "amd"}
"""Whose accelerators have a class, among those that NCCL and RCCL drive."""
_MACHINES = {"arm64": "aarch64"}
"""NCCL's names of architectures that `uname -m` spells otherwise."""
_FASTEST = 10**7
"""Megabits per second, more than any port carries: an RCCL file states 200000000 for Slingshot."""
_NETDEV = re.compile(r"(eth|en)")
_IPOIB = re.compile(r"ib[ps]?\d")


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The machine that a topology file describes, and what is wrong with the file.

    Of a file that was cut off, what stands before the cut is read. All accelerators are claims, because functions often
    have no vendor.
    """
    root, error = xml_text.parse(text)
    system = root if root is None or root.tag == "system" else root.find(".//system")
    if system is None:
        why = error or "it has no system element"
        return Foreign(FORM), (Problem("pci_tree", FAILED, f"the NCCL topology cannot be read: {why}", (FORM,)),)
    places, others = nccl_tree.places(system)
    found = [thing for place in places for thing in nccl_tree.walk(place)]
    devices, doubles = _distinct([thing for thing in found if isinstance(thing, Device)])
    gpus = [device for device in devices if _is_accelerator(device)]
    links, differences = nccl_links.links(gpus)
    claims, renumbered = _claims(gpus)
    nics, odd = _nics([thing for thing in found if isinstance(thing, Net)], devices)
    foreign = Foreign(
        form=FORM,
        functions=tuple(device.function for device in devices),
        os=OperatingSystem(architecture=_architecture(places)),
        numa_nodes=tuple(_numa_nodes(places)),
        nics=nics,
        report=Report(claims=claims, links=links, switches=nccl_links.nvswitches(gpus, devices)),
    )
    return foreign, (*_state(error, others), *_nameless(devices), *doubles, *renumbered, *differences, *odd)


def _nameless(devices: Sequence[Device]) -> Iterator[Problem]:
    """Functions of which the file gives an address and no more: neither ids nor anything beneath."""
    bare = [device for device in devices if len(device.element) == 0]
    count = sum(1 for one in bare if one.function.class_id is None and one.function.vendor_id is None)
    if count:
        message = f"{count} PCI functions have neither class nor vendor in this file: what they are is not told"
        yield Problem("pci_tree", NOT_ASKED, message, (FORM,))


def _state(error: str | None, others: int) -> Iterator[Problem]:
    if error is not None:
        message = f"the NCCL topology ends early ({error}): what stands before is read"
        yield Problem("pci_tree", FAILED, message, (FORM,))
    if others:
        message = f"the NCCL topology holds several machines: {others} processors of others are left out"
        yield Problem("pci_tree", NOT_ASKED, message, (FORM,))


def _distinct(devices: Sequence[Device]) -> tuple[list[Device], list[Problem]]:
    """The devices, each address once, as NCCL takes them; a second that differs from the first is a problem."""
    found: dict[str, Device] = {}
    problems = []
    for device in devices:
        first = found.setdefault(device.function.address, device)
        if first is not device and (first.function != device.function or first.element.find("gpu") is not None):
            message = f"two different PCI functions have the address {device.function.address}: the first is read"
            problems.append(Problem("pci_tree", DISAGREEMENT, message, (FORM,)))
    return list(found.values()), problems


def _numa_nodes(places: Sequence[Place]) -> Iterator[NumaNode]:
    """The NUMA nodes that processors name. Their memory and distances are not said."""
    masks: dict[int, str | None] = {}
    for place in places:
        if place.numa_node is not None:
            masks.setdefault(place.numa_node, place.element.get("affinity"))
    for index in sorted(masks):
        cpus = kernel_list.parse_mask(masks[index])
        yield NumaNode(index, kernel_list.write(cpus) if cpus is not None else None)


def _architecture(places: Sequence[Place]) -> str | None:
    names = {name for place in places if (name := place.element.get("arch"))}
    name = names.pop() if len(names) == 1 else None
    return _MACHINES.get(name, name) if name else None


def _is_accelerator(device: Device) -> bool:
    return device.element.find("gpu") is not None or (device.function.class_id or "").startswith(_ACCELERATORS)


def _claims(gpus: Sequence[Device]) -> tuple[tuple[Claim, ...], tuple[Problem, ...]]:
    """One claim for each accelerator. A number that two of them have is no number of either."""
    claims = [_claim(gpu) for gpu in gpus]
    times = Counter(claim.index for claim in claims if claim.index is not None)
    double = sorted(index for index, count in times.items() if count > 1)
    problems = tuple(
        Problem("accelerators.index", DISAGREEMENT, f"{times[index]} GPUs have the number {index}", (FORM,))
        for index in double
    )
    return tuple(replace(claim, index=None) if claim.index in double else claim for claim in claims), problems


def _claim(gpu: Device) -> Claim:
    function = gpu.function
    runtimes = gpu.element.findall("gpu")
    return Claim(
        vendor=_vendor(gpu),
        kind="gpu",
        evidence=FORM,
        address=function.address,
        index=number(runtimes[0].get("dev")) if len(runtimes) == 1 else None,
        vendor_id=function.vendor_id,
        device_id=function.device_id,
        subsystem_id=function.subsystem_id,
        link=function.link,
        numa_node=function.numa_node,
    )


def _vendor(gpu: Device) -> str:
    """The vendor by id, else by the links, by RCCL's `gcn`, by class; NVIDIA where only NCCL's `gpu` is left."""
    if gpu.function.vendor_id is not None:
        return _VENDORS.get(gpu.function.vendor_id, "unknown")
    if gpu.element.find("gpu/xgmi") is not None:
        return "amd"
    if gpu.element.find("gpu/nvlink") is not None:
        return "nvidia"
    if any(runtime.get("gcn") for runtime in gpu.element.findall("gpu")):
        return "amd"
    return _CLASS_VENDORS.get((gpu.function.class_id or "")[:4], "nvidia")


def _nics(nets: Sequence[Net], devices: Sequence[Device]) -> tuple[tuple[Nic, ...], tuple[Problem, ...]]:
    """Every network device that the file names, and every network function below which it names none."""
    found: dict[str, Nic] = {}
    problems = []
    for net in nets:
        name = net.element.get("name", "").strip()
        nic = _nic(name, net)
        if not name:
            continue
        if found.setdefault(name, nic).pci != nic.pci:
            message = f"two network devices have the name {name}: the first is read"
            problems.append(Problem("nics", DISAGREEMENT, message, (FORM,)))
        if _is_fast(net):
            message = f"{name} states {net.element.get('speed')} Mb/s, which no port carries"
            problems.append(Problem(f"{name}.speed_bits_per_second", DISAGREEMENT, message, (FORM,)))
    for device in devices:
        function = device.function
        if (function.class_id or "").startswith("02") and device.element.find(".//net") is None:
            found.setdefault(function.address, _unnamed(function))
    return tuple(found.values()), tuple(problems)


def _nic(name: str, net: Net) -> Nic:
    speed = number(net.element.get("speed"), _FASTEST)
    is_netdev = bool(_NETDEV.match(name) or _IPOIB.match(name))
    return Nic(
        id=name,
        netdev=name if is_netdev else None,
        kind=_kind(name, net.function),
        pci=net.function.identity if net.function else None,
        numa_node=net.numa_node,
        speed_bits_per_second=speed * 10**6 if speed else None,
        evidence=(FORM,),
    )


def _is_fast(net: Net) -> bool:
    return net.element.get("speed", "").strip().isdecimal() and number(net.element.get("speed"), _FASTEST) is None


def _unnamed(function: PciFunction) -> Nic:
    return Nic(
        id=function.address,
        kind=_kind("", function),
        pci=function.identity,
        numa_node=function.numa_node,
        evidence=(FORM,),
    )


def _kind(name: str, function: PciFunction | None) -> str | None:
    """EFA by its ids, InfiniBand by its class or an IPoIB device's name; RoCE and other RDMA cannot be told apart."""
    if function is not None and function.vendor_id == "1d0f" and (function.device_id or "").startswith("efa"):
        return "efa"
    if (function is not None and (function.class_id or "").startswith("0207")) or _IPOIB.match(name):
        return "infiniband"
    if not name:
        return None
    return "ethernet" if _NETDEV.match(name) else "rdma"
