"""Network devices, RDMA devices and PCI functions, joined into network adapters."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

from raxl.model.component import PciFunction
from raxl.model.nic import Nic, Port
from raxl.sources import infiniband
from raxl.sources.infiniband import RdmaDevice
from raxl.sources.netdev import NetDevice

_DATA_DIRECT = ("15b3", "2100")
"""ConnectX-8's second function for accelerator traffic: the same adapter, no second one."""
_STATES = ("ok", "degraded", "down", "unknown")


def join(
    netdevs: Sequence[NetDevice], devices: Sequence[RdmaDevice], functions: Mapping[str, PciFunction], listed: bool
) -> tuple[Nic, ...]:
    """One adapter for each RDMA device with its network devices, and for each network device without RDMA.

    A network function of the bus that has neither (another network namespace holds it, or no driver does) is one too,
    when both listings could be read (`listed`).
    """
    at: dict[str | None, list[NetDevice]] = {}
    for netdev in netdevs:
        at.setdefault(netdev.address, []).append(netdev)
    nics: list[Nic] = []
    used: set[str] = set()
    for device in devices:
        mine = _netdevs_of(device, at.get(device.address, []) if device.address else [])
        used.update(netdev.name for netdev in mine)
        nics.append(_rdma(device, mine, functions.get(device.address or "")))
    nics += [_ethernet(netdev, functions.get(netdev.address or "")) for netdev in netdevs if netdev.name not in used]
    if listed:
        held = {nic.pci.address for nic in nics if nic.pci}
        nics += [
            _silent(function)
            for function in functions.values()
            if is_adapter(function) and function.address not in held
        ]
    return tuple(nics)


def is_adapter(function: PciFunction) -> bool:
    """Whether a PCI function is a network adapter of its own: network or InfiniBand class, not a virtual function,
    not ConnectX-8's data-direct function."""
    network = (function.class_id or "").startswith(("02", "0c06"))
    return network and function.physical_function is None and (function.vendor_id, function.device_id) != _DATA_DIRECT


def _netdevs_of(device: RdmaDevice, here: list[NetDevice]) -> list[NetDevice]:
    """The network devices of an RDMA device: those that it lists, else all on its function."""
    listed = [netdev for netdev in here if netdev.name in device.netdevs]
    return listed or here


def _rdma(device: RdmaDevice, netdevs: list[NetDevice], function: PciFunction | None) -> Nic:
    by_port = {netdev.port: netdev.name for netdev in netdevs}
    by_port.update({port.number: port.netdev for port in device.ports if port.netdev})
    if len(netdevs) == 1 and len(device.ports) == 1:
        by_port = {device.ports[0].number: netdevs[0].name}
    ports = tuple(
        Port(port.number, by_port.get(port.number), port.state, port.speed_bits_per_second) for port in device.ports
    )
    vendor = function.vendor_id if function else None
    return Nic(
        id=device.name,
        netdev=next(iter(sorted(netdev.name for netdev in netdevs)), None),
        kind=infiniband.kind({port.link_layer for port in device.ports}, vendor),
        model=device.model,
        pci=function.identity if function else None,
        numa_node=function.numa_node if function else None,
        state=_best([port.state for port in ports] or [netdev.state for netdev in netdevs]),
        speed_bits_per_second=max((port.speed_bits_per_second or 0 for port in ports), default=0) or None,
        ports=ports,
        evidence=("sysfs",),
    )


def _ethernet(netdev: NetDevice, function: PciFunction | None) -> Nic:
    return Nic(
        id=netdev.name,
        netdev=netdev.name,
        kind="infiniband" if netdev.is_infiniband else "ethernet",
        model=function.name if function else None,
        pci=function.identity if function else None,
        numa_node=function.numa_node if function else None,
        state=netdev.state,
        speed_bits_per_second=netdev.speed_bits_per_second,
        ports=(Port(netdev.port, netdev.name, netdev.state, netdev.speed_bits_per_second),),
        evidence=("sysfs",),
    )


def _silent(function: PciFunction) -> Nic:
    return Nic(
        id=function.address,
        model=function.name,
        pci=function.identity,
        numa_node=function.numa_node,
        evidence=(function.evidence,),
    )


def _best(states: list[str]) -> str:
    """An adapter does as well as its best port: an unused second port is no fault."""
    return min(states, key=_STATES.index, default="unknown")


def merged(nics: Sequence[Nic]) -> tuple[Nic, ...]:
    """Adapters of several sources, those of one id together; the first source's values stand, later ones fill in."""
    by_id: dict[str, Nic] = {}
    for nic in nics:
        known = by_id.get(nic.id)
        by_id[nic.id] = nic if known is None else _filled(known, nic)
    return tuple(by_id.values())


def _filled(known: Nic, other: Nic) -> Nic:
    return replace(
        known,
        netdev=known.netdev or other.netdev,
        kind=known.kind or other.kind,
        model=known.model or other.model,
        pci=known.pci or other.pci,
        numa_node=known.numa_node if known.numa_node is not None else other.numa_node,
        state=known.state if known.state != "unknown" else other.state,
        speed_bits_per_second=known.speed_bits_per_second or other.speed_bits_per_second,
        ports=known.ports or other.ports,
        evidence=tuple(dict.fromkeys((*known.evidence, *other.evidence))),
    )
