"""Network adapters in hwloc XML: OS devices of the types network and OpenFabrics, and functions that have neither.

hwloc's documentation, "Object attributes": `Address`, `Port`, `NodeGUID`, `Port<n>State`, `Port<n>LID`. No speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.intake.hwloc_objects import HwlocObject, Topology, number
from raxl.intake.hwloc_pci import FORM, PciTree
from raxl.model.component import PciFunction
from raxl.model.nic import Nic, Port

_PHYSICAL = re.compile(r"en[opsxP]|eth\d|ib[ps]?\d|wl|hs[in]\d")
"""Names of network devices that a machine has without a PCI function: on USB, a VMBus, or where PCI was left out. With
`--whole-io` hwloc lists loopback, bridges and tunnels too."""
_STATES = {"4": "ok", "3": "degraded", "2": "degraded", "1": "down"}
"""`ibv_port_state`."""
_BEST = ("ok", "degraded", "down", "unknown")
_ROCE_VENDORS = ("15b3", "14e4", "19e5", "1dd8")
"""Mellanox, Broadcom, Huawei, Pensando: over Ethernet their RDMA is RoCE. Others have their own, or iWARP."""
_INFINIBAND_ADDRESS = 20
"""Octets of an IPoIB hardware address; Ethernet has 6."""


def nics(topology: Topology, tree: PciTree) -> tuple[Nic, ...]:
    """Every adapter: an RDMA device with its network devices, a network device alone, else a function by address."""
    at: dict[PciFunction | None, list[HwlocObject]] = {
        function: [] for function in tree.by_object.values() if (function.class_id or "").startswith(("02", "0c06"))
    }
    for osdev in topology.of_type("OSDev"):
        function = tree.above(osdev)
        if osdev.name and topology.osdev_types(osdev) and (function or _is_physical(osdev, topology)):
            at.setdefault(function, []).append(osdev)
    found: dict[str, Nic] = {}
    for function, osdevs in at.items():
        for nic in _of_function(function, osdevs, topology):
            found.setdefault(nic.id, nic)
    return tuple(found.values())


def _is_physical(osdev: HwlocObject, topology: Topology) -> bool:
    return "openfabrics" in topology.osdev_types(osdev) or _PHYSICAL.match(osdev.name) is not None


def _of_function(function: PciFunction | None, osdevs: list[HwlocObject], topology: Topology) -> Iterator[Nic]:
    rdma = [osdev for osdev in osdevs if "openfabrics" in topology.osdev_types(osdev)]
    netdevs = [osdev for osdev in osdevs if osdev not in rdma]
    # Which network device belongs to which of several RDMA devices is not said, so then each stands alone.
    paired = netdevs if len(rdma) == 1 and function is not None else []
    for device in rdma:
        yield _nic(device.name, function, device, paired)
    for netdev in netdevs:
        if netdev not in paired:
            yield _nic(netdev.name, function, None, [netdev])
    if not osdevs and function is not None:
        yield _nic(function.address, function, None, [])


def _nic(name: str, function: PciFunction | None, rdma: HwlocObject | None, netdevs: list[HwlocObject]) -> Nic:
    ports = tuple(_ports(rdma, netdevs)) if rdma is not None else ()
    return Nic(
        id=name,
        netdev=netdevs[0].name if len(netdevs) == 1 else None,
        kind=_kind(function, rdma, netdevs),
        model=function.name if function else None,
        pci=function.identity if function else None,
        numa_node=_numa_node(function, rdma, netdevs),
        state=min((port.state for port in ports), key=_BEST.index, default="unknown"),
        ports=ports,
        evidence=(FORM,),
    )


def _numa_node(function: PciFunction | None, rdma: HwlocObject | None, netdevs: list[HwlocObject]) -> int | None:
    if function is not None:
        return function.numa_node
    nodes = next((osdev.numa_nodes for osdev in (rdma, *netdevs) if osdev is not None), ())
    return nodes[0] if len(nodes) == 1 else None


def _ports(rdma: HwlocObject, netdevs: list[HwlocObject]) -> Iterator[Port]:
    """The ports that the RDMA device or its network devices name, with the one network device that names each."""
    said = rdma.infos
    states = {
        int(found[1]): value for key, value in said.items() if (found := re.fullmatch(r"Port(\d{1,3})State", key))
    }
    on: dict[int, list[str]] = {}
    for netdev in netdevs:
        port = number(netdev.infos.get("Port")) or (1 if len(netdevs) == 1 and len(states) == 1 else None)
        if port is not None:
            on.setdefault(port, []).append(netdev.name)
    for port in sorted({*states, *on}):
        names = on.get(port, [])
        yield Port(port, names[0] if len(names) == 1 else None, _STATES.get(states.get(port, "")[:1], "unknown"))


def _kind(function: PciFunction | None, rdma: HwlocObject | None, netdevs: list[HwlocObject]) -> str | None:
    """The kind by vendor, class and infos: the link layer itself is not in the document."""
    vendor, device, kind = _ids(function)
    if vendor == "1d0f" and device.startswith("efa"):
        return "efa"
    if (rdma is not None and rdma.name.startswith("hfi1")) or (vendor, kind) == ("8086", "0208") or vendor == "434e":
        return "omni-path"
    if kind in ("0207", "0c06") or (kind != "0200" and rdma is not None and _has_lid(rdma)):
        return "infiniband"
    if rdma is not None:
        return "roce" if kind == "0200" and vendor in _ROCE_VENDORS else "rdma"
    if any(netdev.infos.get("Address", "").count(":") + 1 == _INFINIBAND_ADDRESS for netdev in netdevs):
        return "infiniband"
    return "ethernet" if netdevs else None


def _ids(function: PciFunction | None) -> tuple[str, str, str]:
    if function is None:
        return "", "", ""
    return function.vendor_id or "", function.device_id or "", (function.class_id or "")[:4]


def _has_lid(rdma: HwlocObject) -> bool:
    """Whether a subnet manager gave a port an address, as on InfiniBand. (iWARP drivers make one up: class 0200.)"""
    return any(re.fullmatch(r"Port\d+LID", key) and value.strip("0x") for key, value in rdma.infos.items())
