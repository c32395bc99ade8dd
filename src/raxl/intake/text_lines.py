"""Lines of what a terminal showed."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


def lines(text: str) -> list[str]:
    """The lines without terminal escapes and without what stands at their ends."""
    return [line.rstrip() for line in _ESCAPE.sub("", text).splitlines()]


def joined(kept: list[str]) -> str:
    """The lines as a text again."""
    return "".join(f"{line}\n" for line in kept)
