"""`nvidia-smi topo -m` and `-mp`: the matrix of link classes.

The header carries terminal escapes even when piped, loses blanks when a terminal copies it (`NIC11NIC12`,
`NIC11CPU Affinity`), and names devices whose rows may be cut off.
"""

from __future__ import annotations

import re
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


def recognises(text: str) -> bool:
    """Whether this text holds such a matrix: a header that begins with a GPU and ends in affinities."""
    return _header(_ESCAPE.sub("", text).splitlines()) is not None


def own(text: str) -> str:
    """The lines of the matrix and of its legend of NICs, without what stands around them."""
    lines = _ESCAPE.sub("", text).splitlines()
    header = _header(lines)
    if header is None:
        return text
    columns = _columns(lines[header])
    return "".join(
        f"{line}\n"
        for place, line in enumerate(lines)
        if place == header or _LEGEND.match(line) or (place > header and _row(line, columns)[0])
    )


def parse(text: str) -> Matrix:
    """The matrix; empty where the text holds none."""
    text = _ESCAPE.sub("", text)
    lines = text.splitlines()
    header = _header(lines)
    if header is None:
        return Matrix((), (), {}, {}, "it has no header of devices")
    columns = _columns(lines[header])
    affinity = sum(title in lines[header] for title in _AFFINITY)
    legend = dict(_LEGEND.findall(text))
    names = {column: legend.get(column, column) for column in columns}
    cells: dict[tuple[str, str], str] = {}
    rows: dict[str, Row] = {}
    short = []
    for line in lines[header + 1 :]:
        name, values, beside = _row(line, columns)
        if name is None:
            continue
        for column, value in zip(columns, values):
            cells[names[name], names[column]] = _OLD_NAMES.get(value, value)
        rows[names[name]] = _beside(beside, affinity)
        if len(values) < len(columns):
            short.append(name)
    gpus = tuple(names[column] for column in columns if re.fullmatch(r"GPU\d{1,5}", column))
    missing = [column for column in columns if names[column] not in rows]
    return Matrix(
        gpus=gpus,
        nics=tuple(dict.fromkeys(names[column] for column in columns if names[column] not in gpus)),
        cells=cells,
        rows=rows,
        damage=_damage(missing, short),
    )


def _header(lines: list[str]) -> int | None:
    for place, line in enumerate(lines):
        if re.match(r"\s*GPU\d", line) and "CPU Affinity" in line and "Node Affinity" not in line:  # MetaX's has both
            return place
    return None


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
