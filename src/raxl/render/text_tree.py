"""`raxl topo`: each node as a tree of places, then how its devices are joined and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.render.columns import Row, lay_out
from raxl.render.device_facts import faults, nic_facts, partition_facts, ray_facts
from raxl.render.fabric_facts import fabric_facts
from raxl.render.naming import Names
from raxl.render.node_heading import heading, numa_title, resources
from raxl.render.quantity import number_ranges
from raxl.render.sentence import devices_known, none_found, of_all, unread
from raxl.render.text import Line, Page, Style, display_width, parted
from raxl.render.tree_fold import Fold
from raxl.render.tree_rows import COLUMNS, leaves, rows
from raxl.render.tree_shape import Branch, NumaKey, grow
from raxl.render.unknown import ACCELERATORS, Unknowns, explained


def tree(inventory: Inventory, width: int, expand: bool = False, *, unicode: bool = True) -> list[Line]:
    """The tree of each node, branches of one shape once unless `expand`; the last line is a sentence."""
    page = Page(width, unicode)
    blocks = [block for node in inventory.nodes for block in _node(page, node, expand)]
    if len(inventory.nodes) != 1:
        blocks.append(page.fold(of_all(inventory.nodes)))
    return parted(blocks)


def _node(page: Page, node: Node, expand: bool) -> list[list[Line]]:
    if unread(node):
        return [heading(page, node), page.fold(none_found([node]))]
    names = Names(node)
    unknowns = Unknowns(node, names)
    gaps, unasked = unknowns.gaps(), unknowns.unasked()
    # The sentence tells a single gap with its reason, and saying it twice would not be calm; of accelerators that could
    # not be listed it tells nothing.
    unlisted = not node.accelerators and any(problem.subject == ACCELERATORS for problem in node.problems)
    reasons = explained(page, gaps if len(gaps) > 1 or unlisted else [], unasked)
    sentence = devices_known(node, gaps, unasked) if node.accelerators else none_found([node])
    return [
        heading(page, node),
        _places(page, node, names, unknowns, expand),
        _facts(page, node, names, unknowns),
        reasons,
        page.fold(sentence),
    ]


def _places(page: Page, node: Node, names: Names, unknowns: Unknowns, expand: bool) -> list[Line]:
    grown = grow(node)
    found = leaves(node, names, unknowns, expand)
    listed = {numa.id: numa for numa in node.numa_nodes}
    fold = Fold(names, {id: leaf.alike for id, leaf in found.items()})
    bare = [numa.id for numa in node.numa_nodes if numa.cpus == "" and (numa.id,) not in grown and not numa.accelerator]
    made: list[Row] = []
    for numa in _ordered({*grown, *((id,) for id in listed if id not in bare)}):
        branches: Sequence[Branch] = grown.get(numa, [])
        if listed or list(grown) != [()]:
            made.append([(numa_title(numa, listed, names), "")])
        made += rows(branches if expand else fold.fold(branches), found, names)
    alike: dict[str, list[int]] = {}
    for id in bare:
        alike.setdefault(resources(listed[id], names), []).append(id)
    made += [[(f"NUMA {number_ranges(ids)}  {text}", "dim")] for text, ids in alike.items()]
    return lay_out(page, COLUMNS, made, titled=False)


def _ordered(numas: set[NumaKey]) -> list[NumaKey]:
    """By number; sets of several after single ones, and what is not known last."""
    return sorted(numas, key=lambda numa: (not numa, len(numa), numa))


def _facts(page: Page, node: Node, names: Names, unknowns: Unknowns) -> list[Line]:
    plain = [*fabric_facts(node, names), *nic_facts(node, names), *partition_facts(node, names)]
    none: Style = ""
    told = [*faults(node, names, unknowns), *((fact, none) for fact in plain), *ray_facts(node)]
    if not told:
        return []
    margin = max(display_width(page.spell(label)) for (label, _), _ in told) + 2
    lines: list[Line] = []
    previous = ""
    for (label, text), style in told:
        shown = page.spell("" if label == previous else label)
        lead = shown + " " * (margin - display_width(shown))
        lines += page.fold(text, margin, lead=(lead, style))
        previous = label
    return lines
