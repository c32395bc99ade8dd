"""JSON as people paste it: warnings before it, several documents one after the other, the end cut off."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, NamedTuple

from raxl.model.problem import FAILED, Problem

_START = re.compile(r'\{\s*"|\[\s*\{')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]|"', re.DOTALL)
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Numbers stay the words that they are: none is too large, and none is rounded."""
_MOST_ATTEMPTS = 200
_CLOSING = {"{": "}", "[": "]"}
_PROCESSES = re.compile(
    r'"(?:process_list|process_info|processes|neuron_processes|contexts|smbus_telem|PID\d+)"\s*:\s*(?=["\[{])',
    re.IGNORECASE,
)


class Document(NamedTuple):
    """One document, where it stands in the text, and why it ends before its end; None for a whole one."""

    value: Any
    start: int
    end: int
    damage: str | None

    def problems(self, tool: str, form: str) -> tuple[Problem, ...]:
        """That it is damaged; nothing of a whole one."""
        if self.damage is None:
            return ()
        message = f"the JSON of {tool} is damaged ({self.damage}): what is whole is read"
        return (Problem("accelerators", FAILED, message, (form,)),)


@lru_cache(maxsize=4)
def documents(text: str) -> tuple[Document, ...]:
    """Every object or list in the text. Of a damaged one, what stands before the damage; then what follows it."""
    found: list[Document] = []
    place, failures = 0, 0
    while failures < _MOST_ATTEMPTS and (start := _START.search(text, place)):
        try:
            value, place = _DECODER.raw_decode(text, start.start())
            found.append(Document(value, start.start(), place, None))
        except json.JSONDecodeError as error:
            failures += 1
            end = max(error.pos, start.end())
            salvaged = _closed(text, start.start(), end)
            if salvaged:
                place = len(text) if _is_cut(text, end) else end
                why = "it ends early" if _is_cut(text, end) else f"{error.msg} in line {error.lineno}"
                found.append(Document(salvaged, start.start(), place, why))
            else:
                place = start.end() - 1
        except RecursionError:
            failures += 1
            place = start.end() - 1
    return tuple(found)


def _is_cut(text: str, place: int) -> bool:
    """Whether nothing that could close a bracket follows: the text ends here, or inside a word or string."""
    return not re.compile(r"[\[\]{}]").search(text, place)


def _closed(text: str, start: int, end: int) -> Any:
    """What the text from `start` says up to the last whole value before `end`; None for nothing."""
    stack: list[str] = []
    good: tuple[int, list[str]] | None = None
    for token in _TOKEN.finditer(text, start, end):
        mark = token[0]
        if mark in "{[":
            stack.append(mark)
        elif mark in "}]" and stack:
            stack.pop()
            good = token.end(), stack[:_MOST_ATTEMPTS]
        elif mark == ",":
            good = token.start(), stack[:_MOST_ATTEMPTS]
        elif mark == '"':
            break
    if good is None:
        return None
    try:
        return _DECODER.decode(text[start : good[0]] + "".join(_CLOSING[mark] for mark in reversed(good[1])))
    except (ValueError, RecursionError):
        return None


def own(text: str) -> str:
    """The documents alone, without what stands around them and without the processes that they list."""
    return "\n".join(_without_processes(text[one.start : one.end]) for one in documents(text))


def _without_processes(text: str) -> str:
    parts, place = [], 0
    while found := _PROCESSES.search(text, place):
        parts += [text[place : found.end()], "null"]
        place = _value_end(text, found.end())
    return "".join([*parts, text[place:]])


def _value_end(text: str, start: int) -> int:
    """Where the value that begins at `start` ends: the text's end for one that is cut off."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth <= 0:
            return token.end() if token[0] != '"' else len(text)
    return len(text)
