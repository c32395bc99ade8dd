"""Names made into label values: what Kubernetes and Ray take, and no two of them alike.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from raxl.model.label import Label, NodeLabels

LONGEST = 63
_FOREIGN = re.compile(r"[^A-Za-z0-9._-]+")
_HASH = 8


def made_valid(fact: str) -> str:
    """`fact` as a label value: `H100 80GB HBM3` is `H100-80GB-HBM3`.

    Whatever is not allowed becomes `-`, and none of `-_.` stays at an end. A value that is too long is cut and ends in
    a hash of the whole; where no letter or digit is left, the hash stands alone. Two facts may still give one value:
    `parted` then tells them apart.
    """
    value = _FOREIGN.sub("-", fact).strip("-_.")
    if not value:
        return f"x{_hash(fact)}"
    return value if len(value) <= LONGEST else _hashed(value, fact)


def parted(nodes: Sequence[NodeLabels]) -> tuple[NodeLabels, ...]:
    """The same nodes, where two facts of one key gave one value: each ends in its hash, but for one that needed no
    change. So a value depends on the rest of the cluster only where it must."""
    facts: dict[tuple[str, str], set[str]] = {}
    for node in nodes:
        for label in node.labels:
            facts.setdefault((label.key, label.value), set()).add(label.fact)
    alike = {place for place, told in facts.items() if len(told) > 1}
    if not alike:
        return tuple(nodes)
    return tuple(
        replace(
            node, labels=tuple(_parted(label) if (label.key, label.value) in alike else label for label in node.labels)
        )
        for node in nodes
    )


def _parted(label: Label) -> Label:
    if label.value == label.fact:
        return label
    return replace(label, value=_hashed(label.value, label.fact))


def _hashed(value: str, fact: str) -> str:
    return f"{value[: LONGEST - _HASH - 1].rstrip('-_.')}-{_hash(fact)}"


def _hash(fact: str) -> str:
    return hashlib.sha256(fact.encode("utf-8", "replace")).hexdigest()[:_HASH]
