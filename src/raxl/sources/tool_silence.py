"""What a vendor's tool prints where it has no value, and why it has none.

`N/A` says that there is no such value, `ERR!` that reading it failed, `-` that it does not apply here. A word that is
not there at all was not asked for.
"""

from __future__ import annotations

import re
from typing import Mapping, Optional

from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_PERMITTED, NOT_SUPPORTED
from raxl.model.report import Silence

_REASONS = (
    (NOT_PERMITTED, re.compile(r".*(?:permission|not permitted|denied).*", re.IGNORECASE)),
    (
        FAILED,
        re.compile(
            r"[\[(]?(?:ERR!?|Failure|Unknown Error)[\])]?|.*\b(?:timed out|error|failed)\b.*",
            re.IGNORECASE,
        ),
    ),
    (NOT_APPLICABLE, re.compile(r"-{0,4}")),
    (
        NOT_SUPPORTED,
        re.compile(
            r"[\[(]?(?:N/?A|Not Supported|Not Available|Unsupported|Unknown|None|null)[\])]?"
            r"|\[?Requested functionality .{0,40}",
            re.IGNORECASE,
        ),
    ),
)
"""The words that give no value, by what they mean."""


def without_bars(line: str) -> str:
    """A line of a table as words with single blanks between: bars and runs of blanks differ by version and copy."""
    return " ".join(line.replace("|", " ").split())


def reason(word: str) -> Optional[str]:
    """Why a word is no value, as `raxl.model.problem` has it; None for one that is a value."""
    return next((why for why, pattern in _REASONS if pattern.fullmatch(word.strip())), None)


def says(word: Optional[str]) -> Optional[str]:
    """The word where it is a value; None where it says that there is none, or that reading it failed."""
    word = (word or "").strip()
    return word if reason(word) is None else None


def silence(word: Optional[str], tool: str, form: str, is_cut: bool = False, otherwise: str = FAILED) -> Silence:
    """Why this word is no value. `is_cut`: the output ends before it, where it would stand; `otherwise`: the reason for
    a word that is a value, and none of the kind."""
    if word is None:
        return (
            Silence(FAILED, f"{tool}'s output ends inside this device", form)
            if is_cut
            else Silence(NOT_ASKED, f"this output of {tool} does not hold it")
        )
    shown = " ".join(word.split())[:80]
    why = reason(shown) or otherwise
    if why == NOT_APPLICABLE:
        return Silence(NOT_APPLICABLE, f"{tool} shows {shown or 'nothing'} for it", form)
    return Silence(why, f"{tool} says {shown}", form)


def silences(
    words: Mapping[str, str], fields: Mapping[str, str], tool: str, form: str, is_cut: bool = False
) -> Mapping[str, Silence]:
    """By a claim's field, why the word that fills it is no value. `fields`: the field of each word."""
    return {
        field: silence(words.get(word), tool, form, is_cut)
        for word, field in fields.items()
        if says(words.get(word)) is None
    }
