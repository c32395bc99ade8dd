"""Inside one node: which of its accelerators belong together, what is narrowest between them, what is nearest to each.

Nodes that are the same for a job share one `Shape`, so that ten thousand of them are looked at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from raxl.model.accelerator import Accelerator
from raxl.model.link import FABRIC_PREFIXES, UNCOUNTED, Link
from raxl.model.node import Node
from raxl.model.place import NEARNESS, Near

_UP = (None, "ok", "up", "active")
"""States of a link that carries something; None: nobody tells its state apart from its being there."""
_FORWARDING = (*UNCOUNTED, "tt-eth")
"""Fabrics whose devices pass on what is meant for others: a torus or mesh joins all, not only neighbours."""
_DIRECT, _FORWARDED, _PCIE, _UNKNOWN = range(4)

Rank = tuple[int, float]
"""How narrow a link is: the higher, the narrower."""


def is_scale_up(rank: Rank) -> bool:
    """Whether a rank is one of a scale-up fabric."""
    return rank[0] in (_DIRECT, _FORWARDED)


class Joint(NamedTuple):
    """How two accelerators of a node are joined."""

    rank: Rank = (_UNKNOWN, 0)
    link: Link | None = None

    @property
    def is_scale_up(self) -> bool:
        """Whether a scale-up fabric joins them, straight or through others of it."""
        return is_scale_up(self.rank)

    @property
    def is_forwarded(self) -> bool:
        """Whether what passes between them goes through others of the fabric."""
        return self.rank[0] == _FORWARDED


class Chosen(NamedTuple):
    """Accelerators of one node that a set takes, as places in `Shape.devices`."""

    places: tuple[int, ...]
    narrowest: Joint | None
    """None for one alone."""
    nic: Rank
    """From the accelerator that is farthest from a compute NIC: its class's place in `NEARNESS`, minus its speed."""


class Shape:
    """The working accelerators of one type in a node, and what joins them."""

    def __init__(self, node: Node, devices: Sequence[Accelerator]) -> None:
        self.node, self.devices = node, tuple(devices)
        self._choices: dict[int, Chosen] = {}

    @cached_property
    def nearest(self) -> tuple[Near, ...]:
        """What is nearest to each device; of NICs that are equally near, one that no other has yet."""
        taken: list[str] = []
        found = []
        for device in self.devices:
            near = _near(self.node, device, self._nics, taken)
            taken += [near.nic] if near.nic else []
            found.append(near)
        return tuple(found)

    @cached_property
    def _nics(self) -> Mapping[str, Any]:
        return {nic.id: nic for nic in self.node.nics if nic.role == "compute" and nic.state != "down"}

    @cached_property
    def _joints(self) -> Mapping[tuple[int, int], Joint]:
        places = {device.id: place for place, device in enumerate(self.devices)}
        joints: dict[tuple[int, int], Joint] = {}
        for link in self.node.links:
            a, b = places.get(link.a), places.get(link.b)
            if a is not None and b is not None:
                joints[a, b] = joints[b, a] = _joint(link, self.node.path_trust == "virtual")
        return {**joints, **_forwarded(joints, len(self.devices))}

    @cached_property
    def nic_ranks(self) -> tuple[Rank, ...]:
        """By device."""
        virtual = self.node.path_trust == "virtual"
        ranks = []
        for near in self.nearest:
            known = None if virtual else near.nic_class
            speed = (self._nics[near.nic].speed_bits_per_second or 0) if near.nic else 0
            ranks.append((NEARNESS.index(known), -float(speed)))
        return tuple(ranks)

    def nic_speed(self, chosen: Chosen) -> int | None:
        """Bits per second of the slowest NIC that is nearest to one of them, one direction."""
        nics = [self.nearest[place].nic for place in chosen.places]
        speeds = [self._nics[nic].speed_bits_per_second if nic else None for nic in nics]
        return None if None in speeds else min((speed for speed in speeds if speed is not None), default=None)

    def nic_class(self, chosen: Chosen) -> str | None:
        """The narrowest class to a compute NIC."""
        return max((self.nearest[place].nic_class for place in chosen.places), key=NEARNESS.index, default=None)

    def choice(self, count: int) -> Chosen:
        """The `count` devices that are joined best: the narrowest link first, then NICs, then one NUMA node."""
        if count not in self._choices:
            seeds = range(len(self.devices)) if count < len(self.devices) else range(1)
            grown = (self._grown(seed, count) for seed in seeds)
            self._choices[count] = min(grown, key=self._worth)
        return self._choices[count]

    def _grown(self, seed: int, count: int) -> Chosen:
        taken, rest = [seed], [place for place in range(len(self.devices)) if place != seed]
        worst = {place: self._joint(seed, place).rank for place in rest}
        while len(taken) < count:
            best = min(rest, key=lambda place: (worst[place], self.nic_ranks[place], self._is_afar(seed, place), place))
            rest.remove(best)
            taken.append(best)
            for place in rest:
                worst[place] = max(worst[place], self._joint(best, place).rank)
        places = tuple(sorted(taken))
        joints = [self._joint(a, b) for a in places for b in places if a < b]
        narrowest = max(joints, key=lambda joint: joint.rank, default=None)
        return Chosen(places, narrowest, max(self.nic_ranks[place] for place in places))

    def _worth(self, chosen: Chosen) -> tuple[Rank, Rank, int, tuple[int, ...]]:
        rank = chosen.narrowest.rank if chosen.narrowest else (_DIRECT, float("-inf"))
        numas = {self.devices[place].numa_node for place in chosen.places}
        return rank, chosen.nic, len(numas), chosen.places

    def _is_afar(self, a: int, b: int) -> bool:
        return self.devices[a].numa_node != self.devices[b].numa_node

    def _joint(self, a: int, b: int) -> Joint:
        return self._joints.get((a, b), Joint())


def key(node: Node, devices: Sequence[Accelerator]) -> tuple[Any, ...]:
    """Equal for nodes that are the same for a job that takes these devices."""
    ids = {device.id for device in devices}
    return (
        node.path_trust,
        tuple((one.id, one.state, one.numa_node, one.local_numa_nodes, len(one.partitions)) for one in devices),
        tuple((one.id, one.cpus) for one in node.numa_nodes),
        tuple((one.id, one.role, one.state, one.speed_bits_per_second) for one in node.nics),
        tuple(
            (one.a, one.b, one.link_class, one.kind, one.bandwidth_bytes_per_second, one.state)
            for one in node.links
            if one.a in ids or one.b in ids
        ),
    )


def _joint(link: Link, virtual: bool) -> Joint:
    if link.kind in FABRIC_PREFIXES:
        rate = link.bandwidth_bytes_per_second or link.count or 0
        return Joint((_DIRECT, -float(rate)), link) if link.state in _UP else Joint((_UNKNOWN, 0), link)
    if link.link_class is None or link.link_class not in NEARNESS:
        return Joint((_UNKNOWN, 0), link)
    # A hypervisor's classes are given, and not to be believed: they make no set better than another.
    return Joint((_PCIE, 0 if virtual else NEARNESS.index(link.link_class)), link)


def _forwarded(joints: Mapping[tuple[int, int], Joint], count: int) -> dict[tuple[int, int], Joint]:
    """Pairs that reach each other through others of a fabric that forwards, ranked by the hops."""
    beside: dict[int, list[int]] = {place: [] for place in range(count)}
    links: dict[int, Link] = {}
    for (a, b), joint in joints.items():
        if joint.rank[0] == _DIRECT and joint.link is not None and joint.link.kind in _FORWARDING:
            beside[a].append(b)
            links.setdefault(a, joint.link)
    told = {}
    for start in links:
        hops, waiting = {start: 0}, deque([start])
        while waiting:
            here = waiting.popleft()
            for other in beside[here]:
                if other not in hops:
                    hops[other] = hops[here] + 1
                    waiting.append(other)
        told.update({(start, end): Joint((_FORWARDED, far), links[start]) for end, far in hops.items() if far > 1})
    return told


def _near(node: Node, device: Accelerator, nics: Mapping[str, Any], taken: Sequence[str]) -> Near:
    ways = [
        (NEARNESS.index(link.link_class), -(nics[link.b].speed_bits_per_second or 0), taken.count(link.b), place, link)
        for place, link in enumerate(node.links)
        if link.a == device.id and link.b in nics and link.link_class in NEARNESS and link.link_class is not None
    ]
    way = min(ways, default=None)
    numas = device.local_numa_nodes or (() if device.numa_node is None else (device.numa_node,))
    told = {numa.id: numa.cpus for numa in node.numa_nodes}
    lists = [told.get(numa) for numa in numas]
    cpus = ",".join(text for text in lists if text) if lists and None not in lists else None
    link = way[-1] if way else None
    return Near(
        device.id,
        device.index,
        device.numa_node,
        cpus or None,
        link.b if link else None,
        link.link_class if link else None,
    )
