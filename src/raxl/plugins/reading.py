"""Records of the model read from what a plug-in of others sent: each value by its type and its bounds.

A value that is none is left out, as if it had not been said; a record that lacks what it cannot be without is left out
whole, and so is an entry of a list or a mapping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from raxl.model import codec
from raxl.plugins import bounds

_MOST_KEPT = 1000
_LONGEST_SHOWN = 60
_Record = TypeVar("_Record")


class _NotSaid:
    """Stands for a value that is left out."""


class Reading:
    """One reading; `wrong` says of each value that was left out which it was."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def no(self, words: str) -> None:
        """Notes what is wrong."""
        if len(self.wrong) < _MOST_KEPT:
            self.wrong.append(words)

    def record(self, kind: type[_Record], raw: Any, where: str = "") -> _Record | None:
        """One record, with what is sound in it; None where it lacks what it cannot be without."""
        if not isinstance(raw, dict):
            self.no(f"{where} is {shown(raw)}")
            return None
        values: dict[str, Any] = {}
        hints = _hints(kind)  # type: ignore[arg-type]
        for field in fields(kind):  # type: ignore[arg-type]
            place = f"{where}.{field.name}" if where else field.name
            is_vital = field.default is MISSING and field.default_factory is MISSING
            value: Any = _NotSaid
            if field.name in raw:
                value = self._value(kind.__name__, field.name, hints[field.name], raw[field.name], place)
            elif is_vital:
                self.no(f"{place} is missing")
            if value is not _NotSaid:
                values[field.name] = value
            elif is_vital and type(None) in get_args(hints[field.name]):
                values[field.name] = None
            elif is_vital:
                return None
        return kind(**values)

    def _value(self, kind: str, name: str, hint: Any, raw: Any, where: str) -> Any:
        arguments = get_args(hint)
        if get_origin(hint) is Mapping and isinstance(raw, dict):
            return self._mapping(kind, name, arguments[1], raw, where)
        if get_origin(hint) is tuple and is_dataclass(arguments[0]) and isinstance(raw, list):
            return self._entries(arguments[0], raw, where)
        record = next((one for one in (hint, *arguments) if is_dataclass(one)), None)
        if record is not None and raw is not None:
            found = self.record(record, raw, where)  # type: ignore[arg-type]
            return _NotSaid if found is None else found
        try:
            value = codec.converted(raw, hint)
            if bounds.is_sound(kind, name, value):
                return value
        except ValueError:
            pass
        self.no(f"{where} is {shown(raw)}")
        return _NotSaid

    def _entries(self, kind: Any, raw: list[Any], where: str) -> tuple[Any, ...]:
        most = bounds.MOST_LINKS if kind.__name__ == "LinkClaim" else bounds.MOST
        if len(raw) > most:
            self.no(f"{where} has {len(raw)} entries")
        found = (self.record(kind, one, f"{where}[{place}]") for place, one in enumerate(raw[:most]))
        return tuple(one for one in found if one is not None)

    def _mapping(self, kind: str, name: str, hint: Any, raw: dict[str, Any], where: str) -> dict[str, Any]:
        if len(raw) > bounds.MOST:
            self.no(f"{where} has {len(raw)} entries")
        found = {}
        for key, one in list(raw.items())[: bounds.MOST]:
            if not bounds.is_name(key):
                self.no(f"{where} names {shown(key)}")
                continue
            value = self._value(kind, name, hint, one, f"{where}.{key[:_LONGEST_SHOWN]}")
            if value is not _NotSaid:
                found[key] = value
        return found


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def shown(value: Any) -> str:
    """A value for a sentence, cut where it is long."""
    if isinstance(value, str):
        value = value[: _LONGEST_SHOWN + 1]
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
