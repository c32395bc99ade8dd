"""The PCIe switches of a node, from the ways up of its devices."""

from __future__ import annotations

from typing import Mapping, Sequence

from raxl.model.component import PciFunction, Switch


def pcie_switches(
    devices: Sequence[tuple[str, PciFunction]], functions: Mapping[str, PciFunction]
) -> tuple[Switch, ...]:
    """Every switch above the given devices (id, function), by its upstream port, the outermost first.

    A chain alternates below the root port: upstream port, downstream port, upstream port … A last element without a
    counterpart is a bridge that is no switch.
    """
    members: dict[str, list[str]] = {}
    parents: dict[str, str | None] = {}
    below: dict[str, PciFunction] = {}
    for name, function in devices:
        upstream = [up for up, _ in zip(function.chain[1::2], function.chain[2::2])]
        for place, port in enumerate(upstream):
            parents.setdefault(port, upstream[place - 1] if place else None)
            members.setdefault(port, [])
            below.setdefault(port, function)
        if upstream:
            members[upstream[-1]].append(name)
    return tuple(_switch(port, parents[port], members[port], functions.get(port), below[port]) for port in members)


def _switch(port: str, parent: str | None, members: list[str], own: PciFunction | None, below: PciFunction) -> Switch:
    return Switch(
        id=port,
        kind="pcie",
        pci=own.identity if own else None,
        pcie_root=below.host_bridge,
        numa_node=own.numa_node if own and own.numa_node is not None else below.numa_node,
        parent=parent,
        members=tuple(members),
    )
