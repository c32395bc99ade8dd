"""The table of `xpu-smi discovery`, with `-d N` too."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import tool_box, tool_words, xpu_smi

FORM = xpu_smi.FORM


def recognises(text: str) -> bool:
    """Whether the table stands in the text, by its lines with names and addresses."""
    return xpu_smi.is_table(text)


def own(text: str) -> str:
    """The lines that are read, and the borders beside them."""
    return joined(tool_box.framed(tool_words.lines(text), set(xpu_smi.table_lines(text))))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The devices with name, UUID, bus id and what `-d N` adds."""
    devices = xpu_smi.read_table(text)
    report = Report(claims=tuple(xpu_smi.claims(devices)), software=xpu_smi.software(devices))
    return Foreign(FORM, report=report), xpu_smi.table_damage(text)
