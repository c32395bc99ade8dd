"""Network devices, RDMA devices and PCI functions, joined into network adapters."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Sequence

from raxl.model.component import PciFunction
from raxl.model.nic import Nic, Port, best_state
from raxl.sources import infiniband
from raxl.sources.infiniband import RdmaDevice
from raxl.sources.netdev import NetDevice

_DATA_DIRECT = ("15b3", "2100")
"""ConnectX-8's second function for accelerator traffic: the same adapter, no second one."""
_LISTS = ("lspci", "lspci-tree")
_RDMA_MAKERS = ("15b3", "14e4", "1dd8", "8086", "1077", "1425", "1414", "19e5", "1ae0", "1f0f", "434e")
"""Makers of Ethernet adapters some of which speak RDMA."""


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


def on_bus(functions: Mapping[str, PciFunction]) -> tuple[Nic, ...]:
    """The adapters among the functions that lspci lists: it names no network devices, and whoever does is merged."""
    listed = [function for function in functions.values() if function.evidence in _LISTS and is_adapter(function)]
    return tuple(replace(_silent(function), kind=_kind(function)) for function in listed)


def _kind(function: PciFunction) -> str | None:
    """EFA by its ids, InfiniBand by its class, Ethernet where the maker's adapters have no RDMA; else not told."""
    if function.vendor_id == "1d0f" and (
        (function.device_id or "").startswith("efa") or "EFA" in (function.name or "")
    ):
        return "efa"
    if (function.class_id or "").startswith(("0207", "0c06")):
        return "infiniband"
    plain = (function.class_id or "").startswith("0200") and function.vendor_id not in (None, *_RDMA_MAKERS)
    return "ethernet" if plain else None


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
        kind=infiniband.kind({port.link_layer for port in device.ports}, vendor, device.name),
        model=device.model,
        pci=function.identity if function else None,
        numa_node=function.numa_node if function else None,
        state=best_state([port.state for port in ports] or [netdev.state for netdev in netdevs]),
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


def placed(nics: Sequence[Nic], functions: Mapping[str, PciFunction]) -> tuple[Nic, ...]:
    """The adapters with what the bus knows of the functions that their sources name by address alone."""
    return tuple(_placed(nic, functions.get(nic.pci.address) if nic.pci else None) for nic in nics)


def _placed(nic: Nic, function: PciFunction | None) -> Nic:
    if function is None:
        return nic
    bare = nic.pci is not None and nic.pci.vendor_id is None
    return replace(
        nic,
        pci=function.identity if bare else nic.pci,
        numa_node=nic.numa_node if nic.numa_node is not None else function.numa_node,
    )
