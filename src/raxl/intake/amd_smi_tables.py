"""The tables of amd-smi's text: matrices of `topology` and `xgmi`, rows of `partition`, the boxes of `amd-smi`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from raxl.intake import amd_links
from raxl.intake.amd_links import Pair
from raxl.intake.amd_words import Told, note, tell
from raxl.model.identity import pci_address
from raxl.model.problem import Problem
from raxl.sources import tool_box
from raxl.sources.numbers import MOST_PLACES, whole

_TITLE = re.compile(r"\s*([A-Z][A-Z_ -]{2,40}(?:TABLE|STATUS|PARTITION|PROFILES)):\s*")
_BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_COLUMN = re.compile(rf"{_BDF}|GPU[0-9]{{1,5}}")
_ROW = re.compile(rf"[ \t]*(?:GPU([0-9]{{1,5}})[ \t]+)?({_BDF}|GPU[0-9]{{1,5}})(?:[ \t]+(.*))?")
_METRIC = re.compile(r"(XGMI|PCIE|N/A)\s*$")
_TRAFFIC = re.compile(r"N/A|[0-9.]+ ?[KMGTPE]?B")
_BOX_FIRST = re.compile(rf"\|[ \t]*({_BDF})[ \t]([^|]*)\|.*")
_BOX_SECOND = re.compile(r"\|[ \t]*([0-9]{1,5})[ \t]+(\S+)[ \t]+(\S+)[ \t]+([\w/]+)[ \t]*\|(.*)")
_BOX_ERRORS = re.compile(r"[ \t]([0-9]{1,15}|N/A)[ \t]+(?:[0-9]{1,6}/[0-9]{1,6} W|N/A)[ \t]*\|[ \t]*$")
"""The count of uncorrected errors (`UEC`) stands before the power."""
_BOX_END = re.compile(r"\+-[-+]*\+")
"""Opens and closes the box; between two GPUs a border has bars at its ends."""
_BOX_MEMORY = re.compile(r"[0-9]/([0-9]{1,15} [KMGT]B)")
_KEPT = re.compile(r"\s*(?:GPU_ID\b|GPU[0-9]|[0-9]{1,5}\s|Read\b|Write\b|bdf\b|\+-|\|[-=])")
_VERSION_LINE = re.compile(r"(ROCm|amdgpu) version:[ \t]*([^\s|]+)")
_LINES = (_TITLE, _ROW, _BOX_FIRST, _BOX_SECOND)
_CELLS = {"LINK TYPE TABLE": "type", "NUMA BW TABLE": "bandwidth", "XGMI LINK STATUS": "state"}


class Tables(NamedTuple):
    """What the tables say, in the tool's words."""

    told: Told
    pairs: list[Pair]
    versions: list[tuple[str, str]]
    damage: list[Problem]


def keep(lines: Iterable[str]) -> Iterator[str]:
    """The lines of such tables; the box of processes is left out."""
    is_box = False
    for line in lines:
        if re.match(r"\|\s*(Processes:|GPU\s+PID\b)", line):
            is_box = True
        if is_box and line.startswith(("|", "+")):
            continue
        is_box = False
        is_shaped = any(pattern.fullmatch(line) for pattern in _LINES)
        if is_shaped or _KEPT.match(line) or _VERSION_LINE.search(line) or _columns(line):
            yield line


def read(lines: Sequence[str], form: str) -> Tables:
    """Every table of the text; a matrix that lacks rows or cells is told."""
    told: Told = {}
    pairs: list[Pair] = []
    damage: list[Problem] = []
    place = 0
    while place < len(lines):
        title = _TITLE.fullmatch(lines[place])
        place += 1
        if not title:
            continue
        end = place
        while end < len(lines) and not _TITLE.fullmatch(lines[end]) and not lines[end].startswith("GPU:"):
            end += 1
        body = [line for line in lines[place:end] if line.strip()]
        if title[1].endswith(("PARTITION", "PROFILES")):
            _partitions(body, told)
        elif body and title[1] == "LINK METRIC TABLE":
            pairs += _metrics(body, told)
        elif body:
            damage += _matrix(form, title[1], body, told, pairs)
        place = end
    damage += _boxes(lines, form, told)
    versions = [(name, words) for line in lines for name, words in _VERSION_LINE.findall(line)]
    return Tables(told, pairs, versions, damage)


def _columns(header: str) -> list[str]:
    words = header.split()
    return words if words and all(_COLUMN.fullmatch(word) for word in words) else []


def _numbers(columns: Sequence[str], told: Told) -> list[int]:
    """The tool's number of each column: it names GPUs by number or, in their order, by address."""
    numbers = []
    for place, name in enumerate(columns):
        number = int(name[3:]) if name.startswith("GPU") else place
        card = told.setdefault(number, {})
        if not name.startswith("GPU"):
            tell(card, "address", name)
        numbers.append(number)
    return numbers


def _matrix(form: str, title: str, body: Sequence[str], told: Told, pairs: list[Pair]) -> list[Problem]:
    columns = _columns(body[0].replace("bdf", "", 1))
    if not columns:
        return []
    numbers = _numbers(columns, told)
    by_name = {pci_address(name) or name: number for name, number in zip(columns, numbers)}
    rows: dict[str, int] = {}
    for line in body[1:]:
        found = _ROW.fullmatch(line)
        name = found and (f"GPU{found[1]}" if found[1] else pci_address(found[2]) or found[2])
        if not found or name not in by_name:
            continue
        if found[1]:
            tell(told[by_name[name]], "address", found[2])
        cells = (found[3] or "").split()[: len(columns)]
        rows[columns[numbers.index(by_name[name])]] = len(cells)
        if title in _CELLS:
            for number, cell in zip(numbers, cells):
                pairs.append(Pair(by_name[name], number, **{_CELLS[title]: cell}))
                if title == "XGMI LINK STATUS" and cell in "UD":
                    pairs.append(Pair(by_name[name], number, "XGMI"))
    return amd_links.damage(form, title, columns, rows)


def _metrics(body: Sequence[str], told: Told) -> Iterator[Pair]:
    """The traffic of each link: a pair that has a figure is joined by the row's kind of link."""
    columns = [word for word in body[0].split() if _COLUMN.fullmatch(word)]
    numbers = _numbers(columns, told)
    own, kind = None, ""
    for line in body[1:]:
        found = _ROW.fullmatch(line)
        if found and found[1]:
            own, metric = whole(found[1], MOST_PLACES), _METRIC.search(found[3] or "")
            kind = metric[1] if metric else ""
            tell(told.setdefault(int(found[1]), {}), "address", found[2])
        elif own is not None and line.split()[0] in ("Read", "Write"):
            cells = _TRAFFIC.findall(line)
            yield from (Pair(own, number, kind) for number, cell in zip(numbers, cells) if cell != "N/A")


def _partitions(body: Sequence[str], told: Told) -> None:
    """Rows below `GPU_ID …`. Of a row with fewer words than columns only the number and the last one are read."""
    columns: list[str] = []
    for line in body:
        words = line.split()
        if words[0] == "GPU_ID":
            columns = [word.lower() for word in words]
            continue
        number = whole(words[0], MOST_PLACES)
        if number is None or not columns or line[0].isspace():
            continue
        card = told.setdefault(number, {})
        if "profile_index" in columns:
            continue
        row = dict(zip(columns, words)) if len(words) == len(columns) else {columns[-1]: words[-1]}
        named = {"memory": "memory_partition", "current_memory_partition": "memory_partition"}
        named.update({"accelerator_type": "compute_partition", "partition_id": "partition_id"})
        for column, field in named.items():
            if column in row and len(words) > 1:
                tell(card, field, row[column])


def _boxes(lines: Sequence[str], form: str, told: Told) -> tuple[Problem, ...]:
    """`amd-smi` without a command (ROCm 7): two lines a GPU, the first with address and name. A box that nothing closes
    is told."""
    first: re.Match[str] | None = None
    rows: set[str] = set()
    for line in lines:
        second = _BOX_SECOND.fullmatch(line) if first else None
        if first and second:
            mode, _, memory_mode = second[4].partition("/")
            said = {"address": first[1], "model": first[2], "hip_id": second[2], "oam_id": second[3]}
            said.update(compute_partition=mode, memory_partition=memory_mode or "N/A")
            if second[4].upper() == "N/A":
                said.update(compute_partition="N/A", memory_partition="N/A")
            memory = _BOX_MEMORY.search(second[5])
            said.update({"memory": memory[1]} if memory else {})
            errors = _BOX_ERRORS.search(first[0])
            said.update({"ecc_uncorrectable": errors[1]} if errors else {})
            rows.add(line)
            note(told, int(second[1]), said)
        first = _BOX_FIRST.fullmatch(line)
        rows.update([line] if first else [])
    return tool_box.damage("amd-smi", form, lines, rows, _BOX_END)
