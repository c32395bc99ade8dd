"""`nvidia-smi topo -p2p r|w|n|a|p`: whether the driver lets two GPUs reach each other. It is no link class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from raxl.intake.foreign import Foreign
from raxl.model.facts import Reading
from raxl.model.problem import FAILED, Problem
from raxl.model.report import Report
from raxl.sources import nvidia_smi_values as values
from raxl.sources.nvidia_smi_device import seen

FORM = "nvidia-smi topo -p2p"
_COMMAND = re.compile(r"nvidia-smi\s+topo\s+(?:-p2p|--p2pstatus)[ =]?\s*([rwnap]{1,2})\b")
_TELLTALE = re.compile(r"^[ \t]*GPU[0-9]{1,5}[ \t]", re.MULTILINE)
_HEADER = re.compile(r"\s*(?:GPU[0-9]{1,5}\s*)+")
_NAME = re.compile(r"GPU([0-9]{1,5})")
_ROW = re.compile(r"\s*GPU([0-9]{1,5})(?:\s+(.*))?")
_WORD = re.compile(r"X|OK|[A-Z]{0,3}NS|DR|U|N/A")
_OBSTACLES = {
    "OK": "ok",
    "CNS": "the chipset does not support it",
    "GNS": "the GPU does not support it",
    "TNS": "the topology does not support it",
    "DR": "it is switched off",
    "NS": "it is not supported",
}
_MEANINGS = {"r": "read", "w": "write", "n": "nvlink", "a": "atomics", "p": "properties"}


class Table(NamedTuple):
    """One matrix: what was asked (None where the text does not say), its columns, and the words of its rows."""

    asked: str | None
    columns: tuple[int, ...]
    rows: dict[int, tuple[str, ...]]


def recognises(text: str) -> bool:
    """Whether such a matrix stands in it: a header of GPUs alone, and a row of its words beneath."""
    if not _TELLTALE.search(values.plain(text)):
        return False
    return any(set(words) - {"X"} for table in tables(text) for words in table.rows.values())


def own(text: str) -> str:
    """The matrices, each with the command that asked where the text holds it."""
    return "".join(f"{line}\n" for line, _ in _lines(text))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs that the headers name; what each row says of the others, as attributes."""
    told: dict[int, dict[str, str | int | float | bool | None]] = {}
    problems = []
    for table in tables(text):
        prefix = f"p2p_{table.asked}_gpu" if table.asked else "p2p_gpu"
        for number in (*table.columns, *table.rows):
            told.setdefault(number, {})
        for number, words in table.rows.items():
            pairs = zip(table.columns, words)
            told[number].update((f"{prefix}{other}", word) for other, word in pairs if other != number)
        short = [n for n in table.columns if len(table.rows.get(n, ())) < len(table.columns)]
        if short:
            names = ", ".join(f"GPU{number}" for number in short[:20])
            message = f"the peer-to-peer matrix is incomplete: the rows of {names} are missing or cut off"
            problems.append(Problem("accelerators.p2p", FAILED, message, (FORM,)))
    claims = tuple(seen(FORM, {}, number, attributes, {}) for number, attributes in told.items())
    return Foreign(FORM, report=Report(claims=claims)), tuple(problems)


def peers(text: str) -> dict[int, Reading]:
    """By GPU's number, what forbids peer access to each other one; `ok` where nothing does."""
    found: dict[int, dict[int, str]] = {}
    for table in tables(text):
        if table.asked not in (None, "read", "write", "read_write"):
            continue
        for number, words in table.rows.items():
            for other, word in zip(table.columns, words):
                if other != number and word in _OBSTACLES:
                    known = found.setdefault(number, {})
                    known[other] = _OBSTACLES[word] if known.get(other, "ok") == "ok" else known[other]
    return {number: Reading(words, FORM) for number, words in found.items()}


def tables(text: str) -> list[Table]:
    """The matrices of the text, in its order."""
    found: list[Table] = []
    asked: str | None = None
    for line, kind in _lines(text):
        if kind == "command":
            asked = line
        elif kind == "header":
            letters = _COMMAND.search(asked)[1] if asked and _COMMAND.search(asked) else ""  # type: ignore[index]
            words = "_".join(_MEANINGS[letter] for letter in dict.fromkeys(letters))
            found.append(Table(words or None, tuple(dict.fromkeys(map(int, _NAME.findall(line)))), {}))
            asked = None
        elif found:
            number, cells = _row(line) or (0, ())
            found[-1].rows.setdefault(number, cells)
    return found


def _row(line: str) -> tuple[int, tuple[str, ...]] | None:
    """A row's GPU and its words; None for a line that is none."""
    found = _ROW.fullmatch(line)
    words = tuple((found[2] or "").split()) if found else ()
    return (int(found[1]), words) if found and all(map(_WORD.fullmatch, words)) else None


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines that are a matrix's own, each with what it is: `command`, `header` or `row`."""
    inside = False
    for line in values.lines(text):
        command = _COMMAND.search(line)
        row = _row(line)
        if command:
            inside = False
            yield command[0], "command"
        elif _HEADER.fullmatch(line) and not (inside and row and row[1]):
            inside = True
            yield line, "header"
        elif inside and row:
            yield line, "row"
        elif line.strip():
            inside = False
