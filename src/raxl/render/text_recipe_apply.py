"""`raxl recipe apply` and `rollback`: what is in force now, what was taken back, and what somebody changed by hand.

The files themselves are told before anybody is asked: by the plan, and by what a rollback makes of them.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from raxl.model.plan import CHANGED, NEW, REMOVED, SAME, PlannedFile
from raxl.model.printable import clean
from raxl.model.receipt import Receipt, ReceiptFile
from raxl.render.text import Line, Page, Style, parted

_ORDER = (CHANGED, REMOVED, NEW, SAME)
_STYLES: dict[str, Style] = {"+": "", "-": "warn"}


def applied(receipt: Receipt, next_steps: Sequence[str], width: int, *, unicode: bool = True) -> list[Line]:
    """What is in force now, and what to type next: that is neither cut nor folded."""
    page = Page(width, unicode)
    steps: list[Line] = [
        [("" if number else "then", "dim"), (" " * (13 if number else 9), ""), (page.spell(step), "")]
        for number, step in enumerate(next_steps)
    ]
    return parted([steps, page.fold(_sentence(receipt))])


def unchanged(receipt: Receipt | None, root: str, width: int, *, unicode: bool = True) -> list[Line]:
    """Where there was nothing to apply."""
    page = Page(width, unicode)
    if receipt is None:
        return page.fold(f"Nothing to change: the recipe sets nothing, and nothing is in force below {root}.")
    return page.fold(f"Nothing to change: {receipt.recipe} is in force below {root} since {receipt.applied}.")


def taken_back(
    receipt: Receipt | None, root: str, foreign: Sequence[str], width: int, *, unicode: bool = True
) -> list[Line]:
    """What was taken back, what is in force instead, and what stays because it is not raxl's."""
    page = Page(width, unicode)
    stays: list[Line] = []
    if foreign:
        stays = page.fold(f"not raxl's, and left alone below {root}: {', '.join(foreign)}", hang=2, style="dim")
    if receipt is None:
        return parted([stays, page.fold(f"Nothing is in force below {root}: there is nothing to take back.")])
    now = "what was in force before it is again" if receipt.previous else "nothing is in force any more"
    told = f"{receipt.recipe}, applied {receipt.applied}, is taken back: {now} below {root}."
    return parted([stays, page.fold(told)])


def taking_back(files: Sequence[PlannedFile], width: int, *, unicode: bool = True) -> list[Line]:
    """What a rollback makes of each file; of one that somebody changed, also what he changed: as it was applied, as it
    is now, and as it was before."""
    page = Page(width, unicode)
    going = [clean(one.path) for one in files if one.status == REMOVED and one.before_sha256 is not None]
    blocks = [_taken_back(page, one) for one in files if one.edited_diff or one.status != SAME]
    return parted([*blocks, page.fold(f"to be removed: {', '.join(going)}", hang=2) if going else []])


def _taken_back(page: Page, one: PlannedFile) -> list[Line]:
    name = clean(one.path)
    if one.status == REMOVED and one.before_sha256 is None:
        return page.fold(f"{name}: somebody put it there, and it stays", style="warn")
    if one.edited_diff:
        lines = page.fold(f"{name} was changed by hand: as applied → as it is now", style="warn")
        lines += _verbatim(page, one.edited_diff)
    else:
        lines = []
    if one.status not in (SAME, REMOVED):
        lines += [*page.fold(f"{name}: as it is now → as it was before"), *_verbatim(page, one.diff)]
    return lines


def _verbatim(page: Page, diff: str) -> list[Line]:
    """Every byte of a diff, without the two lines that name its files: neither cut nor folded."""
    lines = diff.removesuffix("\n").split("\n")
    lines = lines[2:] if lines[0].startswith("--- ") else lines
    shown = [clean(line) for line in lines]
    if not page.unicode:
        shown = [line.encode("ascii", "backslashreplace").decode() for line in shown]
    return [[(line, _STYLES.get(line[:1], "dim"))] for line in shown]


def _status(one: ReceiptFile) -> str:
    if one.after_sha256 is None:
        return REMOVED
    if one.before_sha256 is None:
        return NEW
    return SAME if one.before_sha256 == one.after_sha256 else CHANGED


def _sentence(receipt: Receipt) -> str:
    counts = {status: sum(_status(one) == status for one in receipt.files) for status in _ORDER}
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    files = f" (files: {told})" if told else ""
    undo = f"raxl recipe rollback --root {shlex.quote(receipt.root)} takes it back"
    return f"{receipt.recipe} is in force below {receipt.root}{files}; {undo}."
