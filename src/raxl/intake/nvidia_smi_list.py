"""`nvidia-smi -L`: a line a GPU, and beneath it one for each of its MIG devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from raxl.intake.foreign import Foreign
from raxl.intake.nvidia_smi_listed import Group, groups, link_of
from raxl.model.accelerator import Partition
from raxl.model.problem import Problem
from raxl.model.report import Claim, Report
from raxl.sources.nvidia_smi_device import claim

FORM = "nvidia-smi -L"
_MIG = re.compile(r"\s*MIG\s+(\S{1,40})\s+Device\s*([0-9]{1,5})\s*:\s*\(\s*UUID\s*:\s*([^()\s]{0,100})\s*\)?")
_MIG_UUID = re.compile(r"MIG-(?:GPU-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\S*", re.IGNORECASE)
_ELSEWHERE = re.compile(r"nvlink|c2c", re.IGNORECASE)


def recognises(text: str) -> bool:
    """Whether a GPU's line stands in the text that is not the title of its links."""
    return "UUID" in text and any(True for _ in _listed(text))


def own(text: str) -> str:
    """The lines of the GPUs and of their MIG devices."""
    return "".join(
        f"{line}\n"
        for group in _listed(text)
        for line in (group.line, *(line for line in group.beneath if _MIG.fullmatch(line)))
    )


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs with names, UUIDs and MIG devices. A GPU that is listed twice is listed once."""
    claims: dict[tuple[int | None, str | None], Claim] = {}
    for group in _listed(text):
        made = claim(FORM, group.words, index=group.number, partitions=tuple(_partitions(group)), is_cut_at=group.cut)
        known = claims.setdefault((group.number, group.uuid), made)
        if len(made.partitions) > len(known.partitions):
            claims[group.number, group.uuid] = made
    return Foreign(FORM, report=Report(claims=tuple(claims.values()))), ()


def _listed(text: str) -> Iterator[Group]:
    for group in groups(text):
        first = group.beneath[0] if group.beneath else ""
        if group.number is not None and not any(map(link_of, group.beneath)) and not _ELSEWHERE.search(first):
            yield group


def _partitions(group: Group) -> Iterator[Partition]:
    devices = sorted((found for line in group.beneath if (found := _MIG.fullmatch(line))), key=lambda one: int(one[2]))
    for found in devices:
        is_whole = found[0].endswith(")") or _MIG_UUID.fullmatch(found[3])
        yield Partition(found[3] if found[3] and is_whole else f"mig:{int(found[2])}", found[1])
