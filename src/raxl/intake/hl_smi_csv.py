"""`hl-smi -Q … -f csv[,noheader][,nounits]`: a row a Gaudi."""

from __future__ import annotations

from raxl.intake import hl_smi_table
from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.sources import hl_smi_csv

FORM = hl_smi_csv.FORM


def recognises(text: str) -> bool:
    """Whether rows of Gaudis stand in the text."""
    return hl_smi_csv.recognises(text)


def own(text: str) -> str:
    """Header and rows; without a header, the cells that leave no doubt."""
    return hl_smi_csv.own(text)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The devices by bus id, UUID or number; each is listed once, however often it was asked."""
    return hl_smi_table.foreign(hl_smi_csv.read(text))
