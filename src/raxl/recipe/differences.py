"""Files of a plan held against those in force, as unified diffs."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping

from raxl.model.plan import CHANGED, NEW, REMOVED, SAME, PlannedFile
from raxl.model.printable import clean
from raxl.recipe.generations import StandingFile, State

_NOTHING = "/dev/null"
_ADDED = "somebody put it there\n"


def planned(after: Mapping[str, str], state: State) -> tuple[PlannedFile, ...]:
    """Each file that would be written, stays or goes; where somebody changed one since it was applied, what he
    changed."""
    there = {one.path: one for one in state.files}
    others = [path for path in there if path not in after]
    return (
        *(_planned(path, after.get(path), there.get(path)) for path in (*after, *others)),
        *(PlannedFile(path, REMOVED, edited_diff=_ADDED) for path in state.added),
    )


def unified(before: str | None, after: str | None, path: str) -> str:
    """What turns one text into the other; empty where they are the same. None is a file that is not there."""
    head = (_NOTHING if before is None else path), (_NOTHING if after is None else path)
    lines = difflib.unified_diff(_lines(before), _lines(after), *head)
    return "".join(_written(line) for line in lines)


def sha256(text: str) -> str:
    """The hash by which receipts know a file."""
    return hashlib.sha256(text.encode()).hexdigest()


def _planned(path: str, after: str | None, there: StandingFile | None) -> PlannedFile:
    before, was = (there.now, there.now_sha256) if there else (None, None)
    will = None if after is None else sha256(after)
    status = SAME if was == will else NEW if was is None else REMOVED if will is None else CHANGED
    edited = unified(there.applied, there.now, path) if there and there.edited else ""
    return PlannedFile(path, status, after or "", was, will, unified(before, after, path), edited)


def _lines(text: str | None) -> list[str]:
    """Each line with its end: no other character ends one."""
    if not text:
        return []
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _written(line: str) -> str:
    """A line of the diff, harmless: what somebody wrote into a file does not act."""
    if line.endswith("\n"):
        return f"{clean(line[:-1])}\n"
    return f"{clean(line)}\n\\ No newline at end of file\n"
