"""The table of `npu-smi info`: Ascend 310P, 910B, 910C."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import npu_smi

FORM = npu_smi.FORM


def recognises(text: str) -> bool:
    """Whether its head stands in the text, or a card's line with a chip's beneath."""
    return npu_smi.recognises(text)


def own(text: str) -> str:
    """Head, titles and the lines of cards and chips, without the processes."""
    return npu_smi.own(text)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The chips with number, name, bus id, health and memory."""
    log = npu_smi.read(text)
    report = Report(claims=tuple(npu_smi.claims(log)), software=npu_smi.software(log))
    return Foreign(FORM, report=report), npu_smi.problems(log)
