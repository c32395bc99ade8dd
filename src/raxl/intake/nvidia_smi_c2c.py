"""`nvidia-smi c2c -s`: the chip-to-chip links between a Grace CPU and its GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.intake.foreign import Foreign
from raxl.intake.nvidia_smi_listed import Group, told
from raxl.intake.nvidia_smi_nvlink import rate
from raxl.model.problem import NOT_SUPPORTED, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources.nvidia_smi_device import READINGS, distinct_gpus, seen

FORM = "nvidia-smi c2c -s"
_TELLTALE = re.compile(r"c2c", re.IGNORECASE)
_MESSAGE = re.compile(r".*\bC2C\b.*", re.IGNORECASE)


def recognises(text: str) -> bool:
    """Whether C2C links stand in it, or a message about them beneath a GPU's line."""
    return bool(_TELLTALE.search(text)) and any(True for _ in _told(text))


def own(text: str) -> str:
    """The GPUs' lines with their C2C links, or the message in their place."""
    return "".join(f"{line}\n" for group in _told(text) for line in (group.line, *group.beneath) if line)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs with their count of active C2C links, as attributes."""
    return Foreign(FORM, report=Report(claims=distinct_gpus(map(_claim, _told(text))))), ()


def _told(text: str) -> Iterator[Group]:
    return told(text, lambda link: link.is_c2c, _MESSAGE)


def _claim(group: Group) -> Claim:
    links = {link.number: rate(link) for link in group.links}
    if not links:
        message = group.beneath[0].strip()[:200]
        silence = Silence(NOT_SUPPORTED, f"nvidia-smi says: {message}", FORM)
        return seen(FORM, group.words, group.number, {"c2c": message}, {f"{READINGS}c2c_active": silence})
    active = [one for one in links.values() if one]
    attributes: dict[str, str | int | float | bool | None] = {
        "c2c_active": len(active),
        "c2c_inactive": len(links) - len(active),
    }
    if len(set(active)) == 1:
        attributes["c2c_bytes_per_second_each"] = active[0]
    return seen(FORM, group.words, group.number, attributes, {})
