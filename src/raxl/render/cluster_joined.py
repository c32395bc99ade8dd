"""How the accelerators of many nodes are joined: a line for all that are joined alike, which says whose it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from raxl.model.link import PCIE_CLASSES
from raxl.model.node import Node
from raxl.render.cluster_groups import holds
from raxl.render.device_facts import nic_facts
from raxl.render.fabric_facts import Fact, fabric_facts
from raxl.render.naming import Names, counted
from raxl.render.node_names import nodes_called
from raxl.render.text import Style

if TYPE_CHECKING:
    from raxl.topology.groups import Group
    from raxl.topology.overview import Overview

JoinedFact = tuple[str, str, Style]
"""What it is about, what is so, and how it is printed."""
_MOST_FACTS = 8
_MOST_KINDS = 24
"""Of so many groups, the exceptions and the largest, it is told how they are joined."""
_MOST_EXCEPTIONS = 8
_VIRTUAL = " (virtual PCI tree)"
_BY_PATH = re.compile(rf"\b({'|'.join(PCIE_CLASSES)})\b")
"""A fact that rests on the distances of the PCI tree."""


def joined(view: Overview) -> list[JoinedFact]:
    """The facts by what they are about, in each those of exceptions first."""
    found = [group for group in view.groups if group.shape.devices]
    told: dict[Fact, list[Group]] = {}
    chosen = _chosen(found)
    for group in chosen:
        for fact in dict.fromkeys(_facts(group.nodes[0])):
            told.setdefault(fact, []).append(group)
    labels = list(dict.fromkeys(label for label, _ in told))
    called = _Called(view.read, found, chosen)
    order = sorted(told.items(), key=lambda one: (labels.index(one[0][0]), not _is_of_exceptions(one[1])))
    odd = {label for (label, _), alike in order if _is_of_exceptions(alike)}
    facts: list[JoinedFact] = [
        (label, called.whose(alike, beside_exceptions=label in odd) + text, "") for (label, text), alike in order
    ]
    if len(facts) > _MOST_FACTS:
        more = len(facts) - _MOST_FACTS + 1
        return [*facts[: _MOST_FACTS - 1], ("…", f"{more} more (--expand shows each node)", "dim")]
    return facts


def _chosen(found: Sequence[Group]) -> list[Group]:
    odd = [group for group in found if group.is_exception][:_MOST_EXCEPTIONS]
    sound = sorted((group for group in found if not group.is_exception), key=lambda group: -len(group.nodes))
    return [*sound[: _MOST_KINDS - len(odd)], *odd]


def _facts(node: Node) -> list[Fact]:
    names = Names(node)
    told = [*fabric_facts(node, names), *nic_facts(node, names)]
    if node.path_trust != "virtual":
        return told
    return [(label, text + (_VIRTUAL if _BY_PATH.search(text) else "")) for label, text in told]


def _is_of_exceptions(groups: Sequence[Group]) -> bool:
    return all(group.is_exception for group in groups)


class _Called:
    """Whose a fact is: no word where it is that of all nodes, what they hold where that tells them, or names."""

    def __init__(self, nodes: Sequence[Node], groups: Sequence[Group], chosen: Sequence[Group]) -> None:
        self._place = {id(node): place for place, node in enumerate(nodes)}
        self._every = {id(group) for group in groups}
        # Of exceptions that are not looked at nobody knows whether they are joined in the same way.
        self._sound = (self._every - {id(group) for group in chosen if group.is_exception}) or self._every
        self._of_kind: dict[str, set[int]] = {}
        for group in groups:
            self._of_kind.setdefault(holds(group.nodes[0]), set()).add(id(group))

    def whose(self, groups: Sequence[Group], *, beside_exceptions: bool) -> str:
        own = {id(group) for group in groups}
        if own >= self._every:
            return ""
        if own >= self._sound and beside_exceptions and not _is_of_exceptions(groups):
            return "others: "
        kinds = list(dict.fromkeys(holds(group.nodes[0]) for group in groups))
        if not _is_of_exceptions(groups) and all(self._is_told(kind, own) for kind in kinds):
            return kinds[0] + (f" and {counted(len(kinds) - 1, 'other kind')}" if len(kinds) > 1 else "") + ": "
        nodes = sorted((node for group in groups for node in group.nodes), key=lambda node: self._place[id(node)])
        return f"{nodes_called([node.name for node in nodes])}: "

    def _is_told(self, kind: str, own: set[int]) -> bool:
        """Whether all nodes that hold this have the fact, exceptions aside, which are told before it."""
        return own >= self._of_kind[kind] & self._sound
