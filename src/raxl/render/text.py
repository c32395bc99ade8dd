"""Lines of styled text: how wide they are, how they are folded or cut, and how they are written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple

from raxl.model.printable import clean

Style = Literal["", "dim", "fail", "warn", "bold"]
"""fail is red, warn yellow, dim what is secondary or not known; nothing for what is ok."""

Span = tuple[str, Style]
Line = list[Span]

UNBREAKABLE = "\u00a0"
"""A blank at which no line is folded."""

_ANSI = {"dim": "\x1b[2m", "fail": "\x1b[31m", "warn": "\x1b[33m", "bold": "\x1b[1m"}
_ASCII = str.maketrans(
    {
        "├": "|",
        "└": "`",
        "│": "|",
        "─": "-",
        "═": "=",
        "×": "x",
        "·": "-",
        "–": "-",
        "…": "...",
        "→": "->",
        "←": "<-",
        "↔": "<->",
        "’": "'",
        "±": "+-",
        "µ": "u",
    }
)


class Page(NamedTuple):
    """What text is laid out for: columns, and whether anything but ASCII can be shown."""

    width: int = 100
    unicode: bool = True

    def spell(self, text: str) -> str:
        """`text` as this page shows it: harmless, and where need be in ASCII."""
        text = clean(text)
        if self.unicode or text.isascii():
            return text
        return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")

    def cut(self, line: Line) -> Line:
        """The line, ended by `…` where it is too wide."""
        if sum(display_width(text) for text, _ in line) <= self.width:
            return line
        mark = self.spell("…")
        room = self.width - display_width(mark)
        kept: Line = []
        for text, style in line:
            part = cut_text(text, room)
            room -= display_width(part)
            kept.append((part, style))
            if part != text:
                break
        return [*kept, (mark[: self.width], "dim")]

    def fold(self, text: str, hang: int = 0, style: Style = "", lead: Span = ("", "")) -> list[Line]:
        """A sentence on as many lines as it needs: after `lead`, and from the second line on after `hang` blanks."""
        margin = " " * min(hang, self.width // 3)
        first = (self.spell(lead[0]), lead[1])
        lines: list[Line] = []
        start, row = first, ""
        for words in clean(text).split(" "):
            word, between = self.spell(words.replace(UNBREAKABLE, " ")), " "
            for piece in self._pieces(word, len(margin)):
                if row and display_width(f"{start[0]}{row}{between}{piece}") > self.width:
                    lines.append([start, (row, style)])
                    start, row = (margin, ""), ""
                row = f"{row}{between}{piece}" if row else piece
                between = ""
        return [self.cut(line) for line in [*lines, [start, (row, style)]]]

    def _pieces(self, word: str, margin: int) -> list[str]:
        """The word; one that fits on no line is broken after its commas: what is typed is not cut."""
        if display_width(word) <= self.width - margin or "," not in word:
            return [word]
        return [piece for piece in re.split(r"(?<=,)", word) if piece]


def parted(blocks: Sequence[list[Line]]) -> list[Line]:
    """The blocks that are not empty, with an empty line between them."""
    full = [block for block in blocks if block]
    return [line for place, block in enumerate(full) for line in ([[], *block] if place else block)]


def to_text(lines: Sequence[Line], colour: bool = False) -> str:
    """The lines as they are written, each with its end; with ANSI colours where `colour` is set."""
    return "".join(_written(line, colour) + "\n" for line in lines)


def display_width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def cut_text(text: str, width: int) -> str:
    """As much of the text as `width` columns hold."""
    if display_width(text) <= width:
        return text
    used = 0
    for position, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[:position]
    return text


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _written(line: Line, colour: bool) -> str:
    # Cleaned once more: a text that came past `Page.spell` must not act either.
    spans = [(clean(text), style) for text, style in line]
    if not colour:
        return "".join(text for text, _ in spans).rstrip()
    return "".join(f"{_ANSI[style]}{text}\x1b[0m" if style and text else text for text, style in spans)
