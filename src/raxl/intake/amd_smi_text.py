"""`amd-smi` as text: `list`, `static`, `metric`, `partition`, `topology`, `xgmi`, and the table of `amd-smi` alone."""

from __future__ import annotations

import re

from raxl.intake import amd_claims, amd_links, amd_smi_blocks, amd_smi_fields, amd_smi_tables
from raxl.intake.amd_words import Told, lines_of, note, plain, translated
from raxl.intake.foreign import Foreign
from raxl.model.problem import FAILED, Problem
from raxl.model.report import Report

FORM = "amd-smi"
_MARKS = re.compile(
    r"^GPU[ \t]*:[ \t]*[0-9]+[ \t]*\n(?:[ \t]*\n)*[ \t]*"
    r"(?:ASIC|BUS|BDF|UUID|VBIOS|IFWI|DRIVER|BOARD|VRAM|NUMA|PARTITION|MEMORY_PARTITION|USAGE|POWER|CLOCK|PCIE|MEM_USAGE"
    r"|LIMIT|TEMPERATURE|FW_LIST|MARKET_NAME|KFD_ID|HIP_ID)[ \t]*:"
    r"|^[ \t]*(?:LINK TYPE TABLE|NUMA BW TABLE|LINK METRIC TABLE|XGMI LINK STATUS|CURRENT_PARTITION):[ \t]*$"
    r"|^\|[ \t]*AMD-SMI [0-9]|^AMDSMI Tool:",
    re.MULTILINE,
)


def recognises(text: str) -> bool:
    """Whether the text holds a block, a table or the head line as amd-smi writes them."""
    return _MARKS.search(plain(text)) is not None


def own(text: str) -> str:
    """The lines of amd-smi, without processes, and without a value in the midst of which the text ends."""
    lines = lines_of(plain(text))
    if lines and lines[-1].strip() and amd_smi_blocks.cut(amd_smi_blocks.read(lines)[1]):
        lines.pop()
    kept = {*amd_smi_blocks.keep(lines), *amd_smi_tables.keep(lines)}
    return "".join(f"{line}\n" for line in lines if line in kept)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs and how they are joined; a table or a block that is cut off is told."""
    lines = lines_of(text)
    blocks, order = amd_smi_blocks.read(lines)
    tables = amd_smi_tables.read(lines, FORM)
    told: Told = {number: translated(said, amd_smi_fields.FIELDS) for number, said in blocks.items()}
    for number, said in tables.told.items():
        note(told, number, said)
    inside = amd_smi_blocks.cut(order)
    cut = [
        Problem("accelerators", FAILED, f"amd-smi's output ends inside GPU {one}", (FORM,)) for one in sorted(inside)
    ]
    found = amd_claims.claims(FORM, told, inside)
    links, differences = amd_links.links(FORM, tables.pairs, found.names)
    software, versions = amd_smi_fields.software(FORM, told, tables.versions)
    report = Report(claims=found.claims, links=links, software=tuple(software))
    return Foreign(FORM, report=report), (*cut, *tables.damage, *found.problems, *differences, *versions)
