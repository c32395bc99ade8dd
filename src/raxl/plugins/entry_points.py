"""`entry_points.txt` of an installed package, whatever stands in it.

https://packaging.python.org/en/latest/specifications/entry-points/
"""

from __future__ import annotations

import re
from typing import Collection, NamedTuple

_LONGEST_SHOWN = 60
_VALUE = re.compile(r"([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?")


class Point(NamedTuple):
    """One entry point."""

    group: str
    name: str
    value: str
    """`module:Class`, without extras."""


class Points(NamedTuple):
    """What a file holds, and what is wrong with it; empty for nothing."""

    found: tuple[Point, ...]
    wrong: str


def read(text: str, groups: Collection[str]) -> Points:
    """The entry points of these groups. A line that is none is wrong in any group, a value only in these."""
    found, wrong = [], []
    group: str | None = None
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith(("#", ";")):
            continue
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
            continue
        name, is_point, value = map(str.strip, line.partition("="))
        named = _VALUE.fullmatch(value)
        if group is None or not is_point or not name or (group in groups and not named):
            wrong.append(f"line {number} is no entry point: {line[:_LONGEST_SHOWN]!r}")
        elif group in groups and named:
            found.append(Point(group, name, f"{named[1]}:{named[2]}"))
    return Points(tuple(found), wrong[0] + (f" and {len(wrong) - 1} more" if wrong[1:] else "") if wrong else "")
