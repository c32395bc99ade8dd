"""`nvidia-smi topo -m` and `-mp`: the matrix of link classes.

The header carries terminal escapes even when piped, loses blanks when a terminal copies it (`NIC11NIC12`,
`NIC11CPU Affinity`), and names devices whose rows may be cut off.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from raxl.sources import kernel_list
from raxl.sources.numbers import MOST_PLACES, whole

COMMAND = ("nvidia-smi", "topo", "-m")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_AFFINITY = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_COLUMN = re.compile(r"(?:GPU|NIC)\d{1,5}|\S+")
_CELL = re.compile(r"X|SYS|NODE|PHB|PXB|PIX|NV\d{1,3}|SOC|N/A")
_CELLS = re.compile(rf"(?:{_CELL.pattern})+")
_LEGEND = re.compile(r"^\s*(NIC\d+):\s*(\S+)\s*$", re.MULTILINE)
_END = re.compile(r"\s*Legend:|.*\bnvidia-smi\s+topo\b|\s*GPU\d{1,5}(?:\s+GPU\d{1,5})+\s*$")
_OLD_NAMES = {"SOC": "SYS"}
"""Drivers before 2016 called SYS so."""


class Row(NamedTuple):
    """What stands beside a device's cells."""

    numa_node: int | None
    local_numa_nodes: tuple[int, ...]
    memory_numa_node: int | None


class Matrix(NamedTuple):
    """Devices in column order, the class of each ordered pair that a row gives, and each row's affinity."""

    gpus: tuple[str, ...]
    nics: tuple[str, ...]
    """The legend's name where there is one, else the column's."""
    cells: dict[tuple[str, str], str]
    rows: dict[str, Row]
    damage: str | None
    """Which rows are missing or short."""
    differences: tuple[str, ...] = ()
    """What two matrices of one text say differently of a pair."""


class _Section(NamedTuple):
    """One matrix as it is printed: its header, its rows, and the legend's name of each column."""

    columns: list[str]
    affinity: int
    names: dict[str, str]
    lines: list[str]
    own: list[str]
    """Its lines, and those of its legend."""


def recognises(text: str) -> bool:
    """Whether this text holds such a matrix: a header that begins with a GPU and ends in affinities."""
    return any(map(_is_header, _ESCAPE.sub("", text).splitlines()))


def own(text: str) -> str:
    """The lines of each matrix and of its legend of NICs, without what stands around them."""
    sections = _sections(text)
    return "".join(f"{line}\n" for section in sections for line in section.own) if sections else text


@lru_cache(maxsize=128)
def parse(text: str) -> Matrix:
    """The matrix, which machines of one kind have in common; empty where the text holds none.

    Of several matrices (`-m` and `-mp`, or one asked twice) each is read by itself: NVLink stands before the PCIe path
    beside it, else the first that says anything.
    """
    sections = _sections(text)
    if not sections:
        return Matrix((), (), {}, {}, "it has no header of devices")
    cells: dict[tuple[str, str], str] = {}
    rows: dict[str, Row] = {}
    whole_rows: set[str] = set()
    differences: dict[str, None] = {}
    for section in sections:
        for line in section.lines:
            name, values, beside = _row(line, section.columns)
            if name is None:
                continue
            for column, value in zip(section.columns, values):
                pair = section.names[name], section.names[column]
                _note(cells, pair, _OLD_NAMES.get(value, value), differences)
            rows[section.names[name]] = _fuller(rows.get(section.names[name]), _beside(beside, section.affinity))
            if len(values) == len(section.columns):
                whole_rows.add(section.names[name])
    columns = {section.names[column]: column for section in sections for column in section.columns}
    gpus = tuple(name for name, column in columns.items() if re.fullmatch(r"GPU\d{1,5}", column))
    missing = [column for name, column in columns.items() if name not in rows]
    short = [column for name, column in columns.items() if name in rows and name not in whole_rows]
    nics = tuple(name for name in columns if name not in gpus)
    return Matrix(gpus, nics, cells, rows, _damage(missing, short), tuple(differences))


def _note(cells: dict[tuple[str, str], str], pair: tuple[str, str], value: str, differences: dict[str, None]) -> None:
    """Notes one more word for a pair: NVLink stands before a PCIe path, any class before `N/A`."""
    known = cells.setdefault(pair, value)
    if known == value or value in ("X", "N/A"):
        return
    if known in ("X", "N/A") or (value.startswith("NV") and not known.startswith("NV")):
        cells[pair] = value
    elif known.startswith("NV") == value.startswith("NV"):
        differences[f"one matrix calls {'–'.join(sorted(pair))} {known}, another {value}"] = None


def _fuller(known: Row | None, row: Row) -> Row:
    return row if known is None or known == Row(None, (), None) else known


def _sections(text: str) -> list[_Section]:
    """Each matrix of the text. It ends at its legend, at a command, at the next one's header or a `-p2p` matrix's."""
    lines = _ESCAPE.sub("", text).splitlines()
    starts = [place for place, line in enumerate(lines) if _is_header(line)]
    everywhere = dict(found for line in lines for found in _LEGEND.findall(line)) if starts else {}
    return [_section(lines[start:end], everywhere) for start, end in zip(starts, [*starts[1:], len(lines)])]


def _section(lines: list[str], everywhere: dict[str, str]) -> _Section:
    columns = _columns(lines[0])
    legend = dict(found for line in lines for found in _LEGEND.findall(line)) or everywhere
    end = next((place for place, line in enumerate(lines) if place and _END.match(line)), len(lines))
    rows = [line for line in lines[1:end] if _row(line, columns)[0]]
    return _Section(
        columns=columns,
        affinity=sum(title in lines[0] for title in _AFFINITY),
        names={column: legend.get(column, column) for column in columns},
        lines=rows,
        own=[lines[0], *rows, *(line for line in lines if _LEGEND.match(line))],
    )


def _is_header(line: str) -> bool:
    """Whether the matrix's columns stand in it; MetaX's has a column of its own."""
    return "CPU Affinity" in line and "Node Affinity" not in line and bool(re.match(r"\s*GPU\d", line))


def _columns(header: str) -> list[str]:
    return list(dict.fromkeys(_COLUMN.findall(header.split("CPU Affinity")[0])))


def _row(line: str, columns: list[str]) -> tuple[str | None, list[str], str]:
    """A device's name, its cells, and the rest of the line."""
    found = re.match(r"\s*(\S+)(\s+|$)", line)
    if not found or found[1] not in columns:
        return None, [], ""
    values: list[str] = []
    place = found.end()
    while len(values) < len(columns):
        word = re.compile(r"\s*(\S+)").match(line, place)
        if not word or not _CELLS.fullmatch(word[1]):
            break
        values += _CELL.findall(word[1])
        place = word.end()
    return found[1], values[: len(columns)], line[place:]


def _beside(text: str, affinity: int) -> Row:
    """CPU list, NUMA node or list, and the node of the GPU's own memory. Blank columns show only between tabs."""
    words = [word.strip() for word in text.strip("\r\n").split("\t")[1:]] if "\t" in text else text.split()
    if affinity < 2 or len([word for word in words if word]) < 2:
        return Row(None, (), None)
    if "\t" not in text and len(words) != affinity:
        return Row(None, (), None)
    numa = kernel_list.parse(words[1] or "?") or frozenset()
    last = words[-1] if affinity > 2 else ""
    return Row(
        numa_node=next(iter(numa)) if len(numa) == 1 else None,
        local_numa_nodes=tuple(sorted(numa)),
        memory_numa_node=whole(last, MOST_PLACES) if len(words) > 2 else None,
    )


def _damage(missing: list[str], short: list[str]) -> str | None:
    parts = [f"the rows of {', '.join(missing)} are missing"] if missing else []
    parts += [f"the rows of {', '.join(short)} are cut off"] if short else []
    return "; ".join(parts) or None
