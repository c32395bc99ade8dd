"""`rocm-smi` as text: `GPU[0] : Key: value` lines, and the tables of `rocm_smi_tables`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from raxl.intake import amd_claims, amd_links, rocm_smi_fields, rocm_smi_tables
from raxl.intake.amd_words import Told, lines_of, note, plain, tell, translated
from raxl.intake.foreign import Foreign
from raxl.model.problem import FAILED, Problem
from raxl.model.report import Report
from raxl.sources.numbers import MOST_PLACES, whole

FORM = "rocm-smi"
_LINE = re.compile(r"[ \t]*GPU\[([0-9]{1,5})\][ \t]*:[ \t]*([^:\n]*)(?::(.*))?")
_DRIVER = re.compile(r"[ \t]*Driver version:(.*)", re.IGNORECASE)
_RULE = re.compile(r"[ \t]*={3,}.*")
_BEGIN, _END = "ROCm System Management Interface", "End of ROCm SMI Log"
_MARKS = re.compile(
    rf"{_BEGIN}|{_END}|^[ \t]*GPU\[[0-9]+\][ \t]*:[ \t]*(Device ID|GPU ID|Unique ID|Card [Ss]eries|PCI Bus|Device Name"
    r"|VRAM Total|VBIOS version|Compute Partition|Memory Partition|Serial Number|GFX Version|\(Topology\))",
    re.MULTILINE,
)


def recognises(text: str) -> bool:
    """Whether the text holds rocm-smi's title, its end, or lines of its GPUs."""
    return _MARKS.search(plain(text)) is not None


def own(text: str) -> str:
    """The lines of rocm-smi, without processes."""
    lines = lines_of(plain(text))
    tables = rocm_smi_tables.kept(lines)
    return "".join(
        f"{line}\n"
        for place, line in enumerate(lines)
        if place in tables or _LINE.fullmatch(line) or _DRIVER.fullmatch(line) or _RULE.fullmatch(line)
    )


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs and how they are joined; an output that ends before its own end is told."""
    lines = lines_of(text)
    told, seen = _lines(lines)
    tables = rocm_smi_tables.read(lines, FORM)
    told = rocm_smi_fields.with_units(told)
    for number, said in tables.told.items():
        note(told, number, said)
    versions = [driver[1].strip() for line in lines if (driver := _DRIVER.fullmatch(line))]
    is_cut = text.count(_BEGIN) > text.count(_END)
    cut = [Problem("accelerators", FAILED, "rocm-smi's output ends early: its end line is missing", (FORM,))]
    found = amd_claims.claims(FORM, told, frozenset([seen] if is_cut and seen is not None else []))
    links, differences = amd_links.links(FORM, tables.pairs, found.names)
    software, unsaid = rocm_smi_fields.software(FORM, versions)
    report = Report(claims=found.claims, links=links, software=software)
    return Foreign(FORM, report=report), (
        *(cut if is_cut else ()),
        *tables.damage,
        *found.problems,
        *differences,
        *unsaid,
    )


def _lines(lines: Sequence[str]) -> tuple[Told, int | None]:
    """What the lines of each GPU say, and the GPU of the last such line."""
    said: dict[int, dict[str, str]] = {}
    number = None
    for line in lines:
        found = _LINE.fullmatch(line)
        number = whole(found[1], MOST_PLACES) if found else number
        if found and number is not None:
            card = said.setdefault(number, {})
            if found[3] is not None:
                tell(card, rocm_smi_fields.key(found[2]), found[3])
    return {one: translated(card, rocm_smi_fields.FIELDS) for one, card in said.items()}, number
