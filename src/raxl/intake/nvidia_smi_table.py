"""The table that `nvidia-smi` prints when it is asked for nothing: drivers 3xx to 6xx, whole, in part, or one row.

It cuts long names with dots. A GPU takes two or three lines; MIG devices stand in a table of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from raxl.intake.foreign import Foreign
from raxl.intake.nvidia_smi_messages import degraded, warning
from raxl.model.accelerator import Partition
from raxl.model.identity import pci_address
from raxl.model.problem import FAILED, Problem
from raxl.model.report import Claim, Report
from raxl.sources import nvidia_smi_values as values
from raxl.sources.numbers import MOST_PLACES, whole
from raxl.sources.nvidia_smi_device import claim, slug, software
from raxl.sources.nvidia_smi_readings import Told

FORM = "nvidia-smi"
_TELLTALE = re.compile(r"NVIDIA-SMI|\|[ \t]*(?:[0-9A-Fa-f]{2,8}:[0-9A-Fa-f]{2}[:.]|ERR!|N/A)")
_HEAD = re.compile(r"\s*\|?\s*NVIDIA-SMI\s+[0-9][\w.]*\s.*Version:.*")
_VERSION = r"\s*Version\s*:\s*([0-9][\w.]*)"
_GPU = re.compile(
    # mx-smi, hl-smi and npu-smi print the like
    r"\s*\|?\s*([0-9]{1,5})\s+(?!MetaX|MX[A-Z]|HL-|[0-9]{1,5}\s*\|)([^\s|][^|\n]{0,80}?)\s*\|\s*"
    r"((?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]|ERR!|N/A)(?:\s+(?:On|Off|N/A|ERR!))?\s*(?:\|(.*))?"
)
_PERSISTENCE = re.compile(r"\s(On|Off|N/A|ERR!)$")
_USED = re.compile(r"([0-9]{1,20})\s?MiB\s*/\s*([0-9]{1,20})\s?MiB")
_MODE = re.compile(r"\s+(?:On|Off|N/A|ERR!|WDDM|TCC|MCDM|Enabled|Disabled)$")
_MEMORY = re.compile(r"[0-9]{1,20}\s?MiB\s*/\s*([0-9]{1,20}\s?MiB)")
_READINGS = re.compile(r"\|?\s*(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s*/\s*(\S+)\s*")
_MIG = re.compile(
    r"\s*\|\s*([0-9]{1,5})\s+[0-9]{1,5}\s+[0-9]{1,5}\s+([0-9]{1,5})\s*\|\s*[0-9]{1,20}\s?MiB\s*/\s*([0-9]{1,20}\s?MiB)\s*\|.*"
)
_MODES = ("Enabled", "Enabled*", "Disabled", "Disabled*", "N/A", "ERR!")
_TITLES = {"Processes": "processes", "MIG devices": "mig", "NVIDIA-SMI": "gpus"}


class _Row(NamedTuple):
    number: int
    address: str
    name: str
    persistence: str | None
    ecc: str | None
    """What stands in the column `Volatile Uncorr. ECC`; None where the row ends before it."""
    beneath: list[str]


class _Table(NamedTuple):
    driver: str | None
    cuda: str | None
    has_head: bool
    rows: list[_Row]
    mig: list[re.Match[str]]
    warned: dict[str | None, str]
    """What a line beside the table warns of, by the GPU's address."""


def recognises(text: str) -> bool:
    """Whether the table's head stands in the text, or a row with a GPU's number, name and bus id."""
    likely = None if "HL-SMI" in text else _TELLTALE.search(values.plain(text))
    return likely is not None and any(kind in ("head", "gpu") for _, kind in _lines(text))


def own(text: str) -> str:
    """The rows of GPUs and MIG devices and the head, without the processes."""
    return "".join(f"{line}\n" for line, _ in _lines(text))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs with number, bus id, memory and MIG devices; the name where the table does not cut it."""
    table = _read(text)
    claims: dict[tuple[int, str], Claim] = {}
    for row in table.rows:
        made = _claim(row, table)
        words = table.warned.get(made.address) if made.address else None
        claims.setdefault((row.number, row.address), degraded(made, words) if words else made)
    problems: tuple[Problem, ...] = ()
    if table.has_head and not claims:
        problems = (Problem("accelerators", FAILED, "nvidia-smi's table has a head and no GPU", (FORM,)),)
    report = Report(claims=tuple(claims.values()), software=software(FORM, table.driver, table.cuda))
    return Foreign(FORM, report=report), problems


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines that are read, each with its kind: `head`, `gpu`, `beneath`, `mig-title`, `mig`, `warning`."""
    section, below = "gpus", 0
    for line in values.lines(text):
        title = next((kind for title, kind in _TITLES.items() if title in line), None)
        if title is not None and ("|" in line or title == "gpus"):
            section, below = title, 0
        if _HEAD.fullmatch(line):
            yield line, "head"
        elif warning(line):
            yield line, "warning"
        elif title == "mig":
            yield line, "mig-title"
        elif section == "mig" and _MIG.fullmatch(line):
            yield line, "mig"
        elif section == "gpus" and _GPU.fullmatch(line):
            below = 2
            yield line, "gpu"
        elif below and "|" in line:
            below -= 1
            yield line, "beneath"
        else:
            below = 0


def _read(text: str) -> _Table:
    head = ""
    rows: list[_Row] = []
    mig: list[re.Match[str]] = []
    warned: dict[str | None, str] = {}
    for line, kind in _lines(text):
        warned_of = warning(line)
        gpu, device = _GPU.fullmatch(line), _MIG.fullmatch(line)
        if kind == "head":
            head = head or line
        elif kind == "gpu" and gpu:
            rows.append(
                _Row(int(gpu[1]), gpu[3], _MODE.sub("", gpu[2]).strip(), _persistence(gpu[2]), _ecc(gpu[4]), [])
            )
        elif kind == "mig" and device:
            mig.append(device)
        elif kind == "warning" and warned_of:
            warned.setdefault(*warned_of)
        elif kind == "beneath" and rows:
            rows[-1].beneath.append(line)
    driver = re.search(rf"(?:KMD|Driver){_VERSION}", head)
    cuda = re.search(rf"CUDA(?: UMD)?{_VERSION}", head)
    return _Table(driver[1] if driver else None, cuda[1] if cuda else None, bool(head), rows, mig, warned)


def _persistence(cell: str) -> str | None:
    found = _PERSISTENCE.search(cell.rstrip())
    return found[1] if found else None


def told(text: str) -> list[Told]:
    """What the rows say of each GPU that checks go by."""
    table = _read(text)
    found: dict[int, Told] = {}
    for row in table.rows:
        warned = table.warned.get(pci_address(row.address))
        words = {**_words(row), **({"inforom": "corrupted"} if warned else {})}
        found.setdefault(row.number, Told(FORM, words, pci_address(row.address), number=row.number))
    return list(found.values())


def _words(row: _Row) -> dict[str, str]:
    """The cells in which every driver since 3xx has the same."""
    words = {"ecc uncorrected_volatile": row.ecc, "persistence_mode": row.persistence}
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in row.beneath]
    names = {"temperature": "temperature", "power draw": "power_draw", "power limit": "power_limit"}
    words.update((names[name], word) for name, word in _readings(cells[0][0] if cells else "") if name in names)
    memory = _USED.search(cells[0][1]) if cells and len(cells[0]) > 1 else None
    if memory:
        words.update(memory_used=f"{memory[1]} MiB", memory_total=f"{memory[2]} MiB")
    found = re.fullmatch(r"(?:[0-9]{1,3}%|N/A)\s+(\S.*)", cells[0][2]) if cells and len(cells[0]) > 2 else None
    if found:
        words["compute_mode"] = found[1].strip()
    mode = cells[1][-1] if len(cells) > 1 else ""
    if mode in _MODES:  # a star says that the next reset changes it
        words["mig_mode"] = mode.rstrip("*")
        other = "Disabled" if mode == "Enabled*" else "Enabled"
        words["mig_mode_pending"] = other if mode.endswith("*") else mode
    return {name: word for name, word in words.items() if word is not None}


def _ecc(cell: str | None) -> str | None:
    return (cell or "").partition("|")[0].strip() or None


def _claim(row: _Row, table: _Table) -> Claim:
    words = {"model": row.name, "address": row.address}
    if row.ecc is not None:
        words["ecc_uncorrected"] = row.ecc
    failed: dict[str, str] = {}
    readings = row.beneath[0] if row.beneath else ""
    memory = _MEMORY.search(readings)
    cells = [cell.strip() for cell in readings.strip().strip("|").split("|")]
    if memory:
        words["memory"] = memory[1].replace("MiB", " MiB").replace("  ", " ")
    elif len(cells) > 1 and (values.says(cells[1]) is None or values.is_failure(cells[1])):
        words["memory"] = cells[1].split("/")[0].strip()
    for name, word in _readings(cells[0] if cells else ""):
        if values.is_failure(word):
            failed[slug(name)] = f"{word} ({name})"
    if {"temperature", "performance_state"} <= set(failed):
        words["condition"] = "ERR!"  # a device that tells neither is not just short of a sensor
    mode = row.beneath[1].strip().strip("|").split("|")[-1].strip() if len(row.beneath) > 1 else None
    if mode in _MODES:
        words["mig_mode"] = mode.rstrip("*")
    partitions = tuple(
        Partition(f"mig:{int(device[2])}", None, values.mebibytes(device[3]))
        for device in table.mig
        if int(device[1]) == row.number
    )
    return claim(
        FORM,
        words,
        index=whole(str(row.number), MOST_PLACES),
        partitions=partitions,
        failed=failed,
        is_cut=not row.beneath,
    )


def _readings(cell: str) -> Iterator[tuple[str, str]]:
    """Fan, temperature, performance state, power and its limit of `N/A 29C P0 ERR! / 250W`."""
    found = _READINGS.fullmatch(cell[:100].strip() + " ")
    if found:
        yield from zip(("fan", "temperature", "performance state", "power draw", "power limit"), found.groups())
