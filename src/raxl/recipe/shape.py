"""A tree held against the dataclasses of `raxl.model.recipe`: which keys there are, which must be, what they take.

Nothing of it is written down twice: names and types are those of the dataclasses.
"""

from __future__ import annotations

import collections.abc
import difflib
from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from raxl.model.recipe import RECIPE, Recipe
from raxl.recipe.document import Fault, Keys, Node

PROSE = ("notes", "remedy", "summary", "title", "unverified", "why")
"""Keys whose text may stand on several lines: it becomes one."""
_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}
_STAND_INS = {str: "", int: 0, float: 0.0, bool: False}


class Held(NamedTuple):
    """What JSON would hold of the recipe."""

    plain: dict[str, Any]
    """Complete whatever was wrong: what is missing or of another type has something in its place."""
    faults: Sequence[Fault]
    broken: Sequence[Keys] = ()
    """Where something stands in place of what was not to be read."""


def held(tree: Node) -> Held:
    """The tree as a recipe's JSON."""
    if not isinstance(tree.value, dict):
        return Held({}, [Fault(tree.place, (), f"is no recipe: it is to begin with schema: {RECIPE}")])
    if fault := _of_other_schema(tree):
        return Held({}, [fault])
    holding = _Holding()
    return Held(holding.record(tree, Recipe, ()), holding.faults, holding.broken)


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Which of them it may have been meant to be."""
    near = difflib.get_close_matches(word.lower().replace("-", "_"), known, 1)
    near = near or difflib.get_close_matches(word, known, 1)
    return near[0] if near else None


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """`; did you mean requires?`, or what there is."""
    if near := nearest(word, known):
        return f"; did you mean {near}?"
    return f"; known: {', '.join(known)}" if known else ""


def _of_other_schema(tree: Node) -> Fault | None:
    told = tree.entries.get("schema")
    if told is None:
        return Fault(tree.place, ("schema",), f"is missing: it is to be {RECIPE}")
    if told.value == RECIPE:
        return None
    newer = isinstance(told.value, str) and told.value.startswith(RECIPE.rpartition("/")[0] + "/")
    why = "; a newer raxl may read it" if newer else ""
    return Fault(told.place, ("schema",), f"is to be {RECIPE}, not {_shown(told)}{why}")


class _Holding:
    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.broken: list[Keys] = []

    def record(self, node: Node, kind: type, keys: Keys) -> dict[str, Any]:
        known = _fields(kind)
        misspelt = set()
        for key, below in node.entries.items():
            if key not in known:
                what = f"is no key here{did_you_mean(key, list(known))}"
                self.faults.append(Fault(below.place, (*keys, key), what))
                misspelt.add(nearest(key, list(known)))
        found = {}
        for key, (type_, needed) in known.items():
            if key in node.entries:
                found[key] = self.value(node.entries[key], type_, (*keys, key))
            elif needed or key in misspelt:
                self.broken.append((*keys, key))
                if key not in misspelt:
                    self.faults.append(Fault(node.place, (*keys, key), "is missing"))
                if needed:
                    found[key] = _stand_in(type_)
        return found

    def value(self, node: Node, kind: Any, keys: Keys) -> Any:
        """The node as the type takes it."""
        kinds = get_args(kind) if get_origin(kind) is Union else (kind,)
        if Any in kinds:
            return node.plain()
        for one in kinds:
            if isinstance(node.value, dict) and is_dataclass(one):
                return self.record(node, one, keys)  # type: ignore[arg-type]
            if isinstance(node.value, dict) and get_origin(one) is collections.abc.Mapping:
                below = get_args(one)[1]
                return {key: self.value(entry, below, (*keys, key)) for key, entry in node.entries.items()}
            if isinstance(node.value, list) and get_origin(one) is tuple:
                below = get_args(one)[0]
                return [self.value(item, below, (*keys, place)) for place, item in enumerate(node.items)]
        return self._scalar(node, kinds, keys)

    def _scalar(self, node: Node, kinds: Sequence[Any], keys: Keys) -> Any:
        value = node.value
        if type(value) in kinds:
            prose = isinstance(value, str) and any(key in PROSE for key in keys[-2:])
            return " ".join(value.split()) if prose and isinstance(value, str) else value
        if type(value) is int and float in kinds:
            return value
        self.faults.append(Fault(node.place, keys, _refused(node, kinds)))
        self.broken.append(keys)
        return _stand_in(kinds)


def _refused(node: Node, kinds: Sequence[Any]) -> str:
    wanted = " or ".join(dict.fromkeys(_word(kind) for kind in kinds if kind is not NoneType))
    if node.value is None:
        return f"is empty: it is to be {wanted}"
    if str in kinds and isinstance(node.value, (bool, int, float)):
        return f"is to be text, not {_shown(node)}: quote it"
    return f"is to be {wanted}, not {_shown(node)}"


def _word(kind: Any) -> str:
    if is_dataclass(kind) or get_origin(kind) is collections.abc.Mapping:
        return "a mapping"
    return "a list" if get_origin(kind) is tuple else _NAMES[kind]


def _shown(node: Node) -> str:
    if isinstance(node.value, dict):
        return "a mapping"
    if isinstance(node.value, list):
        return "a list"
    if node.value is None:
        return "null"
    return repr(node.value[:60]) if isinstance(node.value, str) else str(node.value).lower()


def _stand_in(kind: Any) -> Any:
    kinds = kind if isinstance(kind, (list, tuple)) else get_args(kind) if get_origin(kind) is Union else (kind,)
    if NoneType in kinds:
        return None
    first = kinds[0]
    if is_dataclass(first):
        return {key: _stand_in(type_) for key, (type_, needed) in _fields(first).items() if needed}  # type: ignore[arg-type]
    origin: Any = get_origin(first)
    if origin in (collections.abc.Mapping, tuple):
        return [] if origin is tuple else {}
    return _STAND_INS[first]


@cache
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """By name, the type of each field and whether it must be there."""
    hints = get_type_hints(kind)
    return {
        one.name: (hints[one.name], one.default is MISSING and one.default_factory is MISSING) for one in fields(kind)
    }


def whole(value: Any) -> Any:
    """The same with every field in its place. msgspec leaves out those that a text does not give, and writes them
    differently then."""
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{one.name: whole(getattr(value, one.name)) for one in fields(value)})
    if isinstance(value, collections.abc.Mapping):
        return {key: whole(one) for key, one in value.items()}
    return tuple(whole(one) for one in value) if isinstance(value, tuple) else value


def said(recipe: Recipe) -> dict[str, Any]:
    """What a file would have to say for the recipe: all but what is as it would be anyway."""
    return _said(recipe)


def _said(record: Any) -> dict[str, Any]:
    told = {}
    for one in fields(record):
        value = getattr(record, one.name)
        default = one.default if one.default_factory is MISSING else one.default_factory()
        if value != default:
            told[one.name] = _plain(value)
    return told


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return _said(value)
    if isinstance(value, collections.abc.Mapping):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value
