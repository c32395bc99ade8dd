"""Several sources, one adapter: which of them mean the same one."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Sequence

from raxl.model.nic import Nic, Port


def merged(nics: Sequence[Nic]) -> tuple[Nic, ...]:
    """Adapters of several sources, those of one adapter together; the first source's values stand, later ones fill in.

    The id tells them; else the network device of an RDMA device that another source knows as a network device alone;
    else the PCI address, where one of the two has no other name.
    """
    return tuple(map(_whole, groups(nics)))


def groups(nics: Sequence[Nic]) -> list[list[Nic]]:
    """What the sources say of each adapter, the first source first."""
    by_id: dict[str, list[Nic]] = {}
    for nic in nics:
        by_id.setdefault(nic.id, []).append(nic)
    _fold_netdevs(by_id)
    _fold_nameless(by_id)
    return list(by_id.values())


def _fold_netdevs(by_id: dict[str, list[Nic]]) -> None:
    """Network devices that another source names beside an RDMA device: by name, or as the only two at one address."""
    known = {name: _whole(group) for name, group in by_id.items()}
    rdma = [nic for nic in known.values() if nic.id != nic.netdev and not _is_nameless(nic)]
    owners = {name: nic.id for nic in rdma for name in (nic.netdev, *(port.netdev for port in nic.ports)) if name}
    free: dict[str, list[str]] = {}
    for nic in rdma:
        if nic.pci and nic.netdev is None:
            free.setdefault(nic.pci.address, []).append(nic.id)
    netdevs = [nic for nic in known.values() if nic.id == nic.netdev]
    alone: dict[str, list[Nic]] = {}
    for nic in netdevs:
        if nic.pci:
            alone.setdefault(nic.pci.address, []).append(nic)
    for nic in netdevs:
        owner = owners.get(nic.id)
        beside = free.get(nic.pci.address, []) if nic.pci else []
        if owner is None and nic.pci and len(beside) == 1 and len(alone[nic.pci.address]) == 1:
            owner = beside[0] if not set(known[beside[0]].evidence) & set(nic.evidence) else None
        if owner is not None:
            by_id[owner] += by_id.pop(nic.id)


def _fold_nameless(by_id: dict[str, list[Nic]]) -> None:
    """Adapters known as PCI functions alone, into those of a name at the same address."""
    known = [_whole(group) for group in by_id.values()]
    named: dict[str, list[str]] = {}
    for nic in known:
        if nic.pci and not _is_nameless(nic):
            named.setdefault(nic.pci.address, []).append(nic.id)
    for nic in known:
        if _is_nameless(nic) and nic.id in named:
            mine = by_id.pop(nic.id)
            for owner in named[nic.id]:
                by_id[owner] += mine


def _is_nameless(nic: Nic) -> bool:
    return nic.pci is not None and nic.id == nic.pci.address


def _whole(group: Sequence[Nic]) -> Nic:
    return reduce(_filled, group)


def _filled(known: Nic, other: Nic) -> Nic:
    """The adapter with what it lacks; `rdma` is what a source calls a kind that it does not know."""
    return replace(
        known,
        netdev=known.netdev or other.netdev,
        kind=known.kind if known.kind not in (None, "rdma") else other.kind or known.kind,
        model=known.model or other.model,
        pci=known.pci or other.pci,
        numa_node=known.numa_node if known.numa_node is not None else other.numa_node,
        state=known.state if known.state != "unknown" else other.state,
        speed_bits_per_second=known.speed_bits_per_second or other.speed_bits_per_second,
        ports=_ports(known.ports, other.ports),
        evidence=tuple(dict.fromkeys((*known.evidence, *other.evidence))),
    )


def _ports(known: Sequence[Port], other: Sequence[Port]) -> tuple[Port, ...]:
    """The ports by their number; of a device whose ports are known, another source's are filled in where it has them.

    A network device counts its own port, which is not the RDMA device's, where the numbers differ.
    """
    if not known:
        return tuple(other)
    beside = {port.port: port for port in other}
    return tuple(_port(port, beside[port.port]) if port.port in beside else port for port in known)


def _port(known: Port, other: Port) -> Port:
    return Port(
        known.port,
        known.netdev or other.netdev,
        known.state if known.state != "unknown" else other.state,
        known.speed_bits_per_second or other.speed_bits_per_second,
    )
