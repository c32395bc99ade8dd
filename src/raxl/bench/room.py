"""Whether the nodes have the memory that a transfer's ends hold: an end that the kernel kills does not say why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from raxl.model.measurement import COLLECTIVES
from raxl.transfer import TARGET, Transfer, amounts

_MARGIN = 1.1
"""What processes need besides the data, as a share of it."""


def lacking(
    transfer: Transfer, nodes: Sequence[Mapping[str, Any]], way: str, looked: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """Which of the ends' nodes has less memory available than they need for a transfer; None where none is known to.

    Each end holds the data once, and twice where it sends and receives; of what stays within the target (`way`), that
    holds both.
    """
    is_both = transfer.is_bidirectional or transfer.pattern in COLLECTIVES
    ends = [nodes[-1]] * 2 if way == TARGET else [*nodes] * (2 if is_both else 1)
    copies = Counter(node["id"] for node in ends)
    names = {node["id"]: str(node["name"]) for node in nodes}
    for node_id, count in copies.items():
        why = short(count * transfer.size_bytes, names[node_id], looked.get(node_id, {}))
        if why is not None:
            return f"{why}: smaller --sizes, or a node with more memory"
    return None


def short(size_bytes: int, name: str, own: Mapping[str, Any]) -> str | None:
    """`needs 40 GiB of memory, and vm has 22 GiB`; None where the node has it, or does not say. `own`: what it says of
    itself (`raxl.transfer.state`)."""
    free = own.get("memory_available_bytes")
    if free is None or size_bytes * _MARGIN <= free:
        return None
    return f"needs {amounts.told(size_bytes * _MARGIN)} of memory, and {name} has {amounts.told(free)}"
