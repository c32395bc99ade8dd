"""The matrix of `xpu-smi topology -m`, whose words are converted to the field's."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import xpu_smi_topo

FORM = xpu_smi_topo.FORM


def recognises(text: str) -> bool:
    """Whether such a matrix stands in the text."""
    return xpu_smi_topo.recognises(text)


def own(text: str) -> str:
    """The lines of the matrix."""
    return xpu_smi_topo.own(text)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The devices by number with the CPUs near them, and how they are joined."""
    topology = xpu_smi_topo.read(text)
    links, problems = xpu_smi_topo.links(topology)
    claims = tuple(xpu_smi_topo.claims(topology))
    return Foreign(FORM, report=Report(claims=claims, links=tuple(links))), tuple(problems)
