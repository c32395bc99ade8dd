"""`raxl labels --check`: what raylets carry otherwise than the hardware says, and what is typed to correct it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from raxl.model.label import DIFFERS, FIXED, NO_ANSWER, NOT_IN_CLUSTER, SAME, Check, LabelsDocument, NodeLabels
from raxl.model.printable import clean
from raxl.render.columns import Column, Row, lay_out
from raxl.render.quantity import listed
from raxl.render.text import Line, Page, parted
from raxl.render.text_labels import named
from raxl.render.unknown import REMARK

_COLUMNS = (
    Column("LABEL"),
    Column("RAY HAS"),
    Column("SHOULD BE"),
    Column("THAT IS", rank=1, least=14),
)
_NONE = "–"
HEAD_LAST = (
    "This is the head: stopping it ends the cluster unless GCS fault tolerance is on, so it comes last, and every "
    "raylet is started again after it."
)


def check(document: LabelsDocument, width: int, *, unicode: bool = True) -> list[Line]:
    """A table for the nodes that differ alike, with the line to type there; then the nodes by name."""
    page = Page(width, unicode)
    alike: dict[Check, list[NodeLabels]] = {}
    for node in sorted(document.nodes, key=lambda node: bool(node.is_head)):
        if node.check and node.check.differences:
            alike.setdefault(replace(node.check, unchecked=()), []).append(node)
    blocks = [_nodes(page, told, nodes) for told, nodes in alike.items()]
    blocks += [_unchecked(page, document), page.fold(_sentence(document))]
    return parted(blocks)


def _nodes(page: Page, told: Check, nodes: Sequence[NodeLabels]) -> list[Line]:
    rows: list[Row] = []
    for one in told.differences:
        found, wanted = one.found or _NONE, one.wanted or _NONE
        rows.append([(one.key, ""), (found, "fail" if one.found else "dim"), (wanted, ""), (one.message, "dim")])
    # The line is typed as it stands: it is neither cut nor folded.
    command: Line = [("  ", ""), (page.spell(told.command or ""), "")]
    head = page.fold(HEAD_LAST, hang=3, lead=(f"{REMARK}  ", "warn")) if nodes[0].is_head else []
    return [*page.fold(named(nodes), style="bold"), *lay_out(page, _COLUMNS, rows), command, *head]


def _unchecked(page: Page, document: LabelsDocument) -> list[Line]:
    """Labels that raylets carry, and of which it is not known what they should be."""
    keys: dict[tuple[str, ...], list[NodeLabels]] = {}
    for node in document.nodes:
        if node.check and node.check.unchecked:
            keys.setdefault(node.check.unchecked, []).append(node)
    return [
        line
        for told, nodes in keys.items()
        for line in page.fold(
            f"not checked on {named(nodes)}: {', '.join(told)} (what they should be is not known)",
            hang=3,
            lead=("?  ", "dim"),
        )
    ]


def _sentence(document: LabelsDocument) -> str:
    found = {
        status: [node for node in document.nodes if node.check and node.check.status == status]
        for status in (SAME, DIFFERS, NO_ANSWER, NOT_IN_CLUSTER)
    }
    wrong, right = sorted(found[DIFFERS], key=lambda node: bool(node.is_head)), found[SAME]
    count = len(wrong) + len(right)
    words = [f"{len(right)} of {count} carry the right labels" if wrong else _all(count)]
    if found[NO_ANSWER]:
        words.append(f"{named(found[NO_ANSWER])} gave no answer")
    if found[NOT_IN_CLUSTER]:
        words.append(f"{named(found[NOT_IN_CLUSTER])} is no node of this cluster that is alive")
    told = f"{'; '.join(words)}."
    if not wrong:
        return told
    groups = listed(sorted({clean(node.group) for node in wrong if node.group}))
    made = f" Pods of {groups} get theirs from the group (raxl labels --format kuberay)." if groups else ""
    step = f"Drain {named(wrong)}, type the line there with the other flags it was started with"
    return f"{told}{made} {FIXED} {step}; what runs there ends."


def _all(count: int) -> str:
    return (
        "No node was checked"
        if not count
        else "The node carries the right labels"
        if count == 1
        else f"All {count} nodes carry the right labels"
    )
