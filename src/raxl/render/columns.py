"""Rows whose cells stand beneath one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from raxl.render.text import Line, Page, Span, cut_text, display_width

Row = Sequence[Span]
"""One cell for each column; a row of a single cell stands for itself and widens no column."""


class Column(NamedTuple):
    """A column of a table, and what becomes of it where room is short."""

    title: str = ""
    rank: int = 0
    """The column with the highest rank is left out first; 0 stays."""
    right: bool = False
    least: int = 0
    """Its cells may be cut to this width before any column is left out; 0: never cut."""
    gap: int = 2
    """Blanks before it."""


def lay_out(
    page: Page, columns: Sequence[Column], rows: Sequence[Row], titled: bool = True, refill: bool = False
) -> list[Line]:
    """One line for each row, with `titled` one more above them: none wider than the page, none folded.

    With `refill` the room that a left out column leaves is for the cells that were cut beside it.
    """
    cells = [[(page.spell(text), style) for text, style in row] for row in rows]
    full = [row for row in cells if len(row) == len(columns)]
    used = [place for place in range(len(columns)) if any(row[place][0] for row in full)]
    if titled:
        titles: list[Span] = [(page.spell(column.title), "dim") for column in columns]
        cells, full = [titles, *cells], [titles, *full]
    widths = {place: max(display_width(row[place][0]) for row in full) for place in used}
    _fit(page, columns, widths, refill)
    return [page.cut(_line(page, columns, widths, row)) for row in cells]


def _fit(page: Page, columns: Sequence[Column], widths: dict[int, int], refill: bool) -> None:
    """Narrows cells, then leaves columns out, until the rest fits."""

    def missing() -> int:
        gaps = sum(columns[place].gap for place in list(widths)[1:])
        return sum(widths.values()) + gaps - page.width

    def narrow() -> None:
        for place in widths:
            if columns[place].least and missing() > 0:
                widths[place] = max(min(columns[place].least, widths[place]), widths[place] - missing())

    whole = dict(widths)
    narrow()
    while missing() > 0 and (droppable := [place for place in widths if columns[place].rank]):
        del widths[max(droppable, key=lambda place: columns[place].rank)]
    if refill and len(widths) < len(whole):
        widths.update({place: whole[place] for place in widths})
        narrow()


def _line(page: Page, columns: Sequence[Column], widths: dict[int, int], row: Row) -> Line:
    if len(row) != len(columns):
        return list(row)
    line: Line = []
    blanks = 0
    for number, (place, width) in enumerate(widths.items()):
        text, style = _narrowed(page, row[place], width)
        pad = width - display_width(text)
        blanks += (columns[place].gap if number else 0) + (pad if columns[place].right else 0)
        if text:
            line += [(" " * blanks, ""), (text, style)]
            blanks = 0
        blanks += 0 if columns[place].right else pad
    return line


def _narrowed(page: Page, cell: Span, width: int) -> Span:
    text, style = cell
    if display_width(text) <= width:
        return cell
    mark = page.spell("…")
    return cut_text(text, width - len(mark)).rstrip() + mark, style
