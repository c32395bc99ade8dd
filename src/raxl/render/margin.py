"""Sentences that are folded beside a margin of any width."""

from __future__ import annotations

from raxl.render.text import Line, Page, Span, Style

_NARROWEST = 20


def beside(page: Page, text: str, margin: int, style: Style = "", lead: Span | None = None) -> list[Line]:
    """The text folded in the columns behind the margin; `lead`, as wide as that, stands in it on the first line."""
    blank: Span = (" " * margin, "")
    lines = Page(max(page.width - margin, _NARROWEST), page.unicode).fold(text, style=style)
    return [[blank if number or lead is None else lead, *line] for number, line in enumerate(lines)]
