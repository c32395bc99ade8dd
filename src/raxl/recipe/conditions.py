"""A condition held against a node: met, unmet, or not known.

What is not known makes no condition met or unmet; that there is no such thing is known, and then only `absent` holds.
Of several values each must hold. Values that cannot be compared do not hold, and the message says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase

from raxl.model.plan import MET, UNMET, UNREAD, HeldCondition
from raxl.model.recipe import Condition, Scalar, Value
from raxl.recipe.node_facts import ABSENT, UNLIMITED, NodeFacts

_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?")
_VERSION = re.compile(r"v?\d")
_DIGITS = re.compile(r"\d{1,30}")
_LONGEST = 200


def held(condition: Condition, facts: NodeFacts) -> HeldCondition:
    """The condition with what the node has."""
    reading = facts.read(condition.fact)
    if not reading.known and reading.reason not in ABSENT:
        status, found = UNREAD, None
        message = reading.message or reading.reason or ""
    else:
        found = reading.value
        status, message = _judged(condition.op, found, condition.value)
        if found is None and status == UNMET:
            message = reading.message or message
    return HeldCondition(
        condition.fact, condition.op, condition.value, found, status, reading.source, message if status != MET else ""
    )


def holds(op: str, found: Value, wanted: Value) -> bool:
    """Whether a value that is known holds; None is that there is none."""
    return _judged(op, found, wanted)[0] == MET


def _judged(op: str, found: Value, wanted: Value) -> tuple[str, str]:
    values = found if isinstance(found, tuple) else (found,)
    if op in _PRESENCE:
        is_there = [value is not None and value is not False for value in values] or [False]
        fits = all(is_there) if op == "present" else not any(is_there)
        return (MET, "") if fits else (UNMET, "it is there" if op == "absent" else "there is none")
    if not values or any(value is None for value in values):
        return UNMET, "there is none" if not any(value is not None for value in values) else "some have none"
    told = [_one(op, value, wanted) for value in values if value is not None]
    failed = next((one for one in told if one is not True), True)
    if failed is True:
        return MET, ""
    return UNMET, failed if isinstance(failed, str) else ""


_PRESENCE = ("present", "absent")


def _one(op: str, value: Scalar, wanted: Value) -> bool | str:
    """Whether one value holds, or why the two cannot be compared."""
    if op == "in":
        return any(_equal(value, one) for one in (wanted if isinstance(wanted, tuple) else (wanted,)))
    if op == "matches":
        globs = wanted if isinstance(wanted, tuple) else (wanted,)
        return any(isinstance(glob, str) and fnmatchcase(_text(value), glob) for glob in globs)
    if isinstance(wanted, tuple) or wanted is None:
        return f"{op} takes one value"
    if op == "==":
        return _equal(value, wanted)
    if op == "!=":
        return not _equal(value, wanted)
    return _ordered(op, value, wanted) if op in _ORDERS else f"{op} is no comparison"


def _equal(value: Scalar, wanted: Scalar) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return _text(value).lower() == _text(wanted).lower()
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted or _versions_equal(value, wanted)
    numbers = _number(value), _number(wanted)
    return None not in numbers and numbers[0] == numbers[1]


def _versions_equal(value: str, wanted: str) -> bool:
    """Whether both are digits and points alone, and equal but for zeros at the end."""
    plain = re.compile(r"v?\d{1,30}(?:\.\d{1,30})+")
    return bool(plain.fullmatch(value) and plain.fullmatch(wanted)) and _compared(_parts(value), _parts(wanted)) == 0


def _ordered(op: str, value: Scalar, wanted: Scalar) -> bool | str:
    order = _ORDERS[op]
    if value == UNLIMITED and _number(wanted) is not None:
        return op in (">=", ">")
    if isinstance(value, bool) or isinstance(wanted, bool):
        return f"{_text(value)} and {_text(wanted)} have no order"
    if isinstance(value, int | float) and (wanted_number := _number(wanted)) is not None:
        return order(_sign(value, wanted_number))
    texts = _text(value), _text(wanted)
    if all(_VERSION.match(text) and len(text) <= _LONGEST for text in texts):
        return order(_compared(_parts(texts[0]), _parts(texts[1])))
    return f"{texts[0][:60]} and {texts[1][:60]} have no order: a version begins with a digit"


_ORDERS: Mapping[str, Callable[[int | None], bool]] = {
    ">=": lambda sign: sign is not None and sign >= 0,
    "<=": lambda sign: sign is not None and sign <= 0,
    ">": lambda sign: sign is not None and sign > 0,
    "<": lambda sign: sign is not None and sign < 0,
}


def _sign(value: float, wanted: float) -> int | None:
    """Which is greater; None where one is no number."""
    return 1 if value > wanted else -1 if value < wanted else 0 if value == wanted else None


def _number(value: Scalar) -> float | int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return value
    if _NUMBER.fullmatch(value) is None:
        return None
    return float(value) if "." in value else int(value)


def _parts(version: str) -> tuple[int, ...]:
    """The numbers in a version: `570.124.06` is 570, 124, 6; `2.7.0amzn2.0` is 2, 7, 0, 2, 0."""
    return tuple(int(digits) for digits in _DIGITS.findall(version))


def _compared(value: tuple[int, ...], wanted: tuple[int, ...]) -> int:
    length = max(len(value), len(wanted))
    own, other = (parts + (0,) * (length - len(parts)) for parts in (value, wanted))
    return (own > other) - (own < other)


def _text(value: Scalar) -> str:
    """A value as recipes write it: true, 8, 0.5."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
