"""What differs between two readings: which nodes of them are meant, and the document that tells it."""

from __future__ import annotations

from collections.abc import Sequence

from raxl import __version__
from raxl.errors import UsageError
from raxl.model import difference as kinds
from raxl.model import printable
from raxl.model.difference import DifferencesDocument, Side, Summary
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.schemas import DIFF
from raxl.topology import diff, matching

_MOST_NAMES = 8


def picked(inventory: Inventory, name: str) -> Inventory:
    """The node of that name alone. Raises UsageError where there is none."""
    found = next((node for node in inventory.nodes if node.name == name), None)
    if found is None:
        raise UsageError(f"no node is called {name}", f"there are {_names(inventory.nodes)}")
    return diff.alone(inventory, found)


def beside(inventory: Inventory, named: Inventory, operand: str) -> Inventory:
    """Of several nodes the one that the named one is, by boot, name or devices. Raises UsageError where none is."""
    if len(inventory.nodes) < 2:
        return inventory
    pairs = matching.nodes(inventory.nodes, named.nodes).pairs
    if not pairs:
        name = named.nodes[0].name
        raise UsageError(f"{operand} does not hold {name}", f"it holds {_names(inventory.nodes)}")
    return diff.alone(inventory, pairs[0][0])


def document(
    operands: tuple[str, str], before: Inventory, after: Inventory, *, by_shape: bool, everything: bool
) -> DifferencesDocument:
    """What differs, with what was compared and how."""
    found = diff.compared(before, after, by_shape=by_shape, everything=everything)
    counts = dict.fromkeys(kinds.SEVERITIES, 0)
    for one in found.differences:
        counts[one.severity] += 1
    sides = [
        Side(operand, inventory.created, tuple(node.name for node in inventory.nodes))
        for operand, inventory in zip(operands, (before, after), strict=True)
    ]
    told = DifferencesDocument(
        schema=DIFF,
        raxl_version=__version__,
        created=max(before.created, after.created),
        a=sides[0],
        b=sides[1],
        matched_by="shape" if found.by_shape else "identity",
        everything=everything,
        summary=Summary(counts[kinds.FAULT], counts[kinds.CHANGE], counts[kinds.NEW]),
        differences=found.differences,
    )
    return printable.record(told)  # type: ignore[no-any-return]


def _names(nodes: Sequence[Node]) -> str:
    names = [node.name for node in nodes[:_MOST_NAMES]]
    more = [f"{len(nodes) - len(names)} more"] if len(nodes) > len(names) else []
    return ", ".join([*names, *more]) or "none"
