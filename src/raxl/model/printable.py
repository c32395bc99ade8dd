"""Text from devices, nodes and files made harmless: a name never acts on a terminal."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import fields, is_dataclass, replace
from functools import cache
from operator import is_
from typing import Any

_SEQUENCES = re.compile(
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\\\|\x9c)"  # OSC, DCS and other strings
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor
    "|\x1b[ -/]*[0-~]?"  # the short ones, and an ESC alone
)
"""ECMA-48 §5.3 to 5.6, https://ecma-international.org/publications-and-standards/standards/ecma-48/"""


def clean(text: str) -> str:
    """`text` as one line that no terminal acts on.

    Escape sequences, control characters and invisible ones that reorder text are gone, a line break or tab is a
    blank, half a surrogate pair is U+FFFD. Markup stays, as the characters that it is.
    """
    if text.isprintable():
        return text
    return "".join(map(_harmless, _SEQUENCES.sub("", text)))


def _harmless(character: str) -> str:
    if character in "\n\r\t\v\f":
        return " "
    category = unicodedata.category(character)
    if category == "Cs":
        return "\ufffd"
    if category in ("Zl", "Zp"):
        return " "
    return "" if category in ("Cc", "Cf") else character


def record(value: Any) -> Any:
    """A dataclass with every string in it made clean; the same object where nothing had to be done."""
    kind = type(value)
    if kind is str:
        return value if value.isprintable() else clean(value)
    if value is None or kind is int or kind is float or kind is bool:
        return value
    if kind is tuple or isinstance(value, tuple):
        entries = [record(entry) for entry in value]
        return value if all(map(is_, entries, value)) else tuple(entries)
    if isinstance(value, dict):
        changed = {clean(key): record(entry) for key, entry in value.items()}
        same = all(map(is_, changed, value)) and all(map(is_, changed.values(), value.values()))
        return value if same and len(changed) == len(value) else changed
    if is_dataclass(value) and not isinstance(value, type):
        new = {}
        for name in _names(type(value)):
            own = getattr(value, name)
            if (harmless := record(own)) is not own:
                new[name] = harmless
        return replace(value, **new) if new else value
    return clean(value) if isinstance(value, str) else value


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
