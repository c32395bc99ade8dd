"""YAML as far as it goes: of a document that is cut off or damaged, what stands before the damage.

Scalars stay the words that they are: no number is too large, and no tag makes an object. Aliases are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

MOST_CHARACTERS = 8 << 20
"""Longer than any description of one machine."""


class Tree(NamedTuple):
    """Mappings, lists and words, and why they may not be all; None where they are."""

    value: Any
    damage: str | None


class _Open:
    """A collection that is not closed yet, and the key whose value comes next."""

    def __init__(self, held: Any) -> None:
        self.held = held
        self.key: str | None = None

    def take(self, value: Any) -> None:
        if isinstance(self.held, list):
            self.held.append(value)
        elif self.key is None:
            self.key = value if isinstance(value, str) else ""
        else:
            self.held.setdefault(self.key, value)
            self.key = None


def read(text: str) -> Tree:
    """The first document of a text."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    root = _Open([])
    stack = [root]
    damage = None
    try:
        for event in yaml.parse(text[:MOST_CHARACTERS], Loader=loader):
            if isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
                stack[-1].take(event.value if isinstance(event, yaml.ScalarEvent) else None)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                opened = _Open({} if isinstance(event, yaml.MappingStartEvent) else [])
                stack[-1].take(opened.held)
                stack.append(opened)
            elif isinstance(event, yaml.CollectionEndEvent):
                stack.pop()
            elif isinstance(event, yaml.DocumentEndEvent):
                break
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        damage = " ".join(str(getattr(error, "problem", None) or error).split())[:100]
    if damage is None and len(text) > MOST_CHARACTERS:
        damage = f"it is longer than {MOST_CHARACTERS >> 20} MiB"
    return Tree(root.held[0] if root.held else None, damage)
