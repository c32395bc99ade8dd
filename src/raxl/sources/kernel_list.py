"""The kernel's way to write sets of numbers: `0-3,8,10-11`."""

from __future__ import annotations

import re

_LIST = re.compile("[0-9]{1,7}(-[0-9]{1,7})?(,[0-9]{1,7}(-[0-9]{1,7})?)*")
LARGEST = 1 << 16


def parse(text: str | None) -> frozenset[int] | None:
    """The numbers of a kernel list; empty for an empty text, None for None or anything else.

    https://docs.kernel.org/core-api/kernel-api.html (bitmap_parselist)
    """
    if text is None:
        return None
    text = text.strip()
    if not text:
        return frozenset()
    if not _LIST.fullmatch(text):
        return None
    numbers: set[int] = set()
    counted = 0
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        counted += high - low + 1
        if low > high or high > LARGEST or counted > 4 * LARGEST:
            return None
        numbers.update(range(low, high + 1))
    return frozenset(numbers)


def parse_mask(text: str | None) -> frozenset[int] | None:
    """The numbers of a kernel mask, `00ff,ffffffff`: comma-separated words of 32 bits in hex, the highest first."""
    digits = (text or "").strip().removeprefix("0x").replace(",0x", ",").replace(",", "")
    if not digits or len(digits) > LARGEST // 4 or not re.fullmatch("[0-9a-fA-F]+", digits):
        return None
    return frozenset(bit for bit, set_ in enumerate(reversed(f"{int(digits, 16):b}")) if set_ == "1")


def write(numbers: frozenset[int] | set[int]) -> str:
    """The kernel list of a set."""
    parts: list[str] = []
    start = end = -2
    for number in [*sorted(numbers), None]:
        if number is not None and number == end + 1:
            end = number
            continue
        if start >= 0:
            parts.append(str(start) if start == end else f"{start}-{end}")
        if number is not None:
            start = end = number
    return ",".join(parts)
