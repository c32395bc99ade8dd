"""Slurm's lists of names: `n[1-3,7],gpu[01-02]x`. https://slurm.schedmd.com/scontrol.html (`show hostnames`)"""

from __future__ import annotations

import re
from typing import List

MOST_NAMES = 1 << 16
"""More nodes than a list is believed to name."""
_ENTRY = re.compile(r"(?:[^,\[\]]|\[[^\[\]]{0,65536}\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def names(text: str) -> List[str]:
    """Every name in its order, at most `MOST_NAMES`; what is no range of numbers, and what is cut off, is left out."""
    while (begin := text.rfind("[")) > text.rfind("]"):  # it is cut off: what stands before the last name is whole
        text = text[: max(text.rfind(",", 0, begin), 0)]
    found: List[str] = []
    for entry in _ENTRY.findall(text):
        found += _of_entry(entry.strip(), MOST_NAMES - len(found))
    return found


def _of_entry(entry: str, most: int) -> List[str]:
    found = [""] if entry else []
    for ranges, plain in _PART.findall(entry):
        ends = [plain] if plain else _numbers(ranges, most)
        if len(found) * len(ends) > most:
            ends = ends[: most // max(len(found), 1)]
        found = [start + end for start in found for end in ends]
    return found[:most]


def _numbers(ranges: str, most: int) -> List[str]:
    """`01`, `02` of `01-02`: as many digits as the first one has."""
    found: List[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            continue
        first, last = int(match[1]), int(match[2] or match[1])
        found += [str(number).zfill(len(match[1])) for number in range(first, min(last, first + most) + 1)]
    return found[:most]
