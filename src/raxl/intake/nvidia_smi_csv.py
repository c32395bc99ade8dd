"""`nvidia-smi --query-gpu=… --format=csv[,noheader][,nounits]`: a row a GPU, and a row more each time it was asked.

Without its header a column is known by its cells alone, as far as they leave no doubt: a UUID, a bus id, a product's
name, a driver's version, the rows' numbers. All else is left unknown. Several tables are of one machine's GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from raxl.intake import nvidia_smi_csv_rows as rows
from raxl.intake.foreign import Foreign
from raxl.intake.nvidia_smi_csv_rows import COLUMNS, Device
from raxl.intake.nvidia_smi_csv_table import SURE, Table, is_kept, tables
from raxl.model.identity import pci_address
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources import nvidia_smi_places
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole
from raxl.sources.nvidia_smi_device import claim, distinct, software
from raxl.sources.nvidia_smi_readings import Told

FORM = "nvidia-smi --query-gpu"
_IDENTITY = re.compile(r".*(serial_number|guid|pdi)")
"""Identities of which nothing is read: no recording needs them."""
_MOST_NAMELESS = 64
"""More GPUs than a machine has: more rows without a number, a UUID or an address are readings of the same ones."""
_TOLD = 4
"""How many contradictions a message names."""
_LIKELY = "|".join([*map(re.escape, COLUMNS), *(shape.pattern for shape in SURE.values())])
_TELLTALE = re.compile(rf"(?:^|,)[ \t]*\"?(?:{_LIKELY})[ \t]*(?:[\[,\r\"]|$)", re.IGNORECASE | re.MULTILINE)
"""A cell of a header, or one that leaves no doubt."""
_OF_OTHERS = re.compile(
    r"(?:^|,)[ \t]*(?:HL-[0-9]{3}\w*|bus_id|gpu_bdf)[ \t]*(?:,|$)|\butilization\.aip\b", re.MULTILINE
)
"""A cell of `hl-smi -Q`, whose columns are called alike, or of `amd-smi --csv`."""


def recognises(text: str) -> bool:
    """Whether a header of such fields stands in the text with a row beneath, or rows that name GPUs without doubt."""
    plain = values.plain(text)
    return bool(_TELLTALE.search(plain)) and not _OF_OTHERS.search(plain) and any(map(_says_something, tables(text)))


def own(text: str) -> str:
    """Headers and rows; of a table without a header, no cell that may be anything."""
    return "".join(f"{line}\n" for table in tables(text) for line in _own(table))


def read(text: str) -> Table:
    """The first table of the text."""
    return next(iter(tables(text)), Table((), (), False))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs by address, UUID or number; each is listed once, however often it was asked."""
    held = tables(text)
    devices = rows.devices(held)
    nameless = [one for one in devices if one.is_nameless]
    if len(nameless) > _MOST_NAMELESS:
        devices = [one for one in devices if not one.is_nameless]
    claims = tuple(map(_claim, devices))
    count = sum(len(table.rows) for table in held)
    words = [reading for one in devices for reading in one.readings]
    problems = (*_unnamed(len(nameless)), *_doubled(devices, count), *_miscounted(words, len(devices)))
    versions = dict.fromkeys(one for said in words for one in software(FORM, said.get("driver"), None))
    host = values.says(distinct(said.get("hostname") for said in words))
    report = Report(claims=claims, software=tuple(versions))
    return Foreign(FORM, hostname=host, report=report), (*problems, *_changed(devices))


def told(text: str) -> list[Told]:
    """What the rows say of each GPU that checks go by, by their place where nothing names it."""
    found = []
    for place, device in enumerate(rows.devices(tables(text))[:_MOST_NAMELESS]):
        words = {}
        for name, places in nvidia_smi_places.ALL.items():
            held = [device.cells[field] for field in places.csv if field in device.cells]
            if held:
                words[name] = next((word for word in held if values.says(word) is not None), held[0])
        if words.get("recovery_action", "").strip("[]") == "None":
            words["recovery_action"] = "None"
        number = place if device.is_nameless else device.index
        found.append(Told(FORM, words, device.address, device.uuid, number))
    return found


def _says_something(table: Table) -> bool:
    """Whether a column is read, or tells of a GPU that it is there."""
    return not table.has_header or any((name or "").lower() in COLUMNS for name, _ in table.columns)


def _own(table: Table) -> Iterator[str]:
    if not table.has_header:
        yield from (", ".join(cell if is_kept(cell) else "?" for cell in row) for row in table.rows)
        return
    yield ", ".join(f"{name} [{unit}]" if unit else str(name) for name, unit in table.columns)
    hidden = {place for place, (name, _) in enumerate(table.columns) if name and _IDENTITY.fullmatch(name)}
    yield from (", ".join("?" if n in hidden else cell for n, cell in enumerate(row)) for row in table.rows)


def _doubled(devices: Sequence[Device], count: int) -> Iterator[Problem]:
    """Several GPUs of one address: it is one device, and the rows contradict each other."""
    pairs = [f"{' and '.join(one.names)} at {one.address}" for one in devices if len(one.names) > 1]
    if pairs:
        more = f" and {len(pairs) - _TOLD} more" if len(pairs) > _TOLD else ""
        message = f"of {count} rows some have one address: {', '.join(pairs[:_TOLD])}{more}"
        yield Problem("accelerators", DISAGREEMENT, message, (FORM,))


def _changed(devices: Sequence[Device]) -> Iterator[Problem]:
    """What rows of one GPU say differently. The last one stands."""
    for device in devices:
        for word, said in device.differences.items():
            message = f"rows of {device.name} tell its {word} as {', then as '.join(said[:_TOLD])}"
            yield Problem("accelerators", DISAGREEMENT, message, (FORM,))


def _unnamed(count: int) -> Iterator[Problem]:
    if count > _MOST_NAMELESS:
        message = f"{count} rows name no GPU: they were asked time and again, and of how many is not told"
        yield Problem("accelerators", NOT_ASKED, message)


def _miscounted(held: Sequence[Mapping[str, str]], devices: int) -> Iterator[Problem]:
    count = whole(distinct(words.get("count") for words in held), MOST_PLACES)
    if count is not None and count != devices:
        yield Problem("accelerators", DISAGREEMENT, f"nvidia-smi counts {count} GPUs and lists {devices}", (FORM,))


def _claim(device: Device) -> Claim:
    words = device.words
    made = claim(FORM, words, index=whole(words.get("index"), MOST_PLACES), failed=device.failed, is_cut_at=device.cut)
    silent = dict(made.silent)
    if made.index is None:
        silent["index"] = Silence(NOT_ASKED, "the rows do not say it")
    if pci_address(words.get("address")) is None:
        silent["pci"] = Silence(NOT_ASKED, "the rows do not say it")
    for word, field in (("index", "index"), ("address", "pci")):
        if word in device.cut:
            silent[field] = Silence(FAILED, "nvidia-smi's output ends inside this device", FORM)
    return replace(made, silent=silent)
