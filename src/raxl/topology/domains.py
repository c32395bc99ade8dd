"""Which nodes reach each other over a scale-up fabric: NVLink domains, TPU slices, UltraServers, XGMI hives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from raxl.model.node import Node

_KINDS = {"nvidia": "nvlink", "amd": "xgmi", "tpu": "ici", "neuron": "neuron"}
"""By vendor, the kind of its fabric's links."""
_WITHIN_A_NODE = ("xgmi",)


class DomainName(NamedTuple):
    """A fabric domain by what tells it from every other."""

    kind: str
    """A kind of link (`nvlink`), or empty where only the platform names the domain."""
    name: str
    """The cluster UUID, the slice, the UltraServer or the hive, as its source spells it."""
    clique: str | None = None
    """The part of an NVLink domain within which every pair is joined."""


class Domain(NamedTuple):
    """A domain with what was seen of it."""

    name: DomainName
    members: tuple[Node, ...]
    """By worker index where there is one, else in the inventory's order."""
    accelerators: int
    """How many of its members' belong to it."""
    states: tuple[str, ...]
    """Every state of the fabric that a member told; one, or they disagree."""
    topology: str | None = None
    """Of a slice: `4x4x8`."""
    workers: int | None = None
    """How many hosts a slice has; None where nobody says it."""

    @property
    def missing(self) -> tuple[int, ...]:
        """The worker indexes of a slice that no node here has."""
        here = {node.placement.worker_index for node in self.members}
        return tuple(index for index in range(self.workers or 0) if index not in here)

    @property
    def twice(self) -> tuple[tuple[int, tuple[str, ...]], ...]:
        """Worker indexes of a slice that several nodes tell, with their names."""
        told: dict[int, list[str]] = {}
        for node in self.members:
            if self.name.kind == "ici" and node.placement.worker_index is not None:
                told.setdefault(node.placement.worker_index, []).append(node.name)
        return tuple((index, tuple(names)) for index, names in told.items() if len(names) > 1)


def of_node(node: Node) -> DomainName | None:
    """The domain that joins the node to others; None for a node that belongs to none, or to a hive of its own."""
    return next((name for name in _names(node) if name.kind not in _WITHIN_A_NODE), None)


def domains(nodes: Sequence[Node]) -> list[Domain]:
    """Every domain, in the order in which the nodes name them; a node that spans several is in each."""
    members: dict[DomainName, dict[int, Node]] = {}
    for place, node in enumerate(nodes):
        for name in dict.fromkeys(_names(node)):
            # A hive's id is the node's own affair: two nodes may have the same one.
            own = name._replace(clique=str(place)) if name.kind in _WITHIN_A_NODE else name
            members.setdefault(own, {})[place] = node
    return [_domain(name, list(found.values())) for name, found in members.items()]


def outside(nodes: Sequence[Node]) -> list[Node]:
    """Nodes with accelerators and without any domain."""
    return [node for node in nodes if node.accelerators and next(iter(_names(node)), None) is None]


def _names(node: Node) -> Iterable[DomainName]:
    """The slice first, then what the accelerators say, then what the platform says where they say nothing."""
    place = node.placement
    if place.slice is not None:
        yield DomainName("ici", place.slice)
        return
    said = [
        DomainName(_KINDS.get(device.vendor, ""), device.fabric.domain, device.fabric.clique)
        for device in node.accelerators
        if device.fabric is not None and device.fabric.domain is not None
    ]
    yield from said
    if not said and place.fabric_domain is not None:
        vendors = {device.vendor for device in node.accelerators}
        yield DomainName(_KINDS.get(next(iter(vendors)), "") if len(vendors) == 1 else "", place.fabric_domain)


def _domain(name: DomainName, members: list[Node]) -> Domain:
    devices = [device for node in members for device in node.accelerators]
    own = [one for one in devices if one.fabric is not None and one.fabric.domain == name.name]
    if name.kind == "ici":
        members.sort(key=lambda node: (node.placement.worker_index is None, node.placement.worker_index or 0))
    states = dict.fromkeys(one.fabric.state for one in own if one.fabric is not None and one.fabric.state is not None)
    hosts = [one.attributes.get("slice_hosts") for one in devices]
    return Domain(
        name=name._replace(clique=None) if name.kind in _WITHIN_A_NODE else name,
        members=tuple(members),
        accelerators=len(own) if own else len(devices),
        states=tuple(states),
        topology=next((one.placement.slice_topology for one in members if one.placement.slice_topology), None),
        workers=next((host for host in hosts if isinstance(host, int) and 0 < host < 1 << 16), None),
    )
