"""`raxl labels`: the labels of each node with where they come from, what has none and why, what to start again."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.label import FIXED, LabelsDocument, NodeLabels
from raxl.model.printable import clean
from raxl.render.columns import Column, Row, lay_out
from raxl.render.quantity import listed
from raxl.render.text import UNBREAKABLE, Line, Page, parted
from raxl.render.unknown import REMARK

_COLUMNS = (
    Column("LABEL"),
    Column("VALUE"),
    Column("READ FROM", rank=2, least=16),
    Column("THAT IS", rank=1, least=14),
)
_MOST_NAMES = 8
ARGUMENTS = "raxl labels --format ray-args"


def labels(document: LabelsDocument, width: int, *, unicode: bool = True) -> list[Line]:
    """A table for each set of nodes that have the same labels, and a sentence that says how they take effect."""
    page = Page(width, unicode)
    blocks: list[list[Line]] = []
    for nodes in alike(document.nodes):
        blocks += _node(page, nodes, len(document.nodes) > 1 or not nodes[0].labels)
    blocks.append(page.fold(_sentence(document)))
    return parted(blocks)


def alike(nodes: Sequence[NodeLabels]) -> list[list[NodeLabels]]:
    """The nodes, those of the same labels together."""
    found: dict[object, list[NodeLabels]] = {}
    for node in nodes:
        found.setdefault((node.labels, node.unlabelled, node.not_counted), []).append(node)
    return list(found.values())


def named(nodes: Sequence[NodeLabels]) -> str:
    """`gpu-01, gpu-02 and gpu-03`; of many, the first and how many more."""
    names = [clean(node.node) for node in nodes]
    more = len(names) - _MOST_NAMES
    return listed([*names[:_MOST_NAMES], f"{more} more"] if more > 1 else names)


def _node(page: Page, nodes: Sequence[NodeLabels], is_named: bool) -> list[list[Line]]:
    title: list[Line] = page.fold(named(nodes), hang=2, style="bold") if is_named else []
    rows: list[Row] = [
        [(one.key, ""), (one.value, ""), (", ".join(one.evidence), "dim"), (one.message, "dim")]
        for one in nodes[0].labels
    ]
    table = lay_out(page, _COLUMNS, rows) if rows else []
    told = [f"{clean(one)}: no label counts it" for one in nodes[0].not_counted]
    remarks = [line for words in told for line in page.fold(words, hang=3, lead=(f"{REMARK}  ", "warn"))]
    return [[*title, *table], remarks, _unlabelled(page, nodes[0])]


def _unlabelled(page: Page, node: NodeLabels) -> list[Line]:
    """One line for each reason, with the keys that have it."""
    causes: dict[tuple[str, str], list[str]] = {}
    for one in node.unlabelled:
        causes.setdefault((one.reason, one.message), []).append(one.key)
    if not causes:
        return []
    lines: list[Line] = [[("no label", "dim")]]
    for (reason, message), keys in causes.items():
        kept = ", ".join(key.replace(" ", UNBREAKABLE) for key in keys)
        lines += page.fold(f"{kept}: {reason.replace('-', ' ')} ({message})", hang=4, lead=("  ", ""))
    return lines


def _sentence(document: LabelsDocument) -> str:
    nodes = document.nodes
    where = "1 node" if len(nodes) == 1 else f"{len(nodes)} nodes"
    counts = sorted({len(node.labels) for node in nodes})
    if not any(counts):
        return f"No label for {'this node' if len(nodes) == 1 else where}: nothing that one could say is known."
    words = (
        "1 label"
        if counts == [1]
        else f"{counts[0]} labels"
        if len(counts) == 1
        else f"{counts[0]} to {counts[-1]} labels"
    )
    on = f"on {clean(nodes[0].node)}" if len(nodes) == 1 else "on each of them"
    argument = f"$({ARGUMENTS})".replace(" ", UNBREAKABLE)
    step = f"Stop Ray {on}, then start it with the flags it had and {argument}"
    return f"{words} for {where}. {FIXED} {step}."
