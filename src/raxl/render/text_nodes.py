"""`raxl discover` over many nodes: a row for each group of nodes that hold the same, exceptions first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from raxl.model.accelerator import Accelerator
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.render import cells
from raxl.render.cells import Cells
from raxl.render.cluster_gaps import advice, folded
from raxl.render.cluster_groups import NONE, UNSEEN
from raxl.render.cluster_ray import head
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import Names, counted
from raxl.render.node_names import node_ranges, nodes_called, short
from raxl.render.text import Line, Page, Span, Style, parted
from raxl.render.text_cluster import sentence
from raxl.render.text_table import is_shown
from raxl.render.unknown import INAPPLICABLE, REMARK, UNKNOWN, Unknowns, explained

if TYPE_CHECKING:
    from raxl.topology.groups import Group
    from raxl.topology.overview import Overview

_COLUMNS = (
    Column("NODES", right=True),
    Column("WHICH", least=16),
    Column("EACH", right=True),
    Column("MODEL", least=16),
    Column("MEMORY", rank=3, right=True),
    Column("PARTITIONS", rank=4, least=12),
    Column("LINK", rank=5),
    Column("STATE"),
    Column("RAY", rank=2, least=16),
)
_NIC_COLUMNS = (
    Column("NODES", right=True),
    Column("WHICH", least=16),
    Column("NICS", right=True),
    Column("KIND"),
    Column("SPEED", right=True),
    Column("LINK", rank=3),
    Column("STATE"),
    Column("ROLE", rank=2),
)
_MOST_GROUPS = 40
_MOST_TOLD = 6
_ADVICE = "remarks on what Ray would register"
_WORST_FIRST = ("lost", "degraded", "down", "unknown", "ok")
_LEFT_OUT: Span = ("", "")
_NONE: Span = (INAPPLICABLE, "dim")


def discover(view: Overview, width: int, *, nics: bool = False, unicode: bool = True) -> list[Line]:
    """The table of the groups; then what is not known and what Ray would make of it, by cause, and a sentence."""
    page = Page(width, unicode)
    ray = _Ray(view)
    groups = _by_shape(view.groups, ray)
    shown, more = groups[:_MOST_GROUPS], groups[_MOST_GROUPS:]
    partitioned = any(device.partitions for one in shown for device in one[0].accelerators)
    rows = [row for nodes in shown for row in _accelerators(nodes, partitioned, ray)]
    left = sum(map(len, more))
    gaps, _ = folded(view.read, lambda family, field: is_shown(family, field, nics=nics, expand=False))
    told = [*_shortened(_unlike(view.groups), "nodes differ from their peers"), *_shortened(advice(view.read), _ADVICE)]
    remarks = [line for words in told for line in page.fold(words, 3, lead=(f"{REMARK}  ", "warn"))]
    return parted(
        [
            head(page, view) if view.silent or view.is_cluster else [],
            [*lay_out(page, _COLUMNS, rows), *_left(page, left)] if rows else [],
            lay_out(page, _NIC_COLUMNS, [row for nodes in shown for row in _nics(nodes)]) if nics else [],
            [*explained(page, gaps), *remarks],
            page.fold(sentence(view)),
        ]
    )


def _shortened(told: list[str], rest: str) -> list[str]:
    """The first of them, and how many more there are."""
    if len(told) <= _MOST_TOLD:
        return told
    return [*told[: _MOST_TOLD - 1], f"{len(told) - _MOST_TOLD + 1} more {rest} (--expand shows each node)"]


def _unlike(groups: Sequence[Group]) -> list[str]:
    """`gpu-03: mlx5_4 at 200 of 400 Gb/s, unlike its peers`."""
    told = []
    for group in sorted(groups, key=lambda group: group.severity):
        if group.differences:
            calls = Names(group.nodes[0])
            words = "; ".join(calls.in_words(word) for word in group.differences[:3])
            whose = "its peers" if len(group.nodes) == 1 else "their peers"
            told.append(f"{nodes_called([node.name for node in group.nodes])}: {words}, unlike {whose}")
    return told


def _left(page: Page, count: int) -> list[Line]:
    return [page.cut([(page.spell(f"… {counted(count, 'more node')} (--expand shows each)"), "dim")])] if count else []


class _Ray:
    """What stands in the column RAY: what Ray has registered, and without a cluster what it would register."""

    def __init__(self, view: Overview) -> None:
        self._held = view.ray
        self._told: dict[str, list[str]] = {}
        for one in view.ray.resources if view.ray else ():
            if one.registered:
                self._told.setdefault(one.node, []).append(f"{one.registered:g} {one.resource}")

    @property
    def is_of_node(self) -> bool:
        """Whether the cell tells of the whole node."""
        return self._held is not None

    def of(self, node: Node, device: Accelerator) -> Span:
        if self._held is None:
            return cells.ray(device)
        return cells.registered(self._held.views.get(node.ray_node_id or ""), device.ray.resource)

    def every(self, node: Node) -> Span:
        """Of a node without accelerators: all that Ray has there of such resources."""
        told = self._told.get(node.name)
        return (", ".join(told), "warn") if told else _NONE

    def key(self, node: Node) -> tuple[Span, ...]:
        """What nodes of one shape have to have in common to stand in one row."""
        if self._held is None:
            return ()
        return tuple(dict.fromkeys(self.of(node, device) for device in node.accelerators)) or (self.every(node),)


def _by_shape(groups: Sequence[Group], ray: _Ray) -> list[list[Node]]:
    """The nodes of each shape, wherever they stand: exceptions first, those without accelerators last."""
    found: dict[object, list[Node]] = {}
    severity: dict[object, int] = {}
    for group in groups:
        for node in group.nodes:
            key = (group.shape, ray.key(node))
            found.setdefault(key, []).append(node)
            severity[key] = min(group.severity, severity.get(key, group.severity))
    order = sorted(found, key=lambda key: (not found[key][0].accelerators, severity[key], -len(found[key])))
    return [found[key] for key in order]


def _called(nodes: Sequence[Node]) -> tuple[Span, Span]:
    names = [node.name for node in nodes]
    return (str(len(nodes)), ""), (short(names[0]) if len(names) == 1 else node_ranges(names), "")


def _accelerators(nodes: Sequence[Node], partitioned: bool, ray: _Ray) -> list[Row]:
    """A row for each sort of accelerator that the nodes hold."""
    first = nodes[0]
    count, which = _called(nodes)
    if not first.accelerators:
        partitions = _NONE if partitioned else _LEFT_OUT
        many, what = ("0", NONE) if first.has_none else (UNKNOWN, UNSEEN)
        return [[count, which, (many, "dim"), (what, "dim"), _NONE, partitions, _NONE, _NONE, ray.every(first)]]
    of = Cells(Unknowns(first, Names(first)))
    sorts: dict[tuple[Span, ...], list[Accelerator]] = {}
    for device in first.accelerators:
        profiles = cells.partitions(device) if partitioned else _LEFT_OUT
        key = (of.model(device), of.memory(device), profiles, of.link(device), ray.of(first, device))
        sorts.setdefault(key, []).append(device)
    if any(device.state == "lost" for device in first.accelerators):
        sorts = _with_lost(sorts)
    told: set[Span] = set()
    rows: list[Row] = []
    for place, (sort, own) in enumerate(sorts.items()):
        # What Ray has registered is the node's: of several rows it stands in the first.
        held = _LEFT_OUT if ray.is_of_node and sort[4] in told else sort[4]
        told.add(sort[4])
        rows.append([_first(place, count), _first(place, which), (str(len(own)), ""), *sort[:4], _states(own), held])
    return rows


def _with_lost(sorts: dict[tuple[Span, ...], list[Accelerator]]) -> dict[tuple[Span, ...], list[Accelerator]]:
    """A lost device tells little of itself: it stands in the row of those of its model, where there is one."""
    made: dict[tuple[Span, ...], list[Accelerator]] = {}
    for sort, own in sorted(sorts.items(), key=lambda one: all(device.state == "lost" for device in one[1])):
        like = next((other for other in made if other[0] == sort[0]), None)
        is_lost = all(device.state == "lost" for device in own)
        made.setdefault(like if like is not None and is_lost else sort, []).extend(own)
    return made


def _nics(nodes: Sequence[Node]) -> list[Row]:
    first = nodes[0]
    count, which = _called(nodes)
    if not first.nics:
        return [[count, which, ("0", "dim"), ("no NICs", "dim"), *[_NONE] * 4]]
    of = Cells(Unknowns(first, Names(first)))
    sorts: dict[tuple[Span, ...], list[Nic]] = {}
    for nic in first.nics:
        sorts.setdefault((of.kind(nic), of.speed(nic), of.link(nic), of.role(nic)), []).append(nic)
    return [
        [_first(place, count), _first(place, which), (str(len(own)), ""), *sort[:3], _states(own), sort[3]]
        for place, (sort, own) in enumerate(sorts.items())
    ]


def _first(place: int, span: Span) -> Span:
    """What stands in the first row of a group alone."""
    return span if place == 0 else _LEFT_OUT


def _states(devices: Sequence[Accelerator] | Sequence[Nic]) -> Span:
    """`ok`; `1 lost, 7 ok`."""
    counts = Counter(device.state for device in devices)
    if len(counts) == 1:
        return cells.state(devices[0])
    worst = next((state for state in _WORST_FIRST if counts[state]), "")
    styles: dict[str, Style] = {"lost": "fail", "degraded": "warn"}
    words = [f"{counts[state]} {UNKNOWN if state == 'unknown' else state}" for state in _WORST_FIRST if counts[state]]
    return ", ".join(words), styles.get(worst, "")
