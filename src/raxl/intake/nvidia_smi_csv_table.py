"""The tables in a text of `nvidia-smi --query-gpu`: headers, rows, cells, and where the output was cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from raxl.intake import nvidia_smi_fields as fields
from raxl.sources import nvidia_smi_values as values

CUT = "…"
"""What stands for a cell in which the output ends."""
SURE = {
    "uuid": re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE),
    "address": re.compile(r"[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]", re.IGNORECASE),
    "model": re.compile(
        r"(?=[^,\n]{0,80}[0-9])(?:NVIDIA|Tesla|Quadro|GeForce|GRID|TITAN)(?: (?:[A-Z0-9(][\w.()/+-]{0,30}|with)){1,8}"
        r"|[A-Z]{1,2}[0-9]{2,4}-(?:SXM|PCIE)[\w-]{0,20}"
    ),
    "driver": re.compile(r"[3-9][0-9]{2}\.[0-9]{2,3}\.[0-9]{2}"),
}
"""Cells that leave no doubt, by the word that they are."""
_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)(?: \[([A-Za-z%/]{1,12})\])?")
_PROCESS = re.compile(r"pid|process_name|used_(gpu_)?memory")
_PLAIN = re.compile(
    r"[0-9./: -]{1,40}(?: (?:MiB|W|C|%|MHz|us|KB/s))?|P[0-9]{1,2}|0x[0-9A-Fa-f]{1,16}|…"
    r"|\[?(?:N/A|Not Supported|Unknown Error|ERR!|Enabled|Disabled|Default|Active|Not Active|Yes|No)\]?"
)
"""Cells that may be kept where nobody says of which column they are."""
_TITLE = re.compile(r"[A-Za-z][A-Za-z0-9 _.()/\[\]%-]{0,60}")
_OTHER_VENDOR = re.compile(r"card[0-9]{1,5}|(?:AMD|Advanced Micro)\b.*|.*\b(?:Instinct|Radeon)\b.*")
_STEADY = ("name", "gpu_name", "serial", "gpu_serial", "memory.total", "driver_version", "vbios_version")
"""Fields whose words are whole words: the beginning of another GPU's is no word of its own."""
_LONGEST_LINE = 1 << 16
"""Characters: a row of all 241 fields takes ten thousand."""

Columns = tuple[tuple[str | None, str | None], ...]
"""Name and unit of each column. Without a header the names are those of the words that its cells must be."""


class Table(NamedTuple):
    """Columns, and the cells of each row."""

    columns: Columns
    rows: tuple[tuple[str, ...], ...]
    has_header: bool


def tables(text: str) -> list[Table]:
    """The tables with a header; where there is none, the rows that name GPUs without doubt as one."""
    lines = values.lines(text, _LONGEST_LINE)
    while lines and not lines[-1]:
        lines.pop()
    ended = text.endswith(("\n", "\r"))
    found: list[Table] = []
    place = 0
    while place < len(lines):
        columns = _header(lines[place])
        rows, end = _rows(lines, place, columns) if columns else ((), 0)
        if columns and _is_nvidias(columns, rows):
            table = Table(columns, rows, True)
            found.append(_marked(table, ended) if end == len(lines) else table)
        place = max(end, place + 1)
    bare = found or _without_header(lines)
    return [table for table in bare if table.rows]


def _without_header(lines: Sequence[str]) -> list[Table]:
    ends = next((place for place, line in enumerate(lines) if _is_of_processes(line)), len(lines))
    bare = [(place, tuple(cells_of(line))) for place, line in enumerate(lines[:ends]) if _names_a_gpu(line)]
    width = len(bare[0][1]) if bare else 0
    rows = tuple(row for _, row in bare if len(row) == width)
    if width == 1 and len(rows) < sum(1 for line in lines if line.strip() and "nvidia-smi" not in line):
        rows = ()  # one cell a line is a table only where nothing else stands beside it
    if bare and bare[0][0] and _is_foreign_title(lines[bare[0][0] - 1], width):
        rows = ()
    return [Table(_guessed(rows), rows, False)]


def _is_foreign_title(line: str, width: int) -> bool:
    """Whether the line names as many columns as the rows beneath have, and they are not nvidia-smi's."""
    cells = cells_of(line)
    return width > 1 and len(cells) == width and all(map(_TITLE.fullmatch, cells)) and not _names_a_gpu(line)


def _header(line: str) -> Columns | None:
    found = [_FIELD.fullmatch(cell) for cell in cells_of(line)]
    names = [cell[1].lower() for cell in found if cell]
    if len(names) < len(found) or any(_PROCESS.fullmatch(name) for name in names) or not fields.is_header(names):
        return None
    return tuple((cell[1], cell[2]) for cell in found if cell)


def _is_nvidias(columns: Columns, rows: Sequence[Sequence[str]]) -> bool:
    """Whether a field, a unit or a cell is there that no other table has."""
    if any(unit or fields.is_telling((name or "").lower()) for name, unit in columns):
        return not any(map(_OTHER_VENDOR.fullmatch, (cell for row in rows for cell in row)))
    return any(_is_telling(cell) for row in rows for cell in row)


def _is_telling(cell: str) -> bool:
    bracketed = cell.startswith("[") or cell == "ERR!"
    return any(shape.fullmatch(cell) for shape in SURE.values()) or (
        bracketed and (values.is_failure(cell) or bool(values.NOTHING.fullmatch(cell)))
    )


def _is_of_processes(line: str) -> bool:
    """Whether the line is the header of `--query-compute-apps`, which may name its GPUs' UUIDs too."""
    return any(_PROCESS.fullmatch(cell.split(" ")[0]) for cell in cells_of(line))


def _rows(lines: Sequence[str], header: int, columns: Columns) -> tuple[tuple[tuple[str, ...], ...], int]:
    """The rows beneath a header and the place after them. The text's last may be cut off; the header again begins
    another round of them."""
    rows: list[tuple[str, ...]] = []
    width = len(columns)
    for place in range(header + 1, len(lines)):
        line = lines[place]
        if not line.strip() or line == lines[header]:
            continue
        cells = cells_of(line)
        is_short = place == len(lines) - 1 and 1 < len(cells) < width
        is_strange = width == 1 and not is_kept(cells[0]) and not (place == len(lines) - 1 and cells[0][:4] == "GPU-")
        if (len(cells) != width and not is_short) or is_strange or _header(line):
            return tuple(rows), place
        rows.append(tuple(cells))
    return tuple(rows), len(lines)


def _marked(table: Table, is_ended: bool) -> Table:
    """The table with `CUT` for the text's last cell, where it is less than such a cell is."""
    *before, last = table.rows or ((),)
    if not last:
        return table
    place = len(last) - 1
    name, unit = table.columns[place]
    others = [row[place] for row in before if len(row) > place]
    beside = [cell for (_, other), cell in zip(table.columns, last[:-1]) if other]
    if _is_part(last[-1], (name or "").lower(), unit, others, beside, is_ended):
        last = (*last[:-1], CUT)
    return table._replace(rows=(*before, last))


def _is_part(
    cell: str, name: str, unit: str | None, others: Sequence[str], beside: Sequence[str], is_ended: bool
) -> bool:
    """Whether a cell is the beginning of one. `others` stand above it, `beside` are its row's others with a unit."""
    if cell.startswith("[") and not cell.endswith("]"):
        return True
    if name.endswith("uuid") and "cluster" not in name and "GPU-".startswith(cell[:4]) and cell:
        return not SURE["uuid"].fullmatch(cell) and len(cell) < 40 and not _is_redacted(cell, others)
    if name.endswith("bus_id") and re.fullmatch(r"[0-9A-Fa-f:.]+", cell):
        return not SURE["address"].fullmatch(cell)
    number = re.fullmatch(r"[0-9]+(?:\.[0-9]*)?( .*)?", cell) if unit else None
    if number and number[1] != f" {unit}":
        shown = [bool(re.fullmatch(r"[0-9.]+ .+", other)) for other in (*others, *beside)]
        if number[1] is not None or any(shown) or (not is_ended and name == "memory.total" and len(cell) < 4):
            return True  # no GPU of today has less than 1000 MiB
    return not is_ended and name in _STEADY and (not cell or _is_beginning(cell, others))


def _is_beginning(cell: str, others: Sequence[str]) -> bool:
    return any(other != cell and other.startswith(cell) for other in others)


def _is_redacted(cell: str, others: Sequence[str]) -> bool:
    return bool(others) and all(len(other) == len(cell) for other in others)


def cells_of(line: str) -> list[str]:
    """The cells of a line, without the quotes that a spreadsheet puts around them."""
    return [cell[1:-1] if cell[:1] == cell[-1:] == '"' and len(cell) > 1 else cell for cell in _split(line)]


def _split(line: str) -> Iterator[str]:
    return (cell.strip() for cell in line.split(","))


def _names_a_gpu(line: str) -> bool:
    cells = cells_of(line)
    strong = any(SURE[name].fullmatch(cell) for cell in cells for name in ("uuid", "address", "model"))
    strange = any(":" in cell and " " in cell and not is_kept(cell) for cell in cells)
    return strong and not strange and not any(map(_OTHER_VENDOR.fullmatch, cells))


def is_kept(cell: str) -> bool:
    """Whether a cell may be kept where nobody says of which column it is."""
    return bool(_PLAIN.fullmatch(cell)) or any(shape.fullmatch(cell) for shape in SURE.values())


def _guessed(rows: Sequence[Sequence[str]]) -> Columns:
    """The names of columns that leave no doubt, each once; None for the others."""
    names: list[str | None] = []
    for place in range(len(rows[0]) if rows else 0):
        cells = [row[place] for row in rows]
        name = next((name for name, shape in SURE.items() if all(map(shape.fullmatch, cells))), None)
        if name is None and place == 0 and len(rows) > 1 and cells == [str(number) for number in range(len(rows))]:
            name = "index"
        names.append(name if name not in names else None)
    return tuple((name, None) for name in names)
