"""What a vendor's tool prints where it has no value, and why it has none.

`N/A` says that there is no such value, `ERR!` that reading it failed, `-` that it does not apply here. A word that is
not there at all was not asked for.
"""

from __future__ import annotations

import re
from typing import Mapping, Optional

from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_SUPPORTED
from raxl.model.report import Silence

_ABSENT = re.compile(
    r"\[?(N/?A|Not Supported|Not Available|Unsupported|None|Requested functionality .{0,40})\]?", re.IGNORECASE
)
_FAILED = re.compile(r"\[?(ERR!?|Error|Failed|Failure|Unknown|Unknown Error)\]?", re.IGNORECASE)
_INAPPLICABLE = re.compile(r"-{0,4}")


def without_bars(line: str) -> str:
    """A line of a table as words with single blanks between: bars and runs of blanks differ by version and copy."""
    return " ".join(line.replace("|", " ").split())


def says(word: Optional[str]) -> Optional[str]:
    """The word where it is a value; None where it says that there is none, or that reading it failed."""
    word = (word or "").strip()
    nothing = any(pattern.fullmatch(word) for pattern in (_ABSENT, _FAILED, _INAPPLICABLE))
    return None if nothing else word


def is_failure(word: Optional[str]) -> bool:
    """Whether the word says that the reading failed."""
    return bool(_FAILED.fullmatch((word or "").strip()))


def silence(word: Optional[str], tool: str, form: str, is_cut: bool = False) -> Silence:
    """Why this word is no value. `is_cut`: the output ends before it, where it would stand."""
    if word is None:
        return (
            Silence(FAILED, f"{tool}'s output ends inside this device", form)
            if is_cut
            else Silence(NOT_ASKED, f"this output of {tool} does not hold it")
        )
    shown = " ".join(word.split())[:80]
    if _INAPPLICABLE.fullmatch(shown):
        return Silence(NOT_APPLICABLE, f"{tool} shows {shown or 'nothing'} for it", form)
    if _ABSENT.fullmatch(shown):
        return Silence(NOT_SUPPORTED, f"{tool} says {shown}", form)
    return Silence(FAILED, f"{tool} says {shown}", form)


def silences(
    words: Mapping[str, str], fields: Mapping[str, str], tool: str, form: str, is_cut: bool = False
) -> Mapping[str, Silence]:
    """By a claim's field, why the word that fills it is no value. `fields`: the field of each word."""
    return {
        field: silence(words.get(word), tool, form, is_cut)
        for word, field in fields.items()
        if says(words.get(word)) is None
    }
