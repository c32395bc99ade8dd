"""What differs in Ray's own view of a cluster."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from raxl.model import difference as kinds
from raxl.model.cluster import ALIVE, DEAD, Cluster, RayNode
from raxl.model.difference import CHANGE, FAULT, NEW, Subject, Value
from raxl.model.node import Node
from raxl.model.problem import NOT_ASKED
from raxl.topology import lasting, matching
from raxl.topology.differing import Change

_UNTOLD = "Ray was not asked"
_HOSTS = ("CPU", "memory", "object_store_memory")
"""Resources that are no accelerators."""


class View:
    """Ray's view before and after. As to shape what names one node among many is not compared, but for everything."""

    def __init__(self, everything: bool, by_shape: bool) -> None:
        self._everything, self._by_shape = everything, by_shape
        self._names = everything or not by_shape
        self.changes: list[Change] = []
        self.told: set[str] = set()
        """The names of nodes of which it is said that they died, left or joined."""

    def compare(self, before: Cluster | None, after: Cluster | None, old: Sequence[Node], new: Sequence[Node]) -> None:
        """Notes what differs; `old` and `new` are the nodes that were read."""
        if before is None or after is None:
            if before is not after:
                kind = kinds.UNKNOWN if after is None else kinds.KNOWN
                self._note(kind, CHANGE, "cluster", None, reason=NOT_ASKED, why=_UNTOLD)
            return
        for name in ("ray_version", "python_version"):
            mine, theirs = getattr(before, name), getattr(after, name)
            if mine != theirs and None in (mine, theirs):
                kind = kinds.UNKNOWN if theirs is None else kinds.KNOWN
                self._note(kind, CHANGE, f"cluster.{name}", None, reason=NOT_ASKED, why=_UNTOLD)
            elif mine != theirs:
                self._note(kinds.VERSION, CHANGE, f"cluster.{name}", None, mine, theirs)
        self._nodes(before.nodes, after.nodes, _names(before, old) | _names(after, new))

    def _nodes(self, before: Sequence[RayNode], after: Sequence[RayNode], names: Mapping[str, str]) -> None:
        if len(before) == len(after) == 1 and self._by_shape:
            self._node(before[0], after[0], names[after[0].node_id])
            return
        found = matching.matched(_latest(before, names), _latest(after, names), _keys(names))
        for gone in found.gone:
            if gone.state != DEAD:  # Ray forgets the dead after a while
                self._told(kinds.GONE, FAULT, "ray.node", names[gone.node_id], gone.state, None)
        for new in found.new:
            name = names[new.node_id]
            if new.has_left:  # it came and went between the two
                self.told.add(name)
            elif new.state == DEAD:
                self._told(kinds.DEAD, FAULT, "ray.state", name, None, new.state, new.reason)
            else:
                self._told(kinds.APPEARED, NEW, "ray.node", name, None, new.state)
        for one, other in found.pairs:
            self._node(one, other, names[other.node_id])

    def _node(self, before: RayNode, after: RayNode, name: str) -> None:
        if before.state != after.state:
            self._state(before, after, name)
            if DEAD in (before.state, after.state):
                return
        if self._everything and before.node_id != after.node_id:
            self._note(kinds.RAY, CHANGE, "ray_node_id", name, before.node_id, after.node_id)
        if self._names and before.address != after.address:
            self._note(kinds.RAY, CHANGE, "ray.address", name, before.address, after.address)
        if before.is_head != after.is_head and self._names:
            self._note(kinds.RAY, CHANGE, "ray.is_head", name, before.is_head, after.is_head)
        self._resources(before.resources, after.resources, name)
        self._labels(before.labels, after.labels, name)

    def _state(self, before: RayNode, after: RayNode, name: str) -> None:
        if after.has_left:
            self._told(kinds.GONE, CHANGE, "ray.node", name, before.state, None, after.reason)
            return
        if after.state == DEAD:
            self._told(kinds.DEAD, FAULT, "ray.state", name, before.state, after.state, after.reason)
            return
        if before.state == DEAD:
            self.told.add(name)
        kind, severity = (kinds.BETTER, CHANGE) if after.state == ALIVE else (kinds.WORSE, FAULT)
        self._note(kind, severity, "ray.state", name, before.state, after.state, why=after.reason)

    def _resources(self, before: Mapping[str, float], after: Mapping[str, float], name: str) -> None:
        """An accelerator that Ray counts no more is a fault; what it takes from free memory is volatile."""
        for resource in sorted({*before, *after}):
            mine, theirs = before.get(resource), after.get(resource)
            if mine == theirs or (lasting.is_measured_resource(resource) and not self._everything):
                continue
            is_device = resource not in _HOSTS and not resource.startswith(("accelerator_type:", "node:"))
            field = f"ray.resources.{resource}"
            if is_device and (theirs or 0) < (mine or 0):
                self._note(kinds.NARROWED, FAULT, field, name, mine, theirs)
            else:
                kind = kinds.WIDENED if is_device else kinds.RAY
                self._note(kind, CHANGE, field, name, mine, theirs)

    def _labels(self, before: Mapping[str, str], after: Mapping[str, str], name: str) -> None:
        for label in sorted({*before, *after}):
            mine, theirs = before.get(label), after.get(label)
            lasts = self._everything or not lasting.is_label_of_start(label)
            if mine != theirs and lasts and (self._names or not lasting.is_place_label(label)):
                self._note(kinds.RAY, CHANGE, f"ray.labels.{label}", name, mine, theirs)

    def _told(
        self, kind: str, severity: str, field: str, name: str, before: Value, after: Value, why: str | None = None
    ) -> None:
        self.told.add(name)
        self._note(kind, severity, field, name, before, after, why=why)

    def _note(
        self,
        kind: str,
        severity: str,
        field: str,
        name: str | None,
        before: Value = None,
        after: Value = None,
        *,
        reason: str | None = None,
        why: str | None = None,
    ) -> None:
        subject = None if name is None else Subject(name)
        self.changes.append(Change(kind, severity, (field,), subject, before, after, reason, why))


def _names(cluster: Cluster, nodes: Sequence[Node]) -> dict[str, str]:
    """What each of Ray's nodes is called: as the node that was read there, else as Ray calls it."""
    read = {node.ray_node_id: node.name for node in nodes if node.ray_node_id is not None}
    return {one.node_id: read.get(one.node_id) or one.name or one.address or one.node_id for one in cluster.nodes}


def _latest(nodes: Sequence[RayNode], names: Mapping[str, str]) -> list[RayNode]:
    """Without the dead of which another raylet runs under the same name: those were restarted."""
    alive = {names[one.node_id] for one in nodes if one.state != DEAD}
    dead = {names[one.node_id]: one for one in nodes if one.state == DEAD}
    return [
        one
        for one in nodes
        if one.state != DEAD or (names[one.node_id] not in alive and dead[names[one.node_id]] is one)
    ]


def _keys(names: Mapping[str, str]) -> Sequence[matching.Key[RayNode]]:
    def name(one: RayNode) -> Hashable:
        return names[one.node_id]

    def address(one: RayNode) -> Hashable:
        return one.address

    def node_id(one: RayNode) -> Hashable:
        return one.node_id

    return (node_id, name, address)
