"""`hl-smi -Q … -f csv`: a row a Gaudi, with a header or without.

https://docs.habana.ai/en/latest/Management_and_Monitoring/Embedded_System_Tools_Guide/System_Management_Interface_Tool.html
Without its header a column is known by its cells alone, as far as they leave no doubt.
"""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Sequence, Tuple

from raxl.model.identity import pci_address
from raxl.sources.hl_smi import BDF, Device, Log
from raxl.sources.tool_words import lines

COMMAND = (
    "hl-smi",
    "-Q",
    "index,module_id,uuid,serial,name,bus_id,driver_version,memory.total",
    "-f",
    "csv",
)
FORM = "hl-smi -Q"
_COLUMNS = {
    "index": "index",
    "module_id": "module_id",
    "uuid": "uuid",
    "serial": "serial",
    "name": "model",
    "bus_id": "address",
    "driver_version": "driver",
    "nic_driver_version": "nic_driver",
    "memory.total": "memory",
}
_HEADER_CELL = re.compile(r"([a-z_]{2,30}(?:\.[a-z_]{2,30})*)(?: \[([A-Za-z%/]{1,10})\])?")
_MODEL = re.compile(r"HL-[0-9]{3}[\w-]{0,20}")
_DRIVER = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}-[0-9a-f]{6,12}")
_UUID = re.compile(r"[0-9A-Z]{2,8}-HL[0-9A-Z]{4,12}(?:-[0-9A-Z]{1,10}){3,8}")
_OF_GAUDI = re.compile(rf"(?:^|,)\s*(?:{_MODEL.pattern}|{_UUID.pattern})\s*(?:,|$)")


def recognises(text: str) -> bool:
    """Whether rows of Gaudis stand in the text: `HL-225`, or a Gaudi's UUID, as a cell, or a header of Gaudi's own."""
    return bool(_rows(text)[1])


def own(text: str) -> str:
    """Header and rows; without a header, of each row the cells that leave no doubt."""
    header, rows = _rows(text)
    kept = [", ".join(header)] if header else []
    for row in rows:
        cells = row if header else [cell if _sure(cell) or cell.isdecimal() else "?" for cell in row]
        kept.append(", ".join(cells))
    return "".join(f"{line}\n" for line in kept)


def read(text: str) -> Log:
    """The devices of the rows; without a header a cell is known by its shape alone."""
    header, rows = _rows(text)
    devices: Dict[str, Device] = {}
    versions: Dict[str, str] = {}
    for place, row in enumerate(rows):
        words = _named(header, row) if header else _guessed(row)
        if words.get("driver"):
            versions.setdefault("Driver", words["driver"])
        if words.get("nic_driver"):
            versions.setdefault("Nic Driver", words["nic_driver"])
        same = pci_address(words.get("address")) or words.get("uuid") or words.get("index") or f"#{place}"
        devices[same] = Device(words, bool(header) and len(row) < len(header))
    return Log(tuple(devices.values()), versions, (), FORM)


def _cells(line: str) -> List[str]:
    return [cell.strip() for cell in line.split(",")][:64]


def _rows(text: str) -> Tuple[List[str], List[List[str]]]:
    """The header's cells, none without one, and the rows. A header alone that NVIDIA's tool may print is not ours."""
    held = [_cells(line) for line in lines(text) if "," in line or _OF_GAUDI.search(line)]
    for place, cells in enumerate(held):
        if not _is_header(cells):
            continue
        rows = [row for row in held[place + 1 :] if 1 < len(row) <= len(cells) and row != cells and "|" not in row[0]]
        telling = "bus_id" in cells or any(".aip" in cell for cell in cells)
        if rows and (telling or any(_OF_GAUDI.search(",".join(row)) for row in rows)):
            return cells, rows
    bare = [row for row in held if _OF_GAUDI.search(",".join(row)) and "|" not in ",".join(row)]
    return [], bare


def _is_header(cells: Sequence[str]) -> bool:
    found = [_HEADER_CELL.fullmatch(cell) for cell in cells]
    return all(found) and any(cell and cell[1] in _COLUMNS for cell in found)


def _named(header: Sequence[str], row: Sequence[str]) -> Dict[str, str]:
    words: Dict[str, str] = {}
    for title, cell in zip(header, row):
        found = _HEADER_CELL.fullmatch(title)
        word = _COLUMNS.get(found[1]) if found else None
        if found and word:
            words.setdefault(word, f"{cell} {found[2]}" if found[2] and cell.isdecimal() else cell)
    return words


def _sure(cell: str) -> Optional[str]:
    """Which word a cell must be, by its shape."""
    shapes = {"model": _MODEL, "driver": _DRIVER, "uuid": _UUID, "address": re.compile(BDF)}
    return next((word for word, shape in shapes.items() if shape.fullmatch(cell)), None)


def _guessed(row: Sequence[str]) -> Dict[str, str]:
    """The words of a row without a header. A number in its first cell is the index, as every guide asks for it."""
    words = {word: cell for cell in row if (word := _sure(cell))}
    if row[0].isdecimal() and len(row) > 1:
        words["index"] = row[0]
    return words
