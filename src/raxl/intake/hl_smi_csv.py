"""`hl-smi -Q … -f csv[,noheader][,nounits]`: a row a Gaudi."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import gaudi, hl_smi, hl_smi_csv

FORM = hl_smi_csv.FORM


def recognises(text: str) -> bool:
    """Whether rows of Gaudis stand in the text."""
    return hl_smi_csv.recognises(text)


def own(text: str) -> str:
    """Header and rows; without a header, the cells that leave no doubt."""
    return hl_smi_csv.own(text)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The devices by bus id, UUID or number; each is listed once, however often it was asked."""
    log = hl_smi_csv.read(text)
    claims = tuple(gaudi.claim(FORM, device.words, device.is_cut) for device in log.devices)
    return Foreign(FORM, report=Report(claims=claims, software=hl_smi.software(log))), log.problems
