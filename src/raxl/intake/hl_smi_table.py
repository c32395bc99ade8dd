"""The table that `hl-smi` prints when it is asked for nothing: Gaudi, Gaudi2, Gaudi3."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import gaudi, hl_smi

FORM = hl_smi.FORM


def recognises(text: str) -> bool:
    """Whether its head stands in the text, or a row with a Gaudi's name."""
    return hl_smi.recognises(text)


def own(text: str) -> str:
    """Head and rows of devices, without the processes."""
    return hl_smi.own(text)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The devices with number, name, bus id, memory and uncorrected events; versions, and that they differ."""
    log = hl_smi.read(text)
    claims = tuple(gaudi.claim(FORM, device.words, device.is_cut) for device in log.devices)
    return Foreign(FORM, report=Report(claims=claims, software=hl_smi.software(log))), log.problems
