"""`tt-smi -s`: a snapshot of Tenstorrent's chips, as JSON."""

from __future__ import annotations

from raxl.intake.foreign import Foreign
from raxl.model.node import OperatingSystem
from raxl.model.problem import Problem
from raxl.sources import json_text, tool_words, tt_smi

FORM = tt_smi.TOOL


def recognises(text: str) -> bool:
    """Whether a snapshot stands in the text."""
    return tt_smi.recognises(text)


def own(text: str) -> str:
    """The documents, without processes; what cannot be read as one is kept as it is, so that it is told."""
    return json_text.own(tool_words.plain(text)) or tool_words.plain(text)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The chips, and what the snapshot says of its host."""
    report = tt_smi.report(text)
    host = tt_smi.host_words(text)
    os = OperatingSystem(kernel=host.get("Kernel"), distribution=host.get("Distro"), architecture=host.get("Platform"))
    return Foreign(FORM, os=os, hostname=host.get("Hostname"), report=report), ()
