"""The words of AMD's tools for a value, for none, and for a reading that failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping

from raxl.model.problem import FAILED, NOT_ASKED, NOT_PERMITTED, NOT_SUPPORTED
from raxl.model.report import Silence

Told = dict[int, dict[str, str]]
"""By the tool's number of a GPU: the tool's words by the name of one of raxl's fields."""

_NONE = re.compile(r"|N/A|None|null|UNKNOWN|Not supported.*|.*, Not supported on the given system", re.IGNORECASE)
_FAILED = re.compile(r"\bERR|error|fail|_STATUS_|timed? ?out|exception|unable|could ?n.t", re.IGNORECASE)
_DENIED = re.compile(r"permission|not permitted|_NO_PERM|denied", re.IGNORECASE)
_LONGEST = 1 << 14
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)")


def plain(text: str) -> str:
    """The text without terminal escapes, its lines ended by a line feed alone."""
    return _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def lines_of(text: str) -> list[str]:
    """The lines; one that is longer than any of these tools' is left out."""
    return [line for line in text.split("\n") if len(line) <= _LONGEST]


def known(words: str | None) -> str | None:
    """The value in the words; None where they say that there is none, or that reading it failed."""
    value = (words or "").strip()
    return None if _NONE.fullmatch(value) or _FAILED.search(value) or _DENIED.search(value) else value


def silence(words: str | None, form: str, is_cut: bool = False) -> Silence:
    """Why a field has no value: what the tool says instead, or that this output does not hold it."""
    tool = form.split()[0]
    if words is None and is_cut:
        return Silence(FAILED, f"{tool}'s output ends inside this device", form)
    if words is None:
        return Silence(NOT_ASKED, f"this output of {tool} does not hold it")
    if _DENIED.search(words):
        return Silence(NOT_PERMITTED, f"{tool} says: {words.strip()[:80]}", form)
    if _FAILED.search(words):
        return Silence(FAILED, f"{tool} says: {words.strip()[:80]}", form)
    said = words.strip()[:40]
    return Silence(NOT_SUPPORTED, f"{tool} says {said}" if said else f"{tool} leaves it empty", form)


def tell(told: MutableMapping[str, str], field: str, words: str) -> None:
    """Notes what the tool says of a field; what says something stands before what says that there is nothing."""
    if known(told.get(field)) is None:
        told[field] = words.strip()


def note(told: Told, number: int, said: Mapping[str, str]) -> None:
    """Notes all that the tool says of the GPU of a number; one of which it says nothing is there too."""
    card = told.setdefault(number, {})
    for field, words in said.items():
        tell(card, field, words)


def translated(said: Mapping[str, str], fields: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The tool's words by raxl's names: of a field's several spellings the first that has a value, else any."""
    found: dict[str, str] = {}
    for field, names in fields.items():
        for name in names:
            if name in said:
                tell(found, field, said[name])
    return found
