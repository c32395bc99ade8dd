"""What a plan says of the files in which NCCL, or RCCL, looks for variables below the environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.model.plan import KEPT, READ, UNREAD, Plan, SetIn, Setting, VariableFile
from raxl.model.printable import clean
from raxl.render.margin import beside
from raxl.render.quantity import listed
from raxl.render.text import Line, Page

_MARGIN = 4
_OWN = ("NCCL_", "RCCL_")


def left_over(page: Page, told: Sequence[Setting]) -> list[Line]:
    """What such a file keeps in force though the recipe unsets it, and the line to remove."""
    lines: list[Line] = []
    for one in told:
        for place in stays(one):
            text = (
                f"{one.name} stays {place.value}: the recipe takes it from the environment alone, and {place.where} "
                f"sets it too. raxl does not edit that file; remove its line {one.name}={place.value}"
            )
            lines += beside(page, clean(text), _MARGIN, "warn", ("  ! ", "warn"))
    return lines


def variable_files(page: Page, plan: Plan) -> list[Line]:
    """Which of them could not be read; and, where there is one, in which order they count. Nothing where no such
    variable is spoken of."""
    if not any(one.kind in ("env", "unset") and one.name.startswith(_OWN) for one in plan.settings):
        return []
    lines: list[Line] = []
    for text in _unread(plan.variable_files):
        lines += beside(page, clean(text), _MARGIN, "warn", ("  ? ", "warn"))
    if any(one.status == READ for one in plan.variable_files):
        lines += beside(page, clean(_order(plan.variable_files)), _MARGIN, "dim")
    return lines


def stays(one: Setting) -> list[SetIn]:
    """Where a variable that the recipe unsets is set all the same once the plan is applied."""
    if one.kind != "unset" or one.status == KEPT:
        return []
    return [place for place in one.set_in if place.stays and place.is_file]


def overridden(one: Setting) -> str:
    """Over which files its value wins: `wins over ^docker0,lo in /etc/nccl.conf`; empty where that is none."""
    if one.kind != "env":
        return ""
    kept = next((place for place in one.set_in if place.stays), None)
    told = [f"{place.value} in {place.where}" for place in one.set_in if place.is_file and place is not kept]
    return f"wins over {listed(told)}" if told else ""


def _unread(files: Sequence[VariableFile]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for one in files:
        if one.status == UNREAD:
            by_reason.setdefault(one.message, []).append(one.path)
    for why, paths in by_reason.items():
        yield f"which variables {listed(paths)} {'sets' if len(paths) == 1 else 'set'} is not known: {why}"


def _order(files: Sequence[VariableFile]) -> str:
    steps = [f"then {one.path} ({_holds(one)})" for one in files]
    return f"The environment counts first, {', '.join(steps)}; what is written here goes into the environment."


def _holds(one: VariableFile) -> str:
    if one.status != READ:
        return "not known" if one.status == UNREAD else "not there"
    return f"{len(one.variables)} variable{'' if len(one.variables) == 1 else 's'}"
