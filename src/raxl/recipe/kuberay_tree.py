"""A YAML document as plain values, and the line on which each of them stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

Path = tuple[Union[str, int], ...]


@dataclass(frozen=True)
class Tree:
    """One document of a file."""

    value: Any
    lines: Mapping[Path, int] = field(default_factory=dict)
    """By path, from 1 on: of a mapping's entry the line of its key."""
    twice: tuple[Path, ...] = ()
    """Keys that a mapping has more than once. The first one is kept."""

    def line(self, path: Path) -> int | None:
        """The line of what is at the path, or of the innermost thing around it that is there."""
        for length in range(len(path), -1, -1):
            if (line := self.lines.get(path[:length])) is not None:
                return line
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def entries(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def at(value: Any, path: Path) -> Any:
    """What is at the path, or None."""
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything that holds nothing else, with its path: scalars, empty mappings and lists."""
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list) and value:
        for place, part in enumerate(value):
            yield from leaves(part, (*path, place))
    else:
        yield path, value


def spelled(path: Path) -> str:
    """`template.spec.containers[0].image`; a key with a dot or a slash in it stands in brackets."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif "." in step or "/" in step:
            text += f"['{step}']"
        else:
            text += f".{step}" if text else step
    return text
