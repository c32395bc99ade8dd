"""Weight-sync: on which nodes the trainers and the inference actors are, and whether these have the memory for it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from raxl.bench import room
from raxl.transfer import Transfer
from raxl.transfer.dealing import deal


class Cast(NamedTuple):
    """The node of each actor."""

    trainers: tuple[Mapping[str, Any], ...]
    readers: tuple[Mapping[str, Any], ...]


def cast(nodes: Sequence[Mapping[str, Any]], trainers: int, readers: int) -> Cast:
    """The trainers on the first nodes, the readers on the last, in turn; all on the only one.

    No node has both kinds. As many nodes are used as there are actors for; where they are fewer, either kind gets the
    half of them, and what the other one does not need.
    """
    if len(nodes) == 1:
        return Cast((nodes[0],) * trainers, (nodes[0],) * readers)
    last = min(readers, max(len(nodes) // 2, len(nodes) - trainers))
    first = min(trainers, len(nodes) - last)
    return Cast(
        tuple(nodes[number % first] for number in range(trainers)),
        tuple(nodes[len(nodes) - last + number % last] for number in range(readers)),
    )


def ordered(nodes: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """By name, numbers by their value: Ray gives them in no order."""

    def place(node: Mapping[str, Any]) -> list[tuple[int, str]]:
        words = re.split(r"([0-9]{1,18})", str(node["name"]))
        return [(int(word), "") if place % 2 else (0, word) for place, word in enumerate(words)]

    return sorted(nodes, key=place)


def lacking(found: Cast, transfer: Transfer, looked: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Which node has less memory than its actors hold; None where none is known to."""
    needed: dict[str, int] = {}
    names = {node["id"]: node["name"] for node in (*found.trainers, *found.readers)}
    for node, hand in zip(found.trainers, deal(transfer.sizes, len(found.trainers))):
        needed[node["id"]] = needed.get(node["id"], 0) + sum(transfer.sizes[place] for place in hand)
    for node in found.readers:
        needed[node["id"]] = needed.get(node["id"], 0) + transfer.size_bytes
    for node_id, size in needed.items():
        why = room.short(size, str(names[node_id]), looked.get(node_id, {}))
        if why is not None:
            return f"{why}: fewer tensors or actors"
    return None
