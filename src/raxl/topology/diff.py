"""What differs between two inventories: gone, new, moved, replaced, changed, and what became unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from raxl.model import difference as kinds
from raxl.model.accelerator import Accelerator
from raxl.model.difference import CHANGE, FAULT, KINDS, NEW, SEVERITIES, Difference, Subject
from raxl.model.inventory import Inventory
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.topology import diff_devices, diff_links, diff_nodes, matching
from raxl.topology.diff_ray import View
from raxl.topology.differing import Change, Pair


class Comparison(NamedTuple):
    """What two inventories have of each other."""

    by_shape: bool
    differences: tuple[Difference, ...]


class _Devices(NamedTuple):
    pair: Pair
    accelerators: matching.Match[Accelerator]
    nics: matching.Match[Nic]


def compared(before: Inventory, after: Inventory, *, by_shape: bool = False, everything: bool = False) -> Comparison:
    """Every difference, the worst first; what differs in one way of many is one difference.

    `by_shape`: the two hold one node each, and may be two machines; they are also compared so where each holds one and
    nothing says that they are the same. `everything`: volatile values too. Linear in devices and links.
    """
    nodes = matching.nodes(before.nodes, after.nodes)
    if len(before.nodes) == len(after.nodes) == 1:
        nodes = matching.Match(((before.nodes[0], after.nodes[0]),), (), ())
        by_shape = by_shape or not matching.is_one_machine(*nodes.pairs[0])
    else:
        by_shape = False
    view = View(everything, by_shape)
    view.compare(before.cluster, after.cluster, before.nodes, after.nodes)
    changes = [*view.changes, *_whole(nodes, view.told)]
    found = _matched([Pair(one, other, by_shape, everything) for one, other in nodes.pairs])
    if not by_shape:
        found, moves = _between(found, nodes)
        changes += moves
    for devices in found:
        _node(devices, view.told)
        changes += devices.pair.changes
    return Comparison(by_shape, _grouped(changes))


def _whole(nodes: matching.Match[Node], told: set[str]) -> Iterable[Change]:
    """Nodes that are on one side alone, where Ray has not said it."""
    for lost in nodes.gone:
        if lost.name not in told:
            yield Change(kinds.GONE, FAULT, ("nodes",), Subject(lost.name))
    for come in nodes.new:
        if come.name not in told:
            yield Change(kinds.APPEARED, NEW, ("nodes",), Subject(come.name))


def _matched(pairs: Sequence[Pair]) -> list[_Devices]:
    return [
        _Devices(
            pair,
            matching.accelerators(pair.before, pair.after, pair.by_shape),
            matching.nics(pair.before, pair.after, pair.by_shape),
        )
        for pair in pairs
    ]


def _between(found: list[_Devices], nodes: matching.Match[Node]) -> tuple[list[_Devices], list[Change]]:
    """Accelerators that went from one node to another: told as moved, and taken from what is gone and new."""
    lost = [(devices.pair.before, one) for devices in found for one in devices.accelerators.gone]
    lost += [(node, one) for node in nodes.gone for one in node.accelerators]
    come = [(devices.pair.after, one) for devices in found for one in devices.accelerators.new]
    come += [(node, one) for node in nodes.new for one in node.accelerators]
    moved = matching.matched(lost, come, (lambda placed: diff_devices.identity_of(placed[1]),)).pairs
    changes = [
        Change(
            kinds.MOVED,
            CHANGE,
            ("nodes",),
            Subject(node.name, other.id, was=one.id if one.id != other.id else None, before=home.name, after=node.name),
        )
        for (home, one), (node, other) in moved
    ]
    gone = {id(one) for (_, one), _ in moved}
    new = {id(other) for _, (_, other) in moved}
    if not moved:
        return found, []
    return [_without(devices, gone | new) for devices in found], changes


def _without(devices: _Devices, told: set[int]) -> _Devices:
    pairs, gone, new = devices.accelerators
    left = matching.Match(
        pairs, tuple(one for one in gone if id(one) not in told), tuple(one for one in new if id(one) not in told)
    )
    return devices._replace(accelerators=left)


def _node(devices: _Devices, told: set[str]) -> None:
    pair = devices.pair
    lost, come = diff_nodes.unread(pair.after), diff_nodes.unread(pair.before)
    if lost or come:
        cause = lost or come
        if cause and not (lost and come) and pair.after.name not in told:
            kind = kinds.UNKNOWN if lost else kinds.KNOWN
            pair.unknown(kind, ("nodes",), pair.node_subject(), cause)
        return
    diff_nodes.itself(pair)
    diff_nodes.listed(pair, devices.accelerators, devices.nics)
    diff_nodes.switches(pair)
    unique = matching.unique_of(pair.before, pair.after)
    for one, other in devices.accelerators.pairs:
        diff_devices.accelerator(pair, one, other, matching.is_replaced(one, other, unique))
    for one_nic, other_nic in devices.nics.pairs:
        diff_devices.nic(pair, one_nic, other_nic)
    same = {one.id: other.id for one, other in devices.accelerators.pairs}
    same |= {one.id: other.id for one, other in devices.nics.pairs}
    diff_links.links(pair, same)


def _grouped(changes: Iterable[Change]) -> tuple[Difference, ...]:
    """What differs in one way: of many devices of a node, then of nodes of which the same devices differ."""
    of_node: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        node = change.subject.node if change.subject else None
        of_node.setdefault((node, *_way(change)), []).append(change)
    groups: dict[tuple[object, ...], list[Change]] = {}
    for group in of_node.values():
        groups.setdefault((*_way(group[0]), _which(group)), []).extend(group)
    told = [_difference(group) for group in groups.values()]
    return tuple(sorted(told, key=lambda one: (SEVERITIES.index(one.severity), KINDS.index(one.kind))))


def _which(group: Sequence[Change]) -> tuple[object, ...]:
    return tuple((change.subject.id, change.subject.peer) for change in group if change.subject)


def _way(change: Change) -> tuple[object, ...]:
    why = change.why
    if why and change.subject and change.subject.id:
        why = why.replace(change.subject.id, "#")
    values = (type(change.before), change.before, type(change.after), change.after)
    return (change.kind, change.severity, change.fields, values, change.reason, why)


def _difference(group: Sequence[Change]) -> Difference:
    first = group[0]
    subjects = tuple(change.subject for change in group if change.subject)
    return Difference(
        first.kind, first.severity, first.fields, first.before, first.after, first.reason, first.why, subjects
    )


def alone(inventory: Inventory, node: Node) -> Inventory:
    """The inventory with this node alone, in Ray's view too."""
    cluster = inventory.cluster
    if cluster is not None:
        cluster = replace(cluster, nodes=tuple(one for one in cluster.nodes if one.node_id == node.ray_node_id))
    return replace(inventory, nodes=(node,), cluster=cluster)
