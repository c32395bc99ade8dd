"""The matrix of `npu-smi info -t topo`."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import npu_smi_topo

FORM = npu_smi_topo.FORM


def recognises(text: str) -> bool:
    """Whether such a matrix stands in the text."""
    return npu_smi_topo.recognises(text)


def own(text: str) -> str:
    """The lines of the matrix."""
    return npu_smi_topo.own(text)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The NPUs by number with the CPUs near them, and how they are joined."""
    matrix = npu_smi_topo.read(text)
    links, problems = npu_smi_topo.links(matrix)
    claims = tuple(npu_smi_topo.claims(matrix))
    return Foreign(FORM, report=Report(claims=claims, links=tuple(links))), tuple(problems)
