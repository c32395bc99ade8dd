"""NVLinks as NVML tells them: each device states its own, and a pair's count is what both ends agree on."""

from __future__ import annotations

from itertools import combinations
from typing import Mapping

from raxl.host import Answer
from raxl.model.component import PciIdentity, Switch
from raxl.model.identity import nvswitch_id, pci_address
from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.model.report import LinkClaim
from raxl.sources.nvml import NAME, Answers

_SWITCH = "switch"
_UP = (1, 2, 3)
_SWITCH_TYPE = 2
_CLASSES = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""`nvmlGpuTopologyLevel_t`: two GPUs of one board share its switch."""


def links(answers: Answers) -> tuple[list[LinkClaim], list[Problem]]:
    """NVLink between two devices, or through the NVSwitches: the smaller of both sides' totals; else the PCIe path.

    A pair has a claim only where both ends told their links.
    """
    ends = [_ends(device["nvlinks"], index, answers) for index, device in enumerate(answers.devices)]
    found: list[LinkClaim] = []
    problems: list[Problem] = []
    for a, b in combinations(range(len(ends)), 2):
        mine, other = ends[a], ends[b]
        if mine is None or other is None:
            continue
        forth, back = mine.get(b, 0), other.get(a, 0)
        if forth != back:
            message = f"nvidia:{a} has {forth} NVLinks up to nvidia:{b}, which has {back} back"
            problems.append(Problem("links", DISAGREEMENT, message, (NAME,)))
        count = min(forth, back) or min(mine.get(_SWITCH, 0), other.get(_SWITCH, 0))
        if forth != back:
            found.append(_claim(a, b, None, "nvlink"))
        elif count:
            found.append(_claim(a, b, fabric_class("nvlink", count), "nvlink", count))
        elif (level := answers.pairs[a, b]["ancestor"]).known and level.value in _CLASSES:
            found.append(_claim(a, b, _CLASSES[level.value], "pcie"))
    return found, problems


def told(answers: Answers) -> set[int]:
    """The devices whose NVLinks are known: all of them, or that they have none."""
    return {
        index for index, device in enumerate(answers.devices) if _ends(device["nvlinks"], index, answers) is not None
    }


def switches(answers: Answers) -> list[Switch]:
    """The NVSwitches that links lead to; those that a hypervisor hides have no address."""
    found = {
        address
        for device in answers.devices
        for link in device["nvlinks"].value or ()
        if link.get("remote_type") == _SWITCH_TYPE and (address := _visible(link.get("remote")))
    }
    return [Switch(id=nvswitch_id(address), kind="nvswitch", pci=PciIdentity(address)) for address in sorted(found)]


def _ends(answer: Answer, own: int, answers: Answers) -> Mapping[int | str, int] | None:
    """How many links are up to each other device and to all NVSwitches; None where that is not known."""
    if not answer.known:
        in_mig_mode = (answers.devices[own]["mig_mode"].value or (0,))[0]
        return {} if answer.reason == "not-supported" and not in_mig_mode else None
    places = {_visible(device["address"].value): index for index, device in enumerate(answers.devices)}
    counts: dict[int | str, int] = {}
    for link in answer.value:
        if link.get("state") not in _UP:
            continue
        address = _visible(link.get("remote"))
        end = places.get(address) if address else None
        if end is None and (link.get("remote_type") == _SWITCH_TYPE or _is_hidden(link.get("remote"))):
            counts[_SWITCH] = counts.get(_SWITCH, 0) + 1
        elif end is not None:
            counts[end] = counts.get(end, 0) + 1
    return counts


def _visible(name: str | None) -> str | None:
    return None if name is None or _is_hidden(name) else pci_address(name)


def _is_hidden(name: str | None) -> bool:
    """Whether all its digits are f: what a virtual machine is told of an NVSwitch."""
    return name is not None and set(name.lower()) <= set("f:.") and "f" in name.lower()


def _claim(a: int, b: int, link_class: str | None, kind: str, count: int | None = None) -> LinkClaim:
    return LinkClaim(f"nvidia#{a}", f"nvidia#{b}", link_class, kind, count, evidence=NAME)
