"""The groups of a cluster as rows: where they stand, how many there are, what they hold, how they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from raxl.model.link import FABRIC_NAMES
from raxl.model.node import Node
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import Names, counted
from raxl.render.node_names import identity, node_ranges, short
from raxl.render.quantity import number_ranges
from raxl.render.sentence import type_name
from raxl.render.text import Line, Page, Span

if TYPE_CHECKING:
    from raxl.topology.domains import Domain, DomainName
    from raxl.topology.groups import Group, Place

COLUMNS = (Column(least=12), Column(gap=3, least=16), Column(gap=3, least=20), Column(rank=1, gap=3))
"""Nodes, what they hold, which they are or how they differ, note."""
DIFFERS = "← differs from its peers"
NONE, UNSEEN = "no accelerators", "accelerators not known"
_MOST_ROWS = 40
_FOLDED = 3
"""So many places of the same content are told as one."""
_NOTHING: Span = ("", "")
_Lacking = Mapping["DomainName", tuple[int, ...]]


class _Shown(NamedTuple):
    """A row, and of how many nodes it tells."""

    row: Row
    nodes: int
    is_exception: bool


class _Section(NamedTuple):
    """What stands in one place, or in several of the same content: title lines, and a row for each group."""

    head: list[Row]
    groups: list[_Shown]


def group_lines(page: Page, groups: Sequence[Group], domains: Sequence[Domain] = ()) -> list[Line]:
    """The rows of all nodes, by place; as many as stay readable."""
    places: dict[Place, list[Group]] = {}
    for group in groups:
        places.setdefault(group.place, []).append(group)
    lacking = {domain.name: domain.missing for domain in domains if domain.missing}
    sections = [_section(alike, places, lacking) for alike in _alike(places, lacking)]
    kept = _kept(sections)
    rows: list[Row] = []
    left: list[_Shown] = []
    for section in sections:
        shown = [one.row for one in section.groups if id(one) in kept]
        rows += [*section.head, *shown] if shown else []
        left += [one for one in section.groups if id(one) not in kept]
    if left:
        odd = sum(one.nodes for one in left if one.is_exception)
        which = f", {counted(odd, 'exception')} among them" if odd else ""
        rows.append([(f"… {counted(sum(one.nodes for one in left), 'more node')}{which} (--expand shows each)", "dim")])
    return lay_out(page, COLUMNS, rows, titled=False)


def _kept(sections: Sequence[_Section]) -> set[int]:
    """The groups that there is room for, by `id`: a sound one only where every exception has found its place."""
    room = _MOST_ROWS
    kept: set[int] = set()
    opened: set[int] = set()
    every = [(one, place) for place, section in enumerate(sections) for one in section.groups]
    for one, place in sorted(every, key=lambda pair: not pair[0].is_exception):
        room -= 1 + (0 if place in opened else len(sections[place].head))
        if room < 0:
            break
        opened.add(place)
        kept.add(id(one))
    return kept


def _alike(places: dict[Place, list[Group]], lacking: _Lacking) -> list[list[Place]]:
    """The places, those of the same content together where they are many; places with exceptions first."""
    found: dict[Hashable, list[Place]] = {}
    for place, held in places.items():
        content = (_missing(place, lacking), *((len(group.nodes), group.shape) for group in held))
        where = (place.domain.kind if place.domain else None, place.block is None, place.rack is None)
        found.setdefault((where, content), []).append(place)
    sections: list[list[Place]] = []
    for alike in found.values():
        sections += [alike] if len(alike) >= _FOLDED else [[one] for one in alike]
    return sorted(sections, key=lambda alike: _severity(places[alike[0]], _missing(alike[0], lacking)))


def _severity(held: Sequence[Group], missing: Sequence[int]) -> int:
    """That of the worst group, where a place lacks nobody."""
    return 0 if missing else min(group.severity for group in held)


def _missing(place: Place, lacking: _Lacking) -> tuple[int, ...]:
    return lacking.get(place.domain, ()) if place.domain else ()


def _section(alike: Sequence[Place], places: dict[Place, list[Group]], lacking: _Lacking) -> _Section:
    held = [places[one] for one in alike]
    title = place_title(alike[0], held[0]) if len(alike) == 1 else _places_title(alike)
    if not title and len(places) > 1 and any(group.shape.devices for group in held[0]):
        title = "place not known"
    head: list[Row] = [[(title, "bold" if any(alike[0]) else "dim")]] if title else []
    missing = _missing(alike[0], lacking)
    if missing:
        who = f"{'workers' if len(missing) > 1 else 'worker'} {number_ranges(missing)}"
        head.append([(f"  {who} missing{' in each' if len(alike) > 1 else ''}", "fail")])
    shown: list[_Shown] = []
    for place, group in enumerate(held[0]):
        every = [node for one in held for node in one[place].nodes]
        row = _row(group, every, "  " if title else "", len(alike))
        shown.append(_Shown(row, len(every), group.is_exception or bool(missing)))
    return _Section(head, shown)


def _row(group: Group, every: Sequence[Node], margin: str, places: int) -> Row:
    first = group.nodes[0]
    count = len(group.nodes)
    name = short(first.name) if count == 1 and places == 1 else counted(count, "node") + (" each" if places > 1 else "")
    what: Span = (holds(first), "" if group.shape.devices else "dim")
    if not group.differences:
        names = node_ranges([node.name for node in every]) if len(every) > 1 else ""
        ill, style = _ill(first)
        told = " · ".join(part for part in (ill, names) if part)
        return [(margin + name, ""), what, (told, style), _NOTHING]
    calls = Names(first)
    words = [calls.in_words(word) for word in group.differences]
    which = f"{node_ranges([node.name for node in every])}: " if len(every) > 1 else ""
    is_lost = any(device.state == "lost" for device in first.accelerators)
    differ: Span = (which + "; ".join(words[:3]) + (" …" if len(words) > 3 else ""), "fail" if is_lost else "warn")
    return [(margin + name, ""), what, differ, (DIFFERS, "warn")]


def _ill(node: Node) -> Span:
    """What is wrong with a node that has no peers to differ from; `GPU 6 lost; GPU 7 of unknown state`."""
    calls = Names(node)
    ill = [f"{calls.of(one.id)} {one.state}" for one in node.accelerators if one.state in ("lost", "degraded")]
    unknown = [one.id for one in node.accelerators if one.state == "unknown"]
    told = "; ".join(ill[:3]) + (" …" if len(ill) > 3 else "")
    if unknown:
        which = calls.of(unknown[0]) if len(unknown) == 1 else str(len(unknown))
        told = "; ".join(part for part in (told, f"{which} of unknown state") if part)
    return told, "fail" if ill else "warn" if unknown else "dim"


def holds(node: Node) -> str:
    """`8 × H100`, those that work; `no accelerators`, where somebody looked for them."""
    working = Counter(type_name(device) for device in node.accelerators if device.state != "lost")
    if not node.accelerators:
        return NONE if node.has_none else UNSEEN
    if not working:
        return f"0 of {len(node.accelerators)} × {type_name(node.accelerators[0])}"
    return ", ".join(f"{count} × {type}" for type, count in working.items())


def place_title(place: Place, held: Sequence[Group]) -> str:
    """`NVLink domain 7e2c…00f1.3 · rack r12`, `block b-2 · rack r07`; empty where the place is not known."""
    if place.domain is not None:
        racks = dict.fromkeys(node.placement.rack for group in held for node in group.nodes if node.placement.rack)
        rack = f" · rack {short(next(iter(racks)))}" if len(racks) == 1 else f" · {len(racks)} racks" if racks else ""
        topology = held[0].nodes[0].placement.slice_topology if place.domain.kind == "ici" else None
        return domain_title(place.domain) + (f" ({short(topology)})" if topology else "") + rack
    words = [f"{what} {short(name)}" for what, name in (("block", place.block), ("rack", place.rack)) if name]
    return " · ".join(words)


def _places_title(alike: Sequence[Place]) -> str:
    first = alike[0]
    if first.domain is not None:
        return f"{len(alike)} {domain_kind(first.domain.kind)}s of the same content"
    what = "rack" if first.rack else "block"
    names = node_ranges(list(dict.fromkeys(str(place.rack or place.block) for place in alike)))
    return f"{len(alike)} {what}s of the same content: {names}"


def domain_kind(kind: str) -> str:
    """`NVLink domain`, `TPU slice`, `UltraServer`, `XGMI hive`."""
    named = {"ici": "TPU slice", "neuron": "UltraServer", "xgmi": "XGMI hive", "": "fabric domain"}
    return named.get(kind) or f"{FABRIC_NAMES.get(kind, kind)} domain"


def domain_title(name: DomainName) -> str:
    """`NVLink domain 7e2c…00f1.3`."""
    return f"{domain_kind(name.kind)} {identity(name.name)}" + (f".{short(name.clique)}" if name.clique else "")
