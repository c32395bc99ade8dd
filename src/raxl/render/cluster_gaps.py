"""What is not known of many nodes: one line a cause, with the nodes that it concerns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raxl.model.node import Node
from raxl.model.problem import REASONS
from raxl.render.naming import Names
from raxl.render.node_names import nodes_called
from raxl.render.unknown import Gap, Unknowns, ray_advice

_Shown = Callable[[str, str], bool]


def folded(nodes: Sequence[Node], shown: _Shown | None = None) -> tuple[list[Gap], Gap | None]:
    """The gaps of all nodes, the most telling and the widest first, and what nobody asked of any of them.

    `shown` chooses by family and field.
    """
    causes: dict[Gap, list[str]] = {}
    unasked: dict[Gap, list[str]] = {}
    for alike in _of_same_problems(nodes):
        names = [node.name for node in alike]
        unknowns = Unknowns(alike[0], Names(alike[0]))
        for gap in unknowns.gaps(shown) if shown else unknowns.gaps():
            causes.setdefault(gap, []).extend(names)
        if missing := unknowns.unasked():
            unasked.setdefault(missing, []).extend(names)
    order = sorted(causes, key=lambda gap: (REASONS.index(gap.reason), -len(causes[gap])))
    told = [gap._replace(what=f"{_called(causes[gap], nodes)}: {gap.what}") for gap in order]
    first = max(unasked, key=lambda gap: len(unasked[gap]), default=None)
    return told, first


def advice(nodes: Sequence[Node]) -> list[str]:
    """What Ray would make of nodes where that is not what is there, and what corrects it: a sentence for each."""
    told: dict[str, list[str]] = {}
    for node in nodes:
        for words in ray_advice(node):
            told.setdefault(words, []).append(node.name)
    return [f"{_called(names, nodes)}: {words}" for words, names in sorted(told.items(), key=lambda one: -len(one[1]))]


def _called(names: Sequence[str], nodes: Sequence[Node]) -> str:
    if len(names) == len(nodes) > 1:
        return "both nodes" if len(nodes) == 2 else f"all {len(nodes)} nodes"
    return nodes_called(names)


def _of_same_problems(nodes: Sequence[Node]) -> list[list[Node]]:
    """Nodes that have the same problems with the same devices: their gaps are the same."""
    found: dict[object, list[Node]] = {}
    for node in nodes:
        devices = tuple((device.id, device.kind) for device in node.accelerators)
        key = (node.problems, devices, tuple(nic.id for nic in node.nics), tuple(one.id for one in node.switches))
        found.setdefault(key, []).append(node)
    return list(found.values())
