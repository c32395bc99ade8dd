"""What a plan says in words: conditions and their values, and how it all ends."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from raxl.model.plan import (
    BLOCKED,
    CHANGED,
    EDITED,
    INCOMPLETE,
    MET,
    NEEDS_CODE,
    NEW,
    NOTHING,
    READY,
    REMOVED,
    UNMET,
    UNREAD,
    HeldCondition,
    Plan,
    PlanDocument,
    Precondition,
)
from raxl.model.printable import clean
from raxl.model.recipe import BLOCK, Value
from raxl.render.quantity import binary_size, bit_rate, listed
from raxl.render.text import UNBREAKABLE

_SIGNS = {"==": "is", "!=": "is not", ">=": "≥", "<=": "≤", ">": ">", "<": "<", "in": "is one of", "matches": "is like"}
_SIGNS_ASCII = {"≥": ">=", "≤": "<="}
_NOT_MET = {"==": "not", "!=": "which it is not to be", ">=": "<", "<=": ">", ">": "≤", "<": "≥"}
_NOT_MET_OF_MANY = {"in": "none of", "matches": "not like"}
_OWN = "raxl"
"""The origin of recipes that raxl ships."""
NOT_YET = "nothing can be applied yet"


def signs(text: str, unicode: bool) -> str:
    """The text with `>=` for a sign that cannot be shown."""
    if unicode:
        return text
    for sign, plain in _SIGNS_ASCII.items():
        text = text.replace(sign, plain)
    return text


def value_of(fact: str, value: Value) -> str:
    """A value in the unit that its fact has: `64.0 MiB`, `400 Gb/s`, `H100, H200`."""
    if isinstance(value, tuple):
        return ", ".join(value_of(fact, one) for one in value)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        if fact.endswith("_bytes"):
            return binary_size(int(value))
        if fact.endswith("bits_per_second"):
            return bit_rate(value)
        return f"{value:g}" if isinstance(value, float) else str(value)
    return clean(value)


def holds(one: HeldCondition, name: str = "") -> str:
    """`accelerators.count is 8`, `software.nvidia-driver 570.133.20 ≥ 570`: what a condition that is met found; `name`
    stands for the fact."""
    subject = name or one.fact
    if one.op == "present":
        found = "" if one.found is None or one.found is True else f": {value_of(one.fact, one.found)}"
        return f"{subject} is there{found}"
    if one.op == "absent":
        return f"{subject} is not there"
    if one.found is None:  # it was found otherwise on each of several nodes
        return f"{subject} {_SIGNS[one.op]} {value_of(one.fact, one.value)}"
    found = value_of(one.fact, one.found)
    if one.op in ("==", "in", "matches", "!="):
        return f"{subject} {found}" if name else f"{subject} is {found}"
    return f"{subject} {found} {_SIGNS[one.op]} {value_of(one.fact, one.value)}"


def statement(one: HeldCondition) -> str:
    """A condition in words: what was found, and what was to be."""
    if one.status == MET:
        return holds(one)
    wanted = value_of(one.fact, one.value)
    if one.status == UNREAD:
        told = one.op if one.op in ("present", "absent") else f"{_SIGNS[one.op]} {wanted}"
        return f"{one.fact} is not known, and is to be {told.removeprefix('is ')}: {one.message or 'nobody read it'}"
    if one.op in ("present", "absent"):
        message = f": {one.message}" if one.message and one.op == "present" else ""
        return f"{one.fact} is {'not there' if one.op == 'present' else 'there'}{message}"
    if one.found is None:
        return f"{one.fact} is to be {_SIGNS[one.op].removeprefix('is ')} {wanted}: {one.message or 'there is none'}"
    found = value_of(one.fact, one.found)
    if found == wanted and one.op in _NOT_MET:
        found, wanted = str(one.found), str(one.value)
    if one.op in ("==", "!="):
        more = f", not {wanted}" if one.op == "==" else ", which it is not to be"
        return f"{one.fact} is {found}{more}"
    return f"{one.fact} {found} {_NOT_MET.get(one.op) or _NOT_MET_OF_MANY[one.op]} {wanted}"


def plain(value: Value) -> str:
    """A value as a file would hold it."""
    if isinstance(value, tuple):
        return ",".join(map(plain, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def counted(number: int, one: str, many: str = "") -> str:
    """`1 file`, `3 files`."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def failed(plan: Plan, status: str = UNMET) -> list[Precondition]:
    """Its requirements that block and have this status."""
    return [one for one in plan.preconditions if one.level == BLOCK and one.held.status == status]


def changes(plan: Plan) -> int:
    """How many files it would write or remove."""
    return sum(one.status in (NEW, CHANGED, REMOVED) for one in plan.files)


def closing(document: PlanDocument) -> str:
    """The last line: what would be done, and whether it can be."""
    plans = document.plans
    if len(plans) == 1 and not document.refused:
        return _one(plans[0])
    return _several(plans, len(document.refused))


def _one(plan: Plan) -> str:
    name = clean(plan.recipe.name)
    if plan.status == NOTHING:
        return f"Nothing to change: what is in force is what {name} says."
    written = f"Writes {counted(changes(plan), 'file')} below the root and changes nothing else."
    if plan.status == READY:
        given = name if plan.origin == _OWN else clean(plan.origin)
        command = f"raxl recipe apply {shlex.quote(given)} --root {shlex.quote(clean(plan.root))}"
        return f"{written} Nothing stands in the way: {command.replace(' ', UNBREAKABLE)}"
    return f"{'Changes nothing else.' if plan.files else 'No file can be told.'} {_way(plan)}"


def _way(plan: Plan) -> str:
    """What stands in the way."""
    if plan.status == EDITED:
        edited = [clean(one.path) for one in plan.files if one.edited_diff]
        verb = "was" if len(edited) == 1 else "were"
        return f"{listed(edited)} {verb} changed by hand since it was applied: nothing is applied without --force."
    if plan.status == BLOCKED:
        blocking = len(failed(plan))
        return f"{counted(blocking, 'precondition')} {'blocks' if blocking == 1 else 'block'}: {NOT_YET}."
    if plan.status == INCOMPLETE:
        return f"{_gap(plan)}: {NOT_YET}."
    if plan.status == NEEDS_CODE:
        loading = [clean(one.name) for one in plan.settings if one.loads_code]
        verb = "lets" if len(loading) == 1 else "let"
        return f"{listed(loading)} {verb} code in: nothing is applied without --allow-code."
    return f"It is {plan.status}."


def _gap(plan: Plan) -> str:
    unread = failed(plan, UNREAD)
    if unread:
        names = listed([clean(one.id) for one in unread])
        return f"Whether {names} {'holds' if len(unread) == 1 else 'hold'} could not be read"
    if plan.candidates and plan.candidates[0].status == UNREAD:
        return "Whether the recipe is for this node could not be read"
    open_ = [one for one in plan.settings if one.value is None and one.status == UNREAD and one.kind != "unset"]
    return f"The value of {listed([clean(one.name) for one in open_][:3])} is not known"


_WORDS: Mapping[str, str] = {
    READY: "ready",
    NOTHING: "with nothing to change",
    BLOCKED: "blocked",
    INCOMPLETE: "not known well enough",
    EDITED: "changed by hand",
    NEEDS_CODE: "waiting for --allow-code",
}


def _several(plans: Sequence[Plan], refused: int) -> str:
    parts = [
        f"{number} {words}"
        for status, words in _WORDS.items()
        if (number := sum(one.status == status for one in plans))
    ]
    without = f"; {refused} without a recipe" if refused else ""
    told = listed(parts) or "none planned"
    return f"{counted(len(plans) + refused, 'node')}: {told}{without}. Nothing was changed."
