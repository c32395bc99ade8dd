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
    return foreign(hl_smi.read(text))


def foreign(log: hl_smi.Log) -> tuple[Foreign, tuple[Problem, ...]]:
    """What either of the tool's lists of devices says."""
    claims = tuple(gaudi.claim(log.evidence, device.words, device.is_cut) for device in log.devices)
    return Foreign(log.evidence, report=Report(claims=claims, software=hl_smi.software(log))), log.problems
