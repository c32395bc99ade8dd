"""`raxl topo --view fabric`: which nodes a scale-up fabric joins, who is missing in it, and the rails of the NICs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render.cluster_groups import domain_kind, domain_title, holds
from raxl.render.cluster_ray import head
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import counted
from raxl.render.node_names import node_ranges, nodes_called, short
from raxl.render.quantity import listed, name_ranges, number_ranges
from raxl.render.text import Line, Page, Style, parted

if TYPE_CHECKING:
    from raxl.topology.domains import Domain
    from raxl.topology.overview import Overview
    from raxl.topology.rails import Rails

_COLUMNS = (Column(), Column(rank=1, gap=3), Column(rank=2, gap=3, least=16), Column(gap=3, least=24))
"""Domain, members, accelerators and state, nodes: whose domain it is stays, whatever else has no room."""
_NARROW = 60
"""On a page of fewer columns the domain's name is cut too."""
_MOST_ROWS = 40
_MOST_OUTSIDE = 6
_FOLDED = 3
_MOST_RAILS = 4
_UP = "completed"


def fabric(view: Overview, rails: Sequence[Rails], width: int, *, unicode: bool = True) -> list[Line]:
    """A row for each domain, incomplete ones first; then the rails, and the nodes outside of any; a sentence last."""
    page = Page(width, unicode)
    alike: dict[Hashable, list[Domain]] = {}
    for domain in sorted(view.domains, key=lambda domain: not _is_ill(domain)):
        alike.setdefault(_content(domain), []).append(domain)
    rows: list[Row] = []
    for same in alike.values():
        rows += [_folded(same)] if len(same) >= _FOLDED else [row for domain in same for row in _rows(domain)]
    if len(rows) > _MOST_ROWS:
        left = len(rows) - _MOST_ROWS + 1
        rows[_MOST_ROWS - 1 :] = [[(f"… {left} more rows (--format json has each node’s domain)", "dim")]]
    return parted(
        [
            head(page, view) if view.total > 1 else [],
            lay_out(page, _columns(width), rows, titled=False, refill=True),
            _rails(page, rails),
            _outside(page, view.outside),
            page.fold(_sentence(view)),
        ]
    )


def _columns(width: int) -> Sequence[Column]:
    return _COLUMNS if width >= _NARROW else (Column(least=16), *_COLUMNS[1:])


def _is_ill(domain: Domain) -> bool:
    return bool(domain.missing or domain.twice) or any(state != _UP for state in domain.states)


def _content(domain: Domain) -> Hashable:
    """What domains have in common to be told once; what is wrong with one is told of it alone."""
    own = domain.name if _is_ill(domain) else domain.name.kind
    holding = tuple(dict.fromkeys(holds(node) for node in domain.members))
    return (own, len(domain.members), domain.workers, domain.topology, domain.states, holding)


def _folded(alike: Sequence[Domain]) -> Row:
    first, *_ = _rows(alike[0])
    title = f"{len(alike)} {domain_kind(alike[0].name.kind)}s"
    topology = f" ({clean(alike[0].topology)})" if alike[0].topology else ""
    names = node_ranges([node.name for domain in alike for node in domain.members])
    count = first[1][0] if first[1][0].endswith("each") else f"{first[1][0]} each"
    return [(title + topology, "bold"), (count, first[1][1]), first[2], (names, "dim")]


def _rows(domain: Domain) -> list[Row]:
    count = counted(len(domain.members), "node")
    if domain.workers is not None:
        count = f"{domain.workers - len(domain.missing)} of {counted(domain.workers, 'worker')}"
    topology = f" ({clean(domain.topology)})" if domain.topology else ""
    states = f", {' and '.join(map(clean, domain.states))}" if domain.states else ""
    holding = dict.fromkeys(holds(node) for node in domain.members)
    what = next(iter(holding)) if len(holding) == 1 else f"{domain.accelerators} accelerators"
    each = " each" if len(holding) == 1 and len(domain.members) > 1 else ""
    style: Style = "warn" if _is_ill(domain) else ""
    names = node_ranges([node.name for node in domain.members])
    title = domain_title(domain.name) + topology
    return [[(title, "bold"), (count, style), (what + each + states, style), (names, "dim")], *_wrong(domain)]


def _wrong(domain: Domain) -> list[Row]:
    """A row for each thing that is wrong with a domain."""
    rows: list[Row] = []
    if domain.missing:
        noun = "worker" if len(domain.missing) == 1 else "workers"
        rows.append([(f"  {noun} {number_ranges(domain.missing)} missing: no node here has that index", "fail")])
    for worker, nodes in domain.twice:
        rows.append([(f"  worker {worker} is told by {nodes_called(nodes)}", "warn")])
    for state in domain.states if len(domain.states) > 1 else ():
        own = [node.name for node in domain.members if any(_state(device) == state for device in node.accelerators)]
        rows.append([(f"  {clean(state)}: {nodes_called(own)}", "dim" if state == _UP else "warn")])
    return rows


def _state(device: object) -> str | None:
    return getattr(getattr(device, "fabric", None), "state", None)


def _rails(page: Page, rails: Sequence[Rails]) -> list[Line]:
    """`rails    0–7 are mlx5_0–7, by place, on 24 nodes (gpu-01–24); no node says which leaf each is wired to`."""
    lines: list[Line] = []
    for one in rails[:_MOST_RAILS]:
        which = f"{number_ranges([index for index, _ in one.nics])} {_nic_names([nics for _, nics in one.nics])}"
        text = f"{which}, by place in the node, on {nodes_called(one.nodes)}; which leaf each is wired to is not known"
        lines += page.fold(text, 9, lead=("rails    " if one is rails[0] else " " * 9, ""))
    if len(rails) > _MOST_RAILS:
        lines.append([(page.spell(f"         … {len(rails) - _MOST_RAILS} more kinds of nodes"), "dim")])
    return lines


def _nic_names(nics: Sequence[str]) -> str:
    every = [name for joined in nics for name in joined.split("+")]
    several = len(every) // len(nics)
    return f"are {name_ranges(every)}" + (f", {several} each" if several > 1 else "")


def _outside(page: Page, nodes: Sequence[Node]) -> list[Line]:
    """Nodes whose accelerators no fabric joins to another node's, by what they hold and what the fabric says."""
    told: dict[str, list[str]] = {}
    for node in nodes:
        states = dict.fromkeys(state for device in node.accelerators if (state := _state(device)))
        pending = [state for state in states if state != _UP]
        said = f", fabric {' and '.join(map(clean, pending))}" if pending else ""
        told.setdefault(f"{holds(node)}{said}", []).append(node.name)
    lines: list[Line] = []
    lead = "outside any domain  "
    ordered = sorted(told.items(), key=lambda one: -len(one[1]))
    for what, names in ordered[:_MOST_OUTSIDE]:
        text = f"{nodes_called(names)}: {what}{' each' if len(names) > 1 else ''}"
        lines += page.fold(text, len(lead), "dim", (" " * len(lead) if lines else lead, ""))
    if left := sum(len(names) for _, names in ordered[_MOST_OUTSIDE:]):
        lines.append(
            page.cut([(" " * len(lead) + page.spell(f"… {left} more {'node' if left == 1 else 'nodes'}"), "dim")])
        )
    return lines


def _sentence(view: Overview) -> str:
    kinds: dict[str, int] = {}
    for domain in view.domains:
        kinds[domain_kind(domain.name.kind)] = kinds.get(domain_kind(domain.name.kind), 0) + 1
    missing = [(domain, domain.missing) for domain in view.domains if domain.missing]
    words = listed([counted(count, kind) for kind, count in kinds.items()])
    if not words:
        return "No node here belongs to a scale-up domain."
    lacks = [f"{short(domain.name.name)} lacks {counted(len(gone), 'worker')}" for domain, gone in missing[:3]]
    tail = [*lacks, *([f"{counted(len(view.outside), 'node')} outside any"] if view.outside else [])]
    return f"{words}{': ' if lacks else ', ' if tail else ''}{', '.join(tail)}."
