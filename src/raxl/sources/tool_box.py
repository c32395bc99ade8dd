"""Tables in boxes, as vendors' tools draw them: whether the text ends before the box is closed.

Of a table that was cut off, the last row or half of it is the last line: a border stands above it, and none beneath. A
copy without any border is no box, and nothing tells where it ends.

Standard library, Python 3.8: plug-ins read their tools' outputs on bare nodes.
"""

from __future__ import annotations

import re
from typing import Collection, List, Pattern, Sequence, Tuple

from raxl.model.problem import FAILED, Problem

ANY = re.compile(r"[+|][-=+|]{2,}[+|]")
"""A border of any kind."""
DOUBLE = re.compile(r"\+=[=+]+\+")
"""The border of tools that draw single ones within the rows of one card too."""


def framed(lines: Sequence[str], read: Collection[str], border: Pattern[str] = ANY) -> List[str]:
    """The lines that are read, each with the border right above and right beneath it."""
    kept = []
    for place, line in enumerate(lines):
        beside = lines[max(0, place - 1) : place + 2]
        if line in read or (border.fullmatch(line.strip()) and any(other in read for other in beside)):
            kept.append(line)
    return kept


def is_cut(lines: Sequence[str], rows: Collection[str], border: Pattern[str] = ANY) -> bool:
    """Whether a border stands above the last of the rows and none beneath it."""
    last = max((place for place, line in enumerate(lines) if line in rows), default=-1)
    borders = [place for place, line in enumerate(lines) if border.fullmatch(line.strip())]
    return bool(borders) and borders[0] < last > borders[-1]


def is_broken(row: str) -> bool:
    """Whether a row of a box ends before its last bar."""
    row = row.strip()
    return row.startswith("|") and not row.endswith("|")


def ended(tool: str, form: str) -> Problem:
    """That a table ends early."""
    message = f"{tool}'s table ends early: nothing closes it, and devices may be missing"
    return Problem("accelerators", FAILED, message, (form,))


def empty(tool: str, form: str, devices: str) -> Problem:
    """That a table has a head and no row. `devices`: what a row would be."""
    return Problem("accelerators", FAILED, f"{tool}'s table has a head and no {devices}", (form,))


def damage(
    tool: str, form: str, lines: Sequence[str], rows: Collection[str], border: Pattern[str] = ANY
) -> Tuple[Problem, ...]:
    """That the table ends inside its last row or right after it; nothing for one that is whole."""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return (ended(tool, form),) if is_cut(lines, rows, border) or (last in rows and is_broken(last)) else ()
