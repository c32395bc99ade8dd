"""NVLinks as NVML tells them: each device states its own, and a pair's count is what both ends agree on."""

from __future__ import annotations

from itertools import combinations
from typing import Iterator, Mapping, Sequence

from raxl.host import Answer
from raxl.model.component import PciIdentity, Switch
from raxl.model.identity import nvswitch_id, pci_address
from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_SUPPORTED, UNREAD, Problem
from raxl.model.report import LinkClaim
from raxl.sources.nvml import NAME, Answers

_SWITCH, _OPEN = "switch", "open"
"""Where links lead that lead to no device here: to NVSwitches, and to where nobody says."""
_UP = (1, 2, 3)
_NPU_TYPE, _SWITCH_TYPE = 1, 2
"""`nvmlIntNvLinkDeviceType_t`; a link to an NPU joins a GPU and its processor."""
_CLASSES = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""`nvmlGpuTopologyLevel_t`: two GPUs of one board share its switch."""


def links(answers: Answers) -> tuple[list[LinkClaim], list[Problem]]:
    """NVLink between two devices, or through the NVSwitches: the smaller of both sides' totals; else the PCIe path.

    A pair has a claim only where both ends told their links.
    """
    ends = [_ends(device["nvlinks"], index, answers) for index, device in enumerate(answers.devices)]
    found: list[LinkClaim] = []
    problems = [*_open_ends(ends), *_unready(answers), *_cliques(answers), *_unanswered(answers, ends)]
    for a, b in combinations(range(len(ends)), 2):
        mine, other = ends[a], ends[b]
        if mine is None or other is None:
            continue
        forth, back = mine.get(b, 0), other.get(a, 0)
        switched = min(mine.get(_SWITCH, 0), other.get(_SWITCH, 0))
        if forth != back:
            message = f"nvidia:{a} has {forth} NVLinks up to nvidia:{b}, which has {back} back"
            problems.append(Problem("links", DISAGREEMENT, message, (NAME,)))
            found.append(_claim(a, b, None, "nvlink"))
        elif forth:
            found.append(_claim(a, b, fabric_class("nvlink", forth), "nvlink", forth))
        elif _OPEN in mine or _OPEN in other:
            found.append(_claim(a, b, None, "nvlink" if switched else None))
        elif switched:
            state = "down" if _is_apart(answers.devices[a]["fabric"], answers.devices[b]["fabric"]) else None
            found.append(_claim(a, b, fabric_class("nvlink", switched), "nvlink", switched, state))
        elif (level := answers.pairs[a, b]["ancestor"]).known and level.value in _CLASSES:
            found.append(_claim(a, b, _CLASSES[level.value], "pcie"))
    return found, problems


def _open_ends(ends: Sequence[Mapping[int | str, int] | None]) -> Iterator[Problem]:
    for index, known in enumerate(ends):
        if known and _OPEN in known:
            message = f"{known[_OPEN]} NVLinks of nvidia:{index} are up, and NVML does not say where they lead"
            yield Problem("links", NOT_SUPPORTED, message, (NAME,))


def _unready(answers: Answers) -> Iterator[Problem]:
    """Devices whose NVLinks lead to switches, and whose fabric does not carry anything yet."""
    states = [(index, _trouble(device["fabric"])) for index, device in enumerate(answers.devices)]
    for trouble in dict.fromkeys(state for _, state in states if state):
        names = ", ".join(f"nvidia:{index}" for index, state in states if state == trouble)
        yield Problem(
            "links.fabric", FAILED, f"the NVLink fabric of {names} is {trouble}: nothing goes over it", (NAME,)
        )


def _cliques(answers: Answers) -> Iterator[Problem]:
    """Cliques that differ within a node: all its devices should be in one."""
    places: dict[tuple[object, object], list[int]] = {}
    for index, device in enumerate(answers.devices):
        told = device["fabric"].value if device["fabric"].known else {}
        if told.get("state") == 3 and not told.get("status"):
            places.setdefault((told.get("cluster"), told.get("clique")), []).append(index)
    if len(places) > 1:
        words = [
            f"{', '.join(f'nvidia:{index}' for index in members)} in clique {clique}"
            for (_, clique), members in places.items()
        ]
        message = f"the node's devices are in several cliques of the fabric: {'; '.join(words)}"
        yield Problem("links.fabric", DISAGREEMENT, message, (NAME,))


def _unanswered(answers: Answers, ends: Sequence[Mapping[int | str, int] | None]) -> Iterator[Problem]:
    """Calls about pairs that hung or failed, though both devices answer."""
    asked = [pair for (a, b), pair in answers.pairs.items() if ends[a] is not None and ends[b] is not None]
    unread = [one for pair in asked for one in pair.values() if one.reason in UNREAD]
    if unread:
        message = f"{len(unread)} calls about pairs of devices: {unread[0].message}"
        yield Problem("links.p2p", unread[0].reason or FAILED, message, (NAME,))


def _trouble(fabric: Answer) -> str | None:
    told = fabric.value if fabric.known else {}
    state, status = told.get("state"), told.get("status")
    if state in (1, 2):
        return "not started" if state == 1 else "in progress"
    return f"completed with NVML error {status}" if state == 3 and status else None


def _is_apart(mine: Answer, other: Answer) -> bool:
    """Whether the fabric carries nothing between the two: it is not ready, or they are in different cliques of it."""
    if _trouble(mine) or _trouble(other):
        return True
    places = [(one.value.get("cluster"), one.value.get("clique")) for one in (mine, other) if one.known]
    states = {one.value.get("state") for one in (mine, other) if one.known}
    return len(places) == 2 and states == {3} and places[0] != places[1]


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
        end: int | str | None = places.get(address) if address else None
        if end is None and (link.get("remote_type") == _SWITCH_TYPE or _is_hidden(link.get("remote"))):
            end = _SWITCH
        elif end is None and link.get("remote_type") != _NPU_TYPE:
            end = _OPEN
        if end is not None:
            counts[end] = counts.get(end, 0) + 1
    return counts


def _visible(name: str | None) -> str | None:
    return None if name is None or _is_hidden(name) else pci_address(name)


def _is_hidden(name: str | None) -> bool:
    """Whether all its digits are f: what a virtual machine is told of an NVSwitch."""
    return name is not None and set(name.lower()) <= set("f:.") and "f" in name.lower()


def _claim(
    a: int, b: int, link_class: str | None, kind: str | None, count: int | None = None, state: str | None = None
) -> LinkClaim:
    return LinkClaim(f"nvidia#{a}", f"nvidia#{b}", link_class, kind, count, state=state, evidence=NAME)
