"""Tables of values with commas between, as `amd-smi --csv` and `rocm-smi --csv` print them: one row a GPU."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence

from raxl.intake.amd_words import Told, lines_of, note, plain

Names = Callable[[Sequence[str]], bool]
"""Whether columns of these names, in lower case, are a header of the tool's."""
Row = Mapping[str, str]
"""The cells by their columns' names in lower case."""


def rows(text: str, is_header: Names) -> Iterator[Row]:
    """The rows; a last one that was cut off has fewer cells."""
    return (row for row, _ in _rows(text, is_header))


def told(
    text: str, is_header: Names, number: Callable[[Row], int | None], fields: Callable[[Row], Mapping[str, str]]
) -> tuple[Told, set[int]]:
    """What the rows tell of the GPU of each number, and in which of them the text ends. `fields`: a row's words by the
    names of raxl's fields."""
    found: Told = {}
    cut = set()
    for row, is_cut in _rows(text, is_header):
        place = number(row)
        if place is not None:
            cut.update([place] if is_cut else [])
            note(found, place, fields(row))
    return found, cut


def _rows(text: str, is_header: Names) -> Iterator[tuple[Row, bool]]:
    """The rows, each with whether the text ends in it: its last cell may then be half of one, and is left out."""
    for header, row in _tables(text, is_header):
        is_cut = len(row) < len(header)
        yield dict(zip((name.lower() for name in header), row[:-1] if is_cut else row)), is_cut


def own(text: str, is_header: Names) -> str:
    """Headers and rows, without what stands around them."""
    lines: list[str] = []
    last: Sequence[str] | None = None
    for header, row in _tables(text, is_header):
        lines += [_line(header)] if header is not last else []
        lines.append(_line(row))
        last = header
    return "".join(f"{line}\n" for line in lines)


def _line(cells: Sequence[str]) -> str:
    return ",".join(f'"{cell}"' if "," in cell else cell for cell in cells)


def _tables(text: str, is_header: Names) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Each row with its header. A line of another width ends the table; the text's last may be short."""
    header: Sequence[str] | None = None
    lines = [line for line in lines_of(plain(text)) if line.strip()]
    for place, line in enumerate(lines):
        cells = _cells(line)
        if is_header([cell.lower() for cell in cells]):
            header = cells
        elif header is not None and (len(cells) == len(header) or (place == len(lines) - 1 and len(cells) > 1)):
            yield header, cells[: len(header)]
        else:
            header = None


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line]), [])]
    except csv.Error:
        return [cell.strip() for cell in line.split(",")]
