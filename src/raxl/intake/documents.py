"""The foreign documents of a recording that are already a model."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from raxl.host import Host
from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem

TEXTS: dict[str, str] = {
    "amd-smi --json": "raxl.intake.amd_smi_json",
    "rocm-smi --json": "raxl.intake.rocm_smi_json",
    "amd-smi": "raxl.intake.amd_smi_text",
    "rocm-smi": "raxl.intake.rocm_smi_text",
}
"""By form, the module that reads it: `recognises(text)` whether such an output is in it, `own(text)` that output alone,
`parse(text)` what it says. Imported when there is a text to recognise or such a document to read."""
_PARSERS = {"hwloc-xml": "raxl.intake.hwloc_xml", "nccl-xml": "raxl.intake.nccl_xml", **TEXTS}


def read(host: Host) -> tuple[list[Foreign], list[Problem]]:
    """What each document says, and what was wrong with it."""
    documents: list[Foreign] = []
    problems: list[Problem] = []
    for form, module in _PARSERS.items():
        answer = host.document(form)
        if answer.known:
            document, damage = _parsed(module, answer.value)
            documents.append(document)
            problems.extend(damage)
    return documents, problems


@lru_cache(maxsize=8)
def _parsed(module: str, text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """A document is asked for its host's name first and for all else later: it is parsed once."""
    return import_module(module).parse(text)  # type: ignore[no-any-return]
