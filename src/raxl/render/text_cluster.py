"""`raxl topo` over many nodes: where they stand, what they hold, how it is joined, and what Ray makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raxl.model.problem import DISAGREEMENT, UNREAD
from raxl.render.cluster_gaps import folded
from raxl.render.cluster_groups import group_lines
from raxl.render.cluster_joined import JoinedFact, joined
from raxl.render.cluster_ray import LABEL, head, ray_lines
from raxl.render.naming import counted
from raxl.render.sentence import fleet_counted, none_found
from raxl.render.text import Line, Page, Style, display_width, parted
from raxl.render.unknown import explained

if TYPE_CHECKING:
    from raxl.topology.overview import Overview


def cluster(view: Overview, width: int, *, unicode: bool = True) -> list[Line]:
    """The nodes by place, those of one shape once, exceptions first; the last line is a sentence."""
    page = Page(width, unicode)
    every, unasked = folded(view.read)
    gaps = [gap for gap in every if gap.reason in (*UNREAD, DISAGREEMENT)]
    style: Style = "" if view.is_cluster else "warn"
    label = LABEL if view.is_cluster else "Ray"
    facts = [*joined(view), *((label, words, style) for words in ray_lines(view))]
    return parted(
        [
            head(page, view),
            group_lines(page, view.groups, view.domains),
            _labelled(page, facts),
            [*explained(page, gaps, unasked), *_lesser(page, len(every) - len(gaps))],
            page.fold(sentence(view)),
        ]
    )


def _lesser(page: Page, count: int) -> list[Line]:
    """What no source says of this or that node is counted: it is told with the node."""
    words = f"{counted(count, 'lesser gap')} that no source fills (--expand tells them with each node)"
    return page.fold(words, 3, "dim", ("…  ", "dim")) if count else []


def sentence(view: Overview) -> str:
    """What could be read out on a call: `26 nodes, 72 × GB200, 127 × H100, 198 ok, 1 lost.`"""
    found = [device for node in view.read for device in node.accelerators]
    missing = f" {len(view.silent)} of {view.total} nodes could not be read." if view.silent else ""
    if not view.total:
        return "No node is left."
    if not view.read:
        return "No node could be read."
    return (fleet_counted(found, len(view.read)) if found else none_found(view.read, view.total)) + missing


def _labelled(page: Page, facts: Sequence[JoinedFact]) -> list[Line]:
    if not facts:
        return []
    margin = max(display_width(page.spell(label)) for label, _, _ in facts) + 2
    lines: list[Line] = []
    previous = ""
    for label, text, style in facts:
        shown = page.spell("" if label == previous else label)
        lines += page.fold(text, margin, lead=(shown + " " * (margin - display_width(shown)), style))
        previous = label
    return lines
