"""How `nvidia-smi` writes values, in its XML, its texts and its tables: what says nothing, what failed, units."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import List, Optional

from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole

NOTHING = re.compile(
    r"\[?(N/A|Not Supported|Not Available|None|Requested functionality has been deprecated)\]?|-|", re.IGNORECASE
)
"""There is no such value; `None` is a recovery action of its own right, and is asked for before."""
FAILURE = re.compile(
    r"\[?ERR!\]?|.*\bUnknown Error\b.*|\[?GPU is lost.*|.*Insufficient Permissions.*|.*fallen off the bus.*"
    r"|\[GPU requires reset\]|GPU requires reset",
    re.IGNORECASE,
)
"""The value is there, and reading it failed."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\n]*\x07)")
_GTS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0, 7: 128.0}


LONGEST_LINE = 1000
"""Characters; of a longer line its beginning is read. No output but csv has such."""


def lines(text: str, longest: int = LONGEST_LINE) -> List[str]:
    """The lines of a text that a terminal may have coloured, without what stands at their ends; NULs end them."""
    return [line[:longest].split("\0", 1)[0].rstrip() for line in plain(text).splitlines()]


def plain(text: str) -> str:
    """The text without a terminal's colours."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


@lru_cache(maxsize=4096)
def says(word: Optional[str]) -> Optional[str]:
    """The word where it is a value; None where it says that there is none, or that reading it failed."""
    word = (word or "").strip()
    return (
        None if NOTHING.fullmatch(word) or FAILURE.fullmatch(word) or word.startswith(("Unknown", "[Unknown")) else word
    )


@lru_cache(maxsize=4096)
def is_failure(word: Optional[str]) -> bool:
    """Whether the word says that the reading failed."""
    return bool(FAILURE.fullmatch((word or "").strip()))


def mebibytes(text: Optional[str]) -> Optional[int]:
    """Bytes of `81559 MiB` or `81559MiB`; a number without its unit is none."""
    found = re.fullmatch(r"([0-9]{1,20}) ?MiB", (text or "").strip())
    size = whole(found[1], MOST_BYTES >> 20) if found else None
    return None if size is None else size << 20


def transfers(generation: Optional[str]) -> Optional[float]:
    """Gigatransfers a second of a PCIe generation: `5` is 32.0."""
    return _GTS.get(whole(generation, MOST_PLACES) or 0)


def lanes(text: Optional[str]) -> Optional[int]:
    """Lanes of `16x` or `16`; a link of none is not known."""
    found = re.fullmatch(r"([0-9]{1,2})x?", (text or "").strip())
    return int(found[1]) or None if found else None


def half(identifier: Optional[str], start: int) -> Optional[str]:
    """Four hex digits of `233010DE`: the device's first, the vendor's last; `0x` may stand before them."""
    digits = (identifier or "").strip().lower()
    digits = digits[2:] if digits.startswith("0x") else digits
    return digits[start : start + 4] if re.fullmatch("[0-9a-f]{8}", digits) else None
