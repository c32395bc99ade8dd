"""Nodes of one shape together, and where the others differ from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from raxl.model.accelerator import Accelerator
from raxl.model.nic import Nic
from raxl.model.node import Node, Software
from raxl.model.problem import UNREAD
from raxl.topology import domains
from raxl.topology.domains import DomainName

_FEWER = 2
"""A group is an exception beside one of its kind that is more than so many times as large."""
_WORST_FIRST = ("lost", "degraded", "unknown")


class Shape(NamedTuple):
    """What nodes have to have in common to be told once. Names, addresses and identities are no part of it."""

    devices: tuple[Hashable, ...]
    nics: tuple[Hashable, ...]
    links: frozenset[Hashable]
    numa_nodes: int
    software: tuple[tuple[str, str], ...]
    is_read: bool
    """Whether it answered, and is known to have what it shows: of several nodes that show nothing some may have none.
    """


class Place(NamedTuple):
    """Where nodes stand together: their fabric domain, else block and rack as the platform names them."""

    domain: DomainName | None
    block: str | None
    rack: str | None


class Group(NamedTuple):
    """Nodes of one shape in one place."""

    place: Place
    shape: Shape
    nodes: tuple[Node, ...]
    differences: tuple[str, ...] = ()
    """Where these are few beside many of the same kind of accelerators: how they differ from them, each word beginning
    with a device's id where it is about one. Empty where they are no exception."""

    @property
    def severity(self) -> int:
        """How much they are an exception: 0 with a lost device, then degraded, of unknown state, unlike their peers."""
        states = {device.state for device in self.nodes[0].accelerators}
        worst = next((place for place, state in enumerate(_WORST_FIRST) if state in states), None)
        return worst if worst is not None else len(_WORST_FIRST) + (not self.differences)

    @property
    def is_exception(self) -> bool:
        """Whether something is wrong with them, or sets them apart."""
        return self.severity <= len(_WORST_FIRST)


def shape(node: Node) -> Shape:
    """The node's shape."""
    return Shape(
        devices=tuple(map(_device, node.accelerators)),
        nics=tuple(sorted(map(_nic, node.nics), key=repr)),
        links=frozenset(Counter((link.kind, link.link_class) for link in node.links).items()),
        numa_nodes=len(node.numa_nodes),
        software=tuple((one.name, one.version) for one in node.software),
        is_read=is_read(node) and (bool(node.accelerators) or node.has_none),
    )


def is_read(node: Node) -> bool:
    """Whether the machine answered at all."""
    return not any(problem.subject == "node" and problem.reason in UNREAD for problem in node.problems)


def kind(node: Node) -> tuple[str, ...]:
    """The types of its accelerators, by which nodes are each other's peers."""
    return tuple(sorted({f"{device.vendor} {device.ray.type or device.model}" for device in node.accelerators}))


def groups(nodes: Sequence[Node]) -> list[Group]:
    """All nodes: by place in the order of the first of each, exceptions first, those without accelerators last.

    Peers are looked for in the same place, then among all.
    """
    found: dict[tuple[Place, Shape], list[Node]] = {}
    shapes = _Shapes()
    for node in nodes:
        found.setdefault((place(node), shapes.of(node)), []).append(node)
    largest: dict[tuple[Place | None, tuple[str, ...]], list[Node]] = {}
    for (where, _), members in found.items():
        for key in ((where, kind(members[0])), (None, kind(members[0]))):
            if len(members) > len(largest.get(key, ())):
                largest[key] = members
    made = []
    for (where, own), members in found.items():
        beside = [largest[where, kind(members[0])], largest[None, kind(members[0])]]
        many = next((peers for peers in beside if len(peers) > _FEWER * len(members)), None)
        differ = differences(members[0], many[0]) if many and own.devices else ()
        made.append(Group(where, own, tuple(members), tuple(differ)))
    order = {where: number for number, where in enumerate(dict.fromkeys(group.place for group in made))}
    bare = {where: not any(one.shape.devices for one in made if one.place == where) for where in order}
    return sorted(made, key=lambda one: (bare[one.place], order[one.place], not one.shape.devices, one.severity))


def place(node: Node) -> Place:
    """Where the node stands. A domain is a place of its own, whatever racks it fills."""
    domain = domains.of_node(node)
    if domain is not None:
        return Place(domain, None, None)
    return Place(None, node.placement.block, node.placement.rack)


def differences(node: Node, peer: Node) -> list[str]:
    """How a node differs from one of its peers, in words that name its devices by id; nothing where it is the order."""
    ill = [f"{device.id} {device.state}" for device in node.accelerators if device.state in ("lost", "degraded")]
    told = [*ill, *_unknown(node, peer), *_fewer(len(node.accelerators), len(peer.accelerators), "accelerator")]
    told += _lanes(node, peer)
    told += _of_nics(node.nics, peer.nics)
    told += _of_software(node.software, peer.software)
    if not told and shape(node) != shape(peer):
        same = shape(node)._replace(links=frozenset()) == shape(peer)._replace(links=frozenset())
        told.append("joined in another way" if same else "of another make-up")
    return told


class _Shapes:
    """Shapes of many nodes, which have most of their parts in common: each part is looked at once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[object, object, tuple[Hashable, ...], frozenset[Hashable]]] = {}

    def of(self, node: Node) -> Shape:
        key = (id(node.nics), id(node.links))
        known = self._known.get(key)
        if known is None:
            own = shape(node)
            # The parts are kept with what was made of them, so that no other object comes to have their id.
            self._known[key] = (node.nics, node.links, own.nics, own.links)
            return own
        return Shape(
            devices=tuple(map(_device, node.accelerators)),
            nics=known[2],
            links=known[3],
            numa_nodes=len(node.numa_nodes),
            software=tuple((one.name, one.version) for one in node.software),
            is_read=is_read(node) and (bool(node.accelerators) or node.has_none),
        )


def _device(device: Accelerator) -> Hashable:
    link = device.pci.link if device.pci else None
    width = link.width if link else None
    profiles = tuple(partition.profile for partition in device.partitions)
    state = (device.state, device.numa_node, width, profiles, device.fabric.state if device.fabric else None)
    return (device.vendor, device.kind, device.ray.type or device.model, device.memory_bytes, *state)


def _nic(nic: Nic) -> tuple[Hashable, ...]:
    return (nic.kind, nic.role, nic.speed_bits_per_second, nic.state)


def _unknown(node: Node, peer: Node) -> list[str]:
    """Accelerators whose state nobody knows, where that of the peer's is known."""
    own, others = ([one.id for one in held.accelerators if one.state == "unknown"] for held in (node, peer))
    if len(own) <= len(others):
        return []
    return [f"{own[0]} of unknown state" if len(own) == 1 else f"{len(own)} accelerators of unknown state"]


def _fewer(count: int, expected: int, noun: str) -> list[str]:
    if count == expected:
        return []
    number = abs(expected - count)
    return [f"{number} {noun}{'s' if number > 1 else ''} {'fewer' if count < expected else 'more'}"]


def _lanes(node: Node, peer: Node) -> list[str]:
    """Accelerators whose PCIe link has fewer lanes than those of the peer."""
    widths = {one.pci.link.width for one in peer.accelerators if one.pci and one.pci.link and one.pci.link.width}
    if len(widths) != 1:
        return []
    usual = next(iter(widths))
    links = [(device.id, device.pci.link.width) for device in node.accelerators if device.pci and device.pci.link]
    return [f"{id} has ×{width} of ×{usual}" for id, width in links if width is not None and width < usual]


def _of_nics(nics: Sequence[Nic], others: Sequence[Nic]) -> list[str]:
    usual = {nic.id: nic for nic in others}
    told = []
    for nic in nics:
        other = usual.get(nic.id)
        if other is not None and (nic.state, other.state) in (("down", "ok"), ("degraded", "ok")):
            told.append(f"{nic.id} {nic.state}")
        elif other is not None and (speed := _slower(nic, other)):
            told.append(f"{nic.id} at {speed}")
    return told or _fewer(len(nics), len(others), "NIC")


def _slower(nic: Nic, other: Nic) -> str | None:
    """`200 of 400 Gb/s`; None where both are of one speed, or one is not known."""
    own, usual = nic.speed_bits_per_second, other.speed_bits_per_second
    return f"{own / 1e9:g} of {usual / 1e9:g} Gb/s" if own is not None and usual is not None and own != usual else None


def _of_software(own: Sequence[Software], others: Sequence[Software]) -> list[str]:
    usual = {one.name: one.version for one in others}
    return [
        f"{one.name} {one.version}, not {usual[one.name]}"
        for one in own
        if one.name in usual and usual[one.name] != one.version
    ]
