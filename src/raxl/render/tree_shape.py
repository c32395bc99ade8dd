"""The places of a node's devices: NUMA node, host bridge, PCIe switch, device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from raxl.model.accelerator import Accelerator
from raxl.model.component import Switch
from raxl.model.link import PCIE_CLASSES
from raxl.model.nic import Nic
from raxl.model.node import Node

NumaKey = tuple[int, ...]
"""The NUMA node; several where only the set of nearest ones is known; empty where nothing is."""


class Branch(NamedTuple):
    """A device, or a switch or host bridge with what hangs beneath it."""

    kind: str
    """device | switch | host bridge"""
    id: str
    children: tuple[Branch, ...] = ()

    @property
    def devices(self) -> tuple[str, ...]:
        """The ids of the devices beneath, or its own."""
        return (self.id,) if self.kind == "device" else tuple(id for child in self.children for id in child.devices)


class _Place(NamedTuple):
    numa: NumaKey
    root: str | None


def grow(node: Node) -> dict[NumaKey, list[Branch]]:
    """What hangs below each NUMA node: switches first, then accelerators, then NICs.

    A host bridge is there where several things hang below it.
    """
    places = _places(node)
    switches = {switch.id: switch for switch in node.switches if switch.kind == "pcie"}
    below: dict[str, list[Switch]] = {}
    for switch in switches.values():
        below.setdefault(switch.parent if switch.parent in switches else "", []).append(switch)
    hung: set[str] = set()
    things: list[tuple[_Place, Branch]] = []
    for switch in below.get("", ()):
        branch = _switch(switch, below, places, hung)
        if branch.devices:
            things.append((_switch_place(switch, branch, places), branch))
    things += [(place, Branch("device", id)) for id, place in places.items() if id not in hung]
    grouped: dict[NumaKey, list[tuple[str | None, Branch]]] = {}
    for place, branch in things:
        grouped.setdefault(place.numa, []).append((place.root, branch))
    return {numa: _under_bridges(found) for numa, found in grouped.items()}


def _places(node: Node) -> dict[str, _Place]:
    roots = {accelerator.id: accelerator.pcie_root for accelerator in node.accelerators}
    near: dict[str, str] = {}
    for link in node.links:
        # Up to PHB both ends are below one host bridge, so the NIC's is the accelerator's.
        if link.link_class in PCIE_CLASSES[:3]:
            for id, other in ((link.a, link.b), (link.b, link.a)):
                if root := roots.get(other):
                    near.setdefault(id, root)
    places = {device.id: _Place(_numa(device), device.pcie_root) for device in node.accelerators}
    return places | {nic.id: _Place(_numa(nic), near.get(nic.id)) for nic in node.nics}


def _numa(device: Accelerator | Nic) -> NumaKey:
    if device.numa_node is not None:
        return (device.numa_node,)
    return tuple(sorted(device.local_numa_nodes)) if isinstance(device, Accelerator) else ()


def _switch(switch: Switch, below: dict[str, list[Switch]], places: dict[str, _Place], hung: set[str]) -> Branch:
    stacked = (_switch(lower, below, places, hung) for lower in below.get(switch.id, ()))
    children = [branch for branch in stacked if branch.devices]
    members = [id for id in places if id in switch.members and id not in hung]
    hung.update(members)
    return Branch("switch", switch.id, (*children, *(Branch("device", id) for id in members)))


def _switch_place(switch: Switch, branch: Branch, places: dict[str, _Place]) -> _Place:
    first = places[branch.devices[0]]
    return _Place(first.numa if switch.numa_node is None else (switch.numa_node,), switch.pcie_root or first.root)


def _under_bridges(found: Iterable[tuple[str | None, Branch]]) -> list[Branch]:
    bridges: dict[tuple[str | None, str], list[Branch]] = {}
    for root, branch in found:
        bridges.setdefault((root, "" if root else branch.id), []).append(branch)
    return [
        Branch("host bridge", root, tuple(branches)) if root and len(branches) > 1 else branches[0]
        for (root, _), branches in bridges.items()
    ]
