"""Whole numbers as files write them. What no machine has is not known, rather than believed."""

from __future__ import annotations

import re
from typing import Optional

MOST_BYTES = 1 << 50
"""More memory than any device or NUMA node has."""
MOST_COUNT = (1 << 63) - 1
"""The most that a counter of 64 bits is believed to have counted: all bits set is how some say that it failed."""
MOST_PLACES = 1 << 16
"""More CPUs, NUMA nodes or ports than any machine numbers."""
_WHOLE = re.compile("[0-9]{1,20}")


def whole(text: Optional[str], most: int) -> Optional[int]:
    """A decimal number from 0 to `most`; None for anything else, digits of other scripts included."""
    text = (text or "").strip()
    if not _WHOLE.fullmatch(text) or int(text) > most:
        return None
    return int(text)
