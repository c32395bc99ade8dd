"""The tables of rocm-smi's text: matrices of `--showtopo`, the concise table, and the hardware table of `--showhw`."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

from raxl.intake import amd_links
from raxl.intake.amd_links import Pair
from raxl.intake.amd_words import Told, tell
from raxl.model.problem import Problem

_TITLE = re.compile(r"[ \t]*=+([^=]+)=+[ \t]*")
_MATRIX = re.compile(r"(Weight|Hops|Link Type|Bandwidth|Link accessibility)\b.{0,40} between two GPUs", re.IGNORECASE)
_HEADER = re.compile(r"[ \t]*GPU[0-9]+([ \t]+GPU[0-9]+)*[ \t]*")
_ROW = re.compile(r"[ \t]*(GPU[0-9]{1,5})(?:[ \t](.*))?")
_CELLS = {"link type": "type", "bandwidth": "bandwidth"}
_LISTING = re.compile(r"(Device|GPU)[ \t]+\S.*")
_ENTRY = re.compile(r"([0-9]{1,5})[ \t]+(\S.*)")
_NAME = re.compile(r"[ \t]{4,}(\S.*)")
_DEVICE = re.compile(r"0x([0-9a-fA-F]{4})\b")
_MODES = re.compile(r"(NPS[0-9]|N/A),[ \t]{0,8}([A-Z]{3}|N/A)\b(?:,[ \t]{0,8}([0-9]{1,2}|N/A)\b)?")
_BUS = re.compile(r"\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b")
_GFX = re.compile(r"\bgfx[0-9a-f]{3,5}\b")
_CUT_NAME = 20
"""The concise table has room for so many characters of a name: one that is as long may be cut."""


class Tables(NamedTuple):
    """What the tables say, in the tool's words."""

    told: Told
    pairs: list[Pair]
    damage: list[Problem]


def kept(lines: Sequence[str]) -> Set[int]:
    """The places of the tables' lines."""
    return {place for first, last in [*_matrices(lines), *_listings(lines)] for place in range(first, last)}


def read(lines: Sequence[str], form: str) -> Tables:
    """Every table of the text; a matrix that lacks rows or cells is told."""
    told: Told = {}
    pairs: list[Pair] = []
    damage: list[Problem] = []
    for first, last in _matrices(lines):
        damage += _matrix(form, lines[first - 1], lines[first:last], told, pairs)
    for first, last in _listings(lines):
        _listing(lines[first:last], told)
    return Tables(told, pairs, damage)


def _matrices(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where matrices stand: below their title, up to a blank line or the next title."""
    found = []
    for place, line in enumerate(lines):
        title = _TITLE.fullmatch(line)
        if title and _MATRIX.match(title[1].strip()):
            end = place + 1
            while end < len(lines) and not _TITLE.fullmatch(lines[end]) and _ROW.fullmatch(lines[end]):
                end += 1
            found.append((place + 1, end))
    return found


def _listings(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where the concise and the hardware table stand: from the line of their columns to a line of neither kind."""
    found = []
    place = 0
    while place < len(lines):
        header = lines[place]
        start, place = place, place + 1
        if not (_LISTING.fullmatch(header) and re.search(r"\bTemp\b|\bDID\b|\bBUS\b", header)):
            continue
        while place < len(lines) and (
            not lines[place].strip()
            or lines[place].strip(" =") == ""
            or _ENTRY.fullmatch(lines[place])
            or _NAME.fullmatch(lines[place])
        ):
            place += 1
        found.append((start, place))
    return found


def _matrix(form: str, title: str, body: Sequence[str], told: Told, pairs: list[Pair]) -> list[Problem]:
    named = _TITLE.fullmatch(title)
    name = " ".join((named[1] if named else "").split())
    if not body or not _HEADER.fullmatch(body[0]):
        return []
    columns = list(dict.fromkeys(body[0].split()))
    for column in columns:
        told.setdefault(int(column[3:]), {})
    field = _CELLS.get(name.lower().split(" between")[0])
    rows: dict[str, int] = {}
    for line in body[1:]:
        row = _ROW.fullmatch(line)
        if row and row[1] in columns:
            cells = (row[2] or "").split()[: len(columns)]
            rows[row[1]] = len(cells)
            if field:
                ends = zip(columns, cells)
                pairs += [Pair(int(row[1][3:]), int(other[3:]), **{field: cell}) for other, cell in ends]
    return amd_links.damage(form, name, columns, rows)


def _listing(body: Sequence[str], told: Told) -> None:
    """A row a GPU: what can be told by its shape, whatever the release's columns. A name may follow in a row of its
    own."""
    has_ids = "DID" in body[0] or "Model" in body[0] or "IDs" in body[0]
    card: dict[str, str] | None = None
    for line in body[1:]:
        entry, name = _ENTRY.fullmatch(line), _NAME.fullmatch(line)
        if entry:
            card = told.setdefault(int(entry[1]), {})
            _entry(entry[2], card, has_ids, body[0].rstrip().endswith("PARTITION ID"))
        elif name and card is not None:
            field = "model" if len(name[1].strip()) < _CUT_NAME else "short_model"
            tell(card, field, name[1])


def _entry(words: str, card: dict[str, str], has_ids: bool, has_partition: bool) -> None:
    device, modes, bus, gfx = (one.search(words) for one in (_DEVICE, _MODES, _BUS, _GFX))
    said: dict[str, str | None] = {
        "device_id": device[1] if device and has_ids else None,
        "memory_partition": modes[1] if modes else None,
        "compute_partition": modes[2] if modes else None,
        "partition_id": modes[3] if modes else words.split()[-1] if has_partition else None,
        "address": bus[0] if bus else None,
        "architecture": gfx[0] if gfx else None,
    }
    for field, value in said.items():
        if value is not None:
            tell(card, field, value)
