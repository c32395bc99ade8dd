"""`nvidia-smi --query-gpu=… --format=csv[,noheader][,nounits]`: a row a GPU, and a row more each time it was asked.

Without its header a column is known by its cells alone, as far as they leave no doubt: a UUID, a bus id, a product's
name, a driver's version, the rows' numbers. All else is left unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from raxl.intake.foreign import Foreign
from raxl.model.identity import pci_address
from raxl.model.problem import DISAGREEMENT, NOT_ASKED, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole
from raxl.sources.nvidia_smi_device import claim, distinct, slug, software

FORM = "nvidia-smi --query-gpu"
_COLUMNS = {
    "name": "model",
    "gpu_name": "model",
    "uuid": "uuid",
    "gpu_uuid": "uuid",
    "serial": "serial",
    "gpu_serial": "serial",
    "pci.bus_id": "address",
    "gpu_bus_id": "address",
    "index": "index",
    "count": "count",
    "driver_version": "driver",
    "kmd_version": "driver",
    "hostname": "hostname",
    "memory.total": "memory",
    "vbios_version": "vbios",
    "mig.mode.current": "mig_mode",
    "addressing_mode": "addressing_mode",
    "gpu_recovery_action": "recovery_action",
    "compute_cap": "compute_capability",
    "pci.device_id": "device_id",
    "pci.sub_device_id": "subsystem_id",
    "pcie.link.gen.current": "link_generation",
    "pcie.link.gen.max": "link_most_generation",
    "pcie.link.width.current": "link_width",
    "pcie.link.width.max": "link_most_width",
    "fabric.state": "fabric_state",
    "fabric.cliqueid": "fabric_clique",
    "fabric.clusteruuid": "fabric_cluster",
}
"""The fields that are read, in lower case, and the words that they give."""
_FIELD = re.compile(r"([A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)(?: \[([A-Za-z%/]{1,12})\])?")
_IDENTITY = re.compile(r".*(serial_number|guid|pdi)")
"""Identities of which nothing is read: no recording needs them."""
_PROCESS = re.compile(r"pid|process_name|used_(gpu_)?memory")
_PLAIN = re.compile(
    r"[0-9./: -]{1,40}(?: (?:MiB|W|C|%|MHz|us|KB/s))?|P[0-9]{1,2}|0x[0-9A-Fa-f]{1,16}"
    r"|\[?(?:N/A|Not Supported|Unknown Error|ERR!|Enabled|Disabled|Default|Active|Not Active|Yes|No)\]?"
)
"""Cells that may be kept where nobody says of which column they are."""
_LONGEST_LINE = 1 << 16
"""Characters: a row of all 241 fields takes ten thousand."""
_MOST_NAMELESS = 64
"""More GPUs than a machine has: more rows without a number, a UUID or an address are readings of the same ones."""
_TOLD = 4
"""How many contradictions a message names."""
_SURE = {
    "uuid": re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE),
    "address": re.compile(r"[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]", re.IGNORECASE),
    "model": re.compile(
        r"(?=[^,\n]{0,80}[0-9])(?:NVIDIA|Tesla|Quadro|GeForce|GRID|TITAN)(?: (?:[A-Z0-9(][\w.()/+-]{0,30}|with)){1,8}"
        r"|[A-Z]{1,2}[0-9]{2,4}-(?:SXM|PCIE)[\w-]{0,20}"
    ),
    "driver": re.compile(r"[3-9][0-9]{2}\.[0-9]{2,3}\.[0-9]{2}"),
}


Columns = tuple[tuple[str | None, str | None], ...]
"""Name and unit of each column. Without a header the names are those of the words that its cells must be."""


_LIKELY = "|".join([*map(re.escape, _COLUMNS), *(shape.pattern for shape in _SURE.values())])
_TELLTALE = re.compile(rf"(?:^|,)[ \t]*(?:{_LIKELY})[ \t]*(?:[\[,\r]|$)", re.IGNORECASE | re.MULTILINE)
"""A cell of a header, or one that leaves no doubt."""
_OF_OTHERS = re.compile(r"(?:^|,)[ \t]*(?:HL-[0-9]{3}\w*|bus_id)[ \t]*(?:,|$)|\butilization\.aip\b", re.MULTILINE)
"""A cell of `hl-smi -Q`, whose columns are called alike."""


class Table(NamedTuple):
    """Columns, and the cells of each row."""

    columns: Columns
    rows: tuple[tuple[str, ...], ...]
    has_header: bool


def recognises(text: str) -> bool:
    """Whether a header of such fields stands in the text with a row beneath, or rows that name GPUs without doubt."""
    plain = values.plain(text)
    return bool(_TELLTALE.search(plain)) and not _OF_OTHERS.search(plain) and bool(read(text).rows)


def own(text: str) -> str:
    """Header and rows; of a table without a header, no cell that may be anything."""
    table = read(text)
    lines = []
    if table.has_header:
        lines.append(", ".join(f"{name} [{unit}]" if unit else str(name) for name, unit in table.columns))
        hidden = {place for place, (name, _) in enumerate(table.columns) if name and _IDENTITY.fullmatch(name)}
        lines += [", ".join("?" if n in hidden else cell for n, cell in enumerate(row)) for row in table.rows]
    else:
        lines += [", ".join(cell if _is_kept(cell) else "?" for cell in row) for row in table.rows]
    return "".join(f"{line}\n" for line in lines)


def read(text: str) -> Table:
    """The first such table of the text."""
    lines = values.lines(text, _LONGEST_LINE)
    for place, line in enumerate(lines):
        columns = _header(line)
        if columns is not None:
            rows = tuple(_rows(lines[place + 1 :], len(columns), line))
            if rows:
                return Table(columns, rows, True)
    ends = next((place for place, line in enumerate(lines) if _is_of_processes(line)), len(lines))
    bare = [tuple(_cells(line)) for line in lines[:ends] if _names_a_gpu(line)]
    width = len(bare[0]) if bare else 0
    rows = tuple(row for row in bare if len(row) == width)
    if width == 1 and len(rows) < sum(1 for line in lines if line.strip() and "nvidia-smi" not in line):
        rows = ()  # one cell a line is a table only where nothing else stands beside it
    return Table(_guessed(rows), rows, False)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs by address, UUID or number; each is listed once, however often it was asked."""
    table = read(text)
    held = [_words(table, row) for row in table.rows]
    claims: dict[tuple[str, ...], Claim] = {}
    doubles: dict[str, list[str]] = {}
    for place, (words, failed) in enumerate(held):
        made = _claim(words, failed)
        known = claims.setdefault(_identity(made, place), made)
        if (known.index, known.uuid) != (made.index, made.uuid):
            doubles.setdefault(str(known.address), [_named(known)]).append(_named(made))
    nameless = [identity for identity in claims if identity[0] == "row"]
    if len(nameless) > _MOST_NAMELESS:
        claims = {identity: made for identity, made in claims.items() if identity[0] != "row"}
    problems = (*_unnamed(len(nameless)), *_doubled(doubles, len(held)), *_miscounted(held, len(claims)))
    versions = software(FORM, distinct(words.get("driver") for words, _ in held), None)
    host = values.says(distinct(words.get("hostname") for words, _ in held))
    report = Report(claims=tuple(claims.values()), software=versions)
    return Foreign(FORM, hostname=host, report=report), problems


def _named(claim: Claim) -> str:
    return f"GPU {claim.index}" if claim.index is not None else claim.uuid or "a GPU"


def _doubled(doubles: Mapping[str, Sequence[str]], rows: int) -> Iterator[Problem]:
    """Several GPUs of one address: it is one device, and the rows contradict each other."""
    if doubles:
        pairs = [f"{' and '.join(dict.fromkeys(names))} at {address}" for address, names in doubles.items()]
        more = f" and {len(pairs) - _TOLD} more" if len(pairs) > _TOLD else ""
        message = f"of {rows} rows some have one address: {', '.join(pairs[:_TOLD])}{more}"
        yield Problem("accelerators", DISAGREEMENT, message, (FORM,))


def _unnamed(rows: int) -> Iterator[Problem]:
    if rows > _MOST_NAMELESS:
        message = f"{rows} rows name no GPU: they were asked time and again, and of how many is not told"
        yield Problem("accelerators", NOT_ASKED, message)


def _miscounted(held: Sequence[tuple[Mapping[str, str], object]], devices: int) -> Iterator[Problem]:
    count = whole(distinct(words.get("count") for words, _ in held), MOST_PLACES)
    if count is not None and count != devices:
        yield Problem("accelerators", DISAGREEMENT, f"nvidia-smi counts {count} GPUs and lists {devices}", (FORM,))


def _identity(made: Claim, place: int) -> tuple[str, ...]:
    """What tells the rows' GPUs apart: equal UUIDs at two addresses are two GPUs."""
    if made.address is not None:
        return ("address", made.address)
    if made.uuid is not None:
        return ("uuid", made.uuid, str(made.index))
    return ("index", str(made.index)) if made.index is not None else ("row", str(place))


def _header(line: str) -> Columns | None:
    found = [_FIELD.fullmatch(cell) for cell in _cells(line)]
    names = [cell[1].lower() for cell in found if cell]
    if len(names) < len(found) or not names or any(_PROCESS.fullmatch(name) for name in names):
        return None
    if not any(name in _COLUMNS for name in names):
        return None
    return tuple((cell[1], cell[2]) for cell in found if cell)


def _is_of_processes(line: str) -> bool:
    """Whether the line is the header of `--query-compute-apps`, which may name its GPUs' UUIDs too."""
    return any(_PROCESS.fullmatch(cell.split(" ")[0]) for cell in _cells(line))


def _rows(lines: Sequence[str], width: int, header: str) -> Iterator[tuple[str, ...]]:
    """The rows beneath a header: the last may be cut off; the header again begins another round of them."""
    last = max((place for place, line in enumerate(lines) if line.strip()), default=0)
    for place, line in enumerate(lines[: last + 1]):
        cells = _cells(line)
        if not line.strip() or line == header:
            continue
        if len(cells) != width and not (place == last and 1 < len(cells) < width):
            return
        if width == 1 and not _is_kept(cells[0]):
            return
        yield tuple(cells)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")]


def _names_a_gpu(line: str) -> bool:
    cells = _cells(line)
    strong = any(_SURE[name].fullmatch(cell) for cell in cells for name in ("uuid", "address", "model"))
    return strong and not any(":" in cell and " " in cell and not _is_kept(cell) for cell in cells)


def _is_kept(cell: str) -> bool:
    return bool(_PLAIN.fullmatch(cell)) or any(shape.fullmatch(cell) for shape in _SURE.values())


def _guessed(rows: Sequence[Sequence[str]]) -> Columns:
    """The names of columns that leave no doubt, each once; None for the others."""
    names: list[str | None] = []
    for place in range(len(rows[0]) if rows else 0):
        cells = [row[place] for row in rows]
        name = next((name for name, shape in _SURE.items() if all(map(shape.fullmatch, cells))), None)
        if name is None and place == 0 and len(rows) > 1 and cells == [str(number) for number in range(len(rows))]:
            name = "index"
        names.append(name if name not in names else None)
    return tuple((name, None) for name in names)


def _words(table: Table, row: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The words that a row gives, and the other readings that failed."""
    words: dict[str, str] = {}
    failed: dict[str, str] = {}
    for (name, unit), cell in zip(table.columns, row):
        word = _COLUMNS.get((name or "").lower()) if table.has_header else name
        if word is not None:
            words.setdefault(word, f"{cell} {unit}" if unit and cell.isdecimal() else cell)
        elif name and values.is_failure(cell):
            failed[slug(name)] = f"{cell} ({name})"
    return words, failed


def _claim(words: Mapping[str, str], failed: Mapping[str, str]) -> Claim:
    made = claim(FORM, words, index=whole(words.get("index"), MOST_PLACES), failed=failed)
    silent = dict(made.silent)
    if made.index is None:
        silent["index"] = Silence(NOT_ASKED, "the rows do not say it")
    if pci_address(words.get("address")) is None:
        silent["pci"] = Silence(NOT_ASKED, "the rows do not say it")
    return replace(made, silent=silent)
