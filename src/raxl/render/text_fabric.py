"""`raxl topo --view fabric`: which nodes a scale-up fabric joins, who is missing in it, and the rails of the NICs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render.cluster_groups import domain_kind, domain_title, holds
from raxl.render.cluster_ray import head
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import counted
from raxl.render.node_names import node_ranges, nodes_called, short
from raxl.render.quantity import listed, number_ranges
from raxl.render.text import Line, Page, Style, parted

if TYPE_CHECKING:
    from raxl.topology.domains import Domain
    from raxl.topology.overview import Overview
    from raxl.topology.rails import Rail

_COLUMNS = (Column(least=16), Column(gap=3), Column(gap=3), Column(rank=1, gap=3, least=12))
"""Domain, members, accelerators and state, nodes."""
_MOST_DOMAINS = 40
_MOST_RAILS = 16
_UP = "completed"


def fabric(view: Overview, rails: Sequence[Rail], width: int, *, unicode: bool = True) -> list[Line]:
    """A row for each domain, incomplete ones first; then the rails, and the nodes outside of any; a sentence last."""
    page = Page(width, unicode)
    ordered = sorted(view.domains, key=lambda domain: not _is_ill(domain))
    shown, more = ordered[:_MOST_DOMAINS], ordered[_MOST_DOMAINS:]
    rows: list[Row] = [row for domain in shown for row in _rows(domain)]
    if more:
        rows.append([(f"… {len(more)} more domains (--format json has each node’s)", "dim")])
    return parted(
        [
            head(page, view) if view.total > 1 else [],
            lay_out(page, _COLUMNS, rows, titled=False),
            _rails(page, rails),
            _outside(page, view.outside),
            page.fold(_sentence(view)),
        ]
    )


def _is_ill(domain: Domain) -> bool:
    return bool(domain.missing) or any(state != _UP for state in domain.states)


def _rows(domain: Domain) -> list[Row]:
    count = counted(len(domain.members), "node")
    if domain.workers is not None:
        count = f"{len(domain.members)} of {counted(domain.workers, 'worker')}"
    topology = f" ({clean(domain.topology)})" if domain.topology else ""
    states = f", {' and '.join(map(clean, domain.states))}" if domain.states else ""
    holding = dict.fromkeys(holds(node) for node in domain.members)
    what = next(iter(holding)) if len(holding) == 1 else f"{domain.accelerators} accelerators"
    each = " each" if len(holding) == 1 and len(domain.members) > 1 else ""
    style: Style = "warn" if _is_ill(domain) else ""
    names = node_ranges([node.name for node in domain.members])
    rows: list[Row] = [
        [(domain_title(domain.name) + topology, "bold"), (count, style), (what + each + states, style), (names, "dim")]
    ]
    if domain.missing:
        noun = "worker" if len(domain.missing) == 1 else "workers"
        rows.append([(f"  {noun} {number_ranges(domain.missing)} missing: no node here has that index", "fail")])
    if len(domain.states) > 1:
        for state in domain.states:
            own = [node.name for node in domain.members if any(_state(device) == state for device in node.accelerators)]
            rows.append([(f"  {clean(state)}: {nodes_called(own)}", "dim" if state == _UP else "warn")])
    return rows


def _state(device: object) -> str | None:
    return getattr(getattr(device, "fabric", None), "state", None)


def _rails(page: Page, rails: Sequence[Rail]) -> list[Line]:
    lines: list[Line] = []
    for rail in rails[:_MOST_RAILS]:
        where = f", {listed([clean(leaf) for leaf in rail.leaves[:3]])}" if rail.leaves else ""
        nics = node_ranges(rail.nics) if len(set(rail.nics)) < 2 else node_ranges(list(dict.fromkeys(rail.nics)))
        near = f" beside accelerator {rail.number}"
        lines += page.fold(
            f"{nics} of {counted(len(rail.nics), 'node')}{near}{where}", 9, lead=(f"rail {rail.number:<4}", "")
        )
    if len(rails) > _MOST_RAILS:
        lines.append([(page.spell(f"… {len(rails) - _MOST_RAILS} more rails"), "dim")])
    return lines


def _outside(page: Page, nodes: Sequence[Node]) -> list[Line]:
    """Nodes whose accelerators no fabric joins to another node's, by what they hold and what the fabric says."""
    told: dict[str, list[str]] = {}
    for node in nodes:
        states = dict.fromkeys(state for device in node.accelerators if (state := _state(device)))
        pending = [state for state in states if state != _UP]
        said = f", fabric {' and '.join(map(clean, pending))}" if pending else ""
        told.setdefault(f"{holds(node)}{said}", []).append(node.name)
    return [
        line
        for what, names in list(told.items())[:_MOST_DOMAINS]
        for line in page.fold(
            f"{nodes_called(names)}: {what}{' each' if len(names) > 1 else ''}", 3, "dim", ("outside any domain  ", "")
        )
    ]


def _sentence(view: Overview) -> str:
    kinds: dict[str, int] = {}
    for domain in view.domains:
        kinds[domain_kind(domain.name.kind)] = kinds.get(domain_kind(domain.name.kind), 0) + 1
    missing = [(domain, domain.missing) for domain in view.domains if domain.missing]
    words = listed([counted(count, kind) for kind, count in kinds.items()])
    first = words or "No scale-up domain is known"
    lacks = [f"{short(domain.name.name)} lacks {counted(len(gone), 'worker')}" for domain, gone in missing[:3]]
    tail = [*lacks, *([f"{counted(len(view.outside), 'node')} outside any"] if view.outside else [])]
    return f"{first}{': ' if lacks and words else ', ' if tail else ''}{', '.join(tail)}."
