"""What the subjects of a difference are called: `GPU 0–7`, `gpu-01–24`, `GPU 6 ↔ GPU 0–5`."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model import difference as kinds
from raxl.model.difference import Difference
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render.naming import Names, kind_name
from raxl.render.quantity import name_ranges

WHOLE = ("accelerators", "nics", "switches", "nodes", "ray.node")
"""Fields of a difference that is about a thing as a whole."""
_MOST_ADDRESSES = 2
_MOST_ONE_BY_ONE = 4
_WAS, _IS = 0, 1


class Subjects:
    """The names of nodes and devices, on the side that has them."""

    def __init__(self, before: Inventory, after: Inventory) -> None:
        self.several = max(len(before.nodes), len(after.nodes)) > 1
        self._sides = [{node.name: node for node in inventory.nodes} for inventory in (before, after)]
        self._names: dict[tuple[int, str], Names] = {}

    def nodes(self, one: Difference) -> str:
        """`gpu-01–24`; nothing where there is one node alone, unless it is what differs."""
        told = list(dict.fromkeys(subject.node for subject in one.subjects))
        of_node = {"nodes", "ray.node"} & set(one.fields) and one.kind != kinds.MOVED
        return name_ranges(map(clean, told)) if told and (self.several or of_node) else ""

    def devices(self, one: Difference) -> str:
        """`GPU 0–7`, `GPU 6 ↔ GPU 0–5`, `GPU 0–7, every pair`; nothing for a node itself."""
        whole = bool(set(one.fields) & set(WHOLE))
        side = _WAS if one.kind == kinds.GONE or (one.kind == kinds.UNKNOWN and whole) else _IS
        first = [subject for subject in one.subjects if subject.node == one.subjects[0].node]
        ids = [subject.id for subject in first if subject.id is not None]
        peers = [subject.peer for subject in first if subject.peer is not None]
        names = {id: self._name(first[0].node, id, side) for id in (*ids, *peers)}
        if every := self._every(first[0].node, set(names), side):
            return f"{every}, every pair" if peers else every
        if peers:
            return _pairs([(names[str(subject.id)], names[str(subject.peer)]) for subject in first])
        return name_ranges(names.values())

    def before(self, one: Difference) -> str:
        """What the devices were called: `GPU 4–7`; one by one where the order is another."""
        node = one.subjects[0].node
        first = [subject for subject in one.subjects if subject.node == node]
        was = [self._name(node, str(subject.was), _WAS) for subject in first]
        now = [self._name(node, str(subject.id), _IS) for subject in first]
        order = sorted(range(len(first)), key=lambda place: (len(now[place]), now[place]))
        told = [was[place] for place in order]
        if told == sorted(told, key=lambda name: (len(name), name)):
            return name_ranges(told)
        return ", ".join(told) if len(told) <= _MOST_ONE_BY_ONE else f"{name_ranges(told)} in another order"

    def _every(self, node: str, ids: set[str], side: int) -> str | None:
        """`every GPU`, where these are all that the node has, and have no numbers to tell them by."""
        found = self._node(node, side).accelerators
        unnumbered = len(found) > _MOST_ADDRESSES and all(one.index is None for one in found)
        if not unnumbered or ids != {one.id for one in found}:
            return None
        kinds_found = {kind_name(one) for one in found}
        return f"every {kinds_found.pop()}" if len(kinds_found) == 1 else "every accelerator"

    def _name(self, node: str, id: str, side: int) -> str:
        if (side, node) not in self._names:
            self._names[side, node] = Names(self._node(node, side))
        return self._names[side, node].of(id)

    def _node(self, name: str, side: int) -> Node:
        nodes = self._sides[side]
        only = next(iter(nodes.values()), None) if not self.several else None
        return only or nodes.get(name) or Node(name, "")


def _pairs(pairs: Sequence[tuple[str, str]]) -> str:
    """`GPU 6 ↔ GPU 0–5`: by the end that all have in common."""
    common = set(pairs[0]).intersection(*pairs)
    every = list(dict.fromkeys(name for pair in pairs for name in pair))
    if common:
        end = next(name for name in pairs[0] if name in common)
        return f"{end} ↔ {name_ranges(name for name in every if name != end)}"
    if len(pairs) == len(every) * (len(every) - 1) // 2:
        return f"{name_ranges(every)}, every pair"
    return f"{len(pairs)} pairs of {name_ranges(every)}"
