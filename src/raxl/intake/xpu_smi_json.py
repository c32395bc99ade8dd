"""The JSON of `xpu-smi`: `discovery -j`, `discovery -d N -j`, `topology -m -j`, `topology -d N -j`."""

from __future__ import annotations

import json
from typing import Any

from raxl.intake.foreign import Foreign
from raxl.model.node import Software
from raxl.model.problem import Problem
from raxl.model.report import Claim, LinkClaim, Report
from raxl.sources import json_text, xpu_smi, xpu_smi_topo

FORM = "xpu-smi -j"


def recognises(text: str) -> bool:
    """Whether one of these documents is in the text."""
    if '"pci_bdf_address"' not in text and '"device_' not in text and '"topo_list"' not in text:
        return False
    return any(_is_own(document.value) for document in json_text.documents(text))


def _is_own(value: Any) -> bool:
    return bool(xpu_smi.devices_of(value)) or xpu_smi_topo.is_document(value)


def own(text: str) -> str:
    """The documents alone."""
    held = [document for document in json_text.documents(text) if _is_own(document.value)]
    return "\n".join(
        text[one.start : one.end] if one.damage else json.dumps(one.value, ensure_ascii=False, indent=1) for one in held
    )


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The devices of every document, and how they are joined."""
    claims: list[Claim] = []
    links: list[LinkClaim] = []
    software: list[Software] = []
    problems: list[Problem] = []
    for document in json_text.documents(text):
        if not _is_own(document.value):
            continue
        problems += document.problems("xpu-smi", FORM)
        devices = xpu_smi.devices_of(document.value)
        claims += xpu_smi.claims(devices)
        software += xpu_smi.software(devices)
        if xpu_smi_topo.is_document(document.value):
            topology = xpu_smi_topo.of_document(document.value)
            claims += xpu_smi_topo.claims(topology)
            stated, contradictions = xpu_smi_topo.links(topology)
            links += stated
            problems += contradictions
    report = Report(claims=tuple(claims), links=tuple(links), software=tuple(software))
    return Foreign(FORM, report=report), tuple(problems)
