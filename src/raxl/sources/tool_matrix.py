"""Matrices of how devices are joined, as vendors' tools print them: a header of names, a row a device, affinities.

The header may be missing, rows may be missing or cut off, blanks between names or cells may be lost, cells may stand
between bars. A row's own mark (`X`, `S`) tells its column where no header does.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple, Optional, Pattern, Tuple

from raxl.sources.tool_words import lines

_TITLES = re.compile(r"(?:CPU|NUMA) ?Affinity|NUMA(?: ?ID)?|[\s|]")
_SEPARATOR = re.compile(r"[\s|]*")
_MOST = 512
"""More devices than a machine has."""


class Shape(NamedTuple):
    """How one tool writes its matrix."""

    name: Pattern[str]
    """A device's name; its groups hold its numbers."""
    cell: Pattern[str]
    """One cell."""
    own: str
    """The cell of a device and itself."""


class Matrix(NamedTuple):
    """Devices in column order, the cell of each ordered pair that a row gives, and what stands beside each row."""

    names: Tuple[str, ...]
    cells: Mapping[Tuple[str, str], str]
    beside: Mapping[str, str]
    damage: Optional[str]


def recognises(text: str, shape: Shape) -> bool:
    """Whether a header with a row stands in the text, or two rows that hold their own mark."""
    header, rows = _found(text, shape)
    return bool(rows) if header else sum(shape.own in row.cells for row in rows) > 1


def own(text: str, shape: Shape) -> str:
    """The lines of the matrix."""
    header, rows = _found(text, shape)
    return "".join(f"{line}\n" for line in ([header] if header else []) + [row.line for row in rows])


def read(text: str, shape: Shape) -> Matrix:
    """The first matrix of the text."""
    header, rows = _found(text, shape)
    columns = _names(header, shape) if header else _by_marks(rows, shape)
    cells: Dict[Tuple[str, str], str] = {}
    beside: Dict[str, str] = {}
    short: List[str] = []
    for row in rows:
        if row.name not in columns:
            continue
        beside.setdefault(row.name, row.rest)
        for column, cell in zip(columns, row.cells):
            cells.setdefault((row.name, column), cell)
        if len(row.cells) < len(columns):
            short.append(row.name)
    missing = [name for name in columns if name not in beside]
    parts = [] if header else ["its header is missing"]
    parts += [f"the rows of {', '.join(missing)} are missing"] if missing else []
    parts += [f"the rows of {', '.join(short)} are cut off"] if short else []
    return Matrix(tuple(columns), cells, beside, "; ".join(parts) or None)


class _Row(NamedTuple):
    name: str
    cells: List[str]
    rest: str
    line: str


def _found(text: str, shape: Shape) -> Tuple[str, List[_Row]]:
    """The header, "" without one, and the rows beneath it."""
    header = ""
    rows: List[_Row] = []
    for line in lines(text):
        row = _row(line, shape)
        if row:
            rows.append(row)
        elif _is_header(line, shape):
            if header:
                break
            header, rows = line, []
    return header, rows[:_MOST]


def _is_header(line: str, shape: Shape) -> bool:
    names = _names(line, shape)
    left = _TITLES.sub("", shape.name.sub(" ", line))
    return bool(names) and not left and (len(names) > 1 or "Affinity" in line)


def _names(line: str, shape: Shape) -> List[str]:
    return list(dict.fromkeys(_canonical(found[0]) for found in shape.name.finditer(line)))[:_MOST]


def _canonical(name: str) -> str:
    return "".join(name.split())


def _row(line: str, shape: Shape) -> Optional[_Row]:
    start = _SEPARATOR.match(line)
    found = shape.name.match(line, start.end() if start else 0)
    if not found:
        return None
    cells: List[str] = []
    place = found.end()
    word = re.compile(r"[\s|]*([^\s|]+)")
    glued = re.compile(rf"(?:{shape.cell.pattern})+")
    while len(cells) < _MOST:
        next_word = word.match(line, place)
        if not next_word or not glued.fullmatch(next_word[1]):
            break
        cells += [one[0] for one in shape.cell.finditer(next_word[1])]
        place = next_word.end()
    return _Row(_canonical(found[0]), cells, line[place:].strip(" \t|"), line) if cells else None


def _by_marks(rows: List[_Row], shape: Shape) -> List[str]:
    """The columns where no header names them: a row's own mark tells its own one. A column without a row takes the
    number that its place gives, if all others do so too; else it has no name."""
    width = max((len(row.cells) for row in rows), default=0)
    columns = [""] * width
    for row in rows:
        if row.cells.count(shape.own) == 1:
            columns[row.cells.index(shape.own)] = row.name
    known = {place: name for place, name in enumerate(columns) if name}
    sample = next(iter(known.values()), "")
    counted = all(name == _numbered(sample, place) for place, name in known.items())
    return [name or (_numbered(sample, place) if counted else f"?{place}") for place, name in enumerate(columns)]


def _numbered(sample: str, place: int) -> str:
    """The sample's name with another number: its first."""
    return re.sub(r"[0-9]+", str(place), sample, count=1)
