"""What `tt-smi -s` says of Tenstorrent's chips: a snapshot as JSON, one entry a chip.

https://github.com/tenstorrent/tt-smi. The second chip of an n300 has no PCI function (`bus_id` is `N/A`): it is reached
over Ethernet through the first. The snapshot tells neither the size of a chip's memory nor how chips are joined. Of a
chip's health `dram_status` tells: whether the firmware could bring its memory up.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.model.accelerator import RayView
from raxl.model.component import PciLink
from raxl.model.identity import pci_address
from raxl.model.node import Software
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import json_text, tool_words, tt_names
from raxl.sources.numbers import MOST_PLACES, whole

TOOL = "tt-smi"
_GTS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
_SIDES = ("L", "R")
"""The two chips of one card, the one with the PCI function first."""
_UNJOINED = Silence(NOT_SUPPORTED, f"a snapshot of {TOOL} does not say how chips are joined", TOOL)


class _Entry(NamedTuple):
    """One chip: its place in the snapshot, and its groups of words."""

    place: int
    held: Mapping[str, Any]
    is_cut: bool


def recognises(text: str) -> bool:
    """Whether a snapshot stands in the text, one without chips or a damaged one among it."""
    return '"device_info"' in text and ('"board_info' in text or '"host_sw_vers"' in text or '"host_info"' in text)


def report(text: str) -> Report:
    """The chips, the pairs that one card joins, the versions."""
    entries: List[_Entry] = []
    problems: List[Problem] = []
    software: Dict[str, Software] = {}
    found = False
    for document in json_text.documents(text):
        held = document.value.get("device_info") if isinstance(document.value, dict) else None
        if not isinstance(held, list):
            continue
        found = True
        chips = [one for one in held if isinstance(one, dict)]
        entries += [_Entry(len(entries) + i, one, _is_last(document, i, chips)) for i, one in enumerate(chips)]
        software.update((one.name, one) for one in _software(document.value))
        problems += document.problems(TOOL, TOOL)
    if not found and recognises(text):
        problems.append(Problem("accelerators", FAILED, f"the JSON of {TOOL} cannot be read", (TOOL,)))
    boards = Counter(_board(entry) for entry in entries)
    claims = tuple(_claim(entry, boards[_board(entry)] > 1) for entry in entries)
    links = tuple(_links(claims))
    if links:
        problems.append(Problem("links", _UNJOINED.reason, _UNJOINED.message, (TOOL,)))
    return Report(claims=claims, links=links, software=tuple(software.values()), problems=tuple(problems))


def host_words(text: str) -> Mapping[str, str]:
    """What the first snapshot says of its host: `Hostname`, `Kernel`, `Distro`, `Platform`."""
    for document in json_text.documents(text):
        held = document.value.get("host_info") if isinstance(document.value, dict) else None
        if isinstance(held, dict):
            words = tool_words.Words(TOOL, held)
            return {name: said for name in held if isinstance(name, str) and (said := words.said(name)) is not None}
    return {}


def _is_last(document: json_text.Document, place: int, chips: Sequence[object]) -> bool:
    return document.damage is not None and place == len(chips) - 1


def _software(value: Mapping[str, Any]) -> List[Software]:
    """The driver from `TT-KMD 1.34`, and the tools' own versions."""
    told = []
    for group, name, word in (("host_info", "tenstorrent", "Driver"), ("host_sw_vers", "tt-smi", "tt_smi")):
        held = value.get(group)
        said = tool_words.Words(TOOL, held).said(word) if isinstance(held, dict) else None
        version = re.search(r"[0-9]+(?:\.[0-9]+){1,3}[\w.-]{0,20}", said or "")
        told += [Software(name, version[0], TOOL)] if version else []
    return told


def _board(entry: _Entry) -> Optional[str]:
    held = entry.held.get("board_info")
    return tool_words.Words(TOOL, held).said("board_id") if isinstance(held, dict) else None


def _claim(entry: _Entry, is_shared: bool) -> Claim:
    """`is_shared`: several chips of the snapshot are on its board."""
    flat: Dict[str, Any] = {}
    for group in ("board_info", "firmwares"):
        held = entry.held.get(group)
        flat.update(held if isinstance(held, dict) else {})
    words = tool_words.Words(TOOL, flat, entry.is_cut)
    board, kind = words.said("board_id"), words.said("board_type")
    address = pci_address(words.said("bus_id"))
    remote = address is None and words.raw("bus_id") == "N/A"
    silent = {
        "memory_bytes": Silence(NOT_SUPPORTED, f"a snapshot of {TOOL} does not tell the size of the memory", TOOL),
        "uuid": Silence(NOT_SUPPORTED, f"{TOOL} names no identity of a chip, only of its board", TOOL),
        "fabric": Silence(NOT_APPLICABLE, "Tenstorrent names no domain of its Ethernet fabric"),
        "ray.type": Silence(NOT_APPLICABLE, "Ray tells no type of a Tenstorrent device"),
    }
    if kind is None:
        silent.update(dict.fromkeys(("model", "architecture"), words.silence("board_type")))
    side = kind.split()[-1] if kind and kind.startswith("n300") and kind.split()[-1] in _SIDES else None
    if board is None:
        silent["serial"] = words.silence("board_id")
    elif is_shared or side:
        silent["serial"] = Silence(NOT_APPLICABLE, "the number is its board's, which has several chips", TOOL)
    if remote:
        reached = Silence(NOT_APPLICABLE, "the chip has no PCI function: it is reached over its card's Ethernet", TOOL)
        silent.update(dict.fromkeys(("pci", "numa_node", "pcie_root"), reached))
    state, why = _state(words, entry.held.get("board_info"))
    silent.update({} if why is None else {"state": why})
    return Claim(
        vendor=tt_names.VENDOR,
        kind="npu",
        evidence=TOOL,
        address=address,
        unit=f"{board.lstrip('0')} {side}" if board and side else None,
        index=entry.place,
        model=kind,
        architecture=tt_names.architecture(kind),
        serial=None if is_shared or side else board,
        link=_link(words),
        state=state,
        ray=RayView(resource=tt_names.RESOURCE),
        visible_env=tt_names.VISIBLE,
        attributes={
            **{name: said for name, word in _TOLD.items() if (said := words.said(word)) is not None},
            **tt_names.attributes(kind),
        },
        silent=silent,
    )


_TOLD = {"board_id": "board_id", "coordinates": "coords", "dram_speed": "dram_speed", "firmware": "fw_bundle_version"}


def _state(words: tool_words.Words, board: object) -> Tuple[Optional[str], Optional[Silence]]:
    """`dram_status` is whether the chip's memory was trained."""
    trained = board.get("dram_status") if isinstance(board, dict) else None
    if trained is True:
        return "ok", None
    if trained is False:
        return "degraded", None
    return None, words.silence("dram_status")


def _link(words: tool_words.Words) -> Optional[PciLink]:
    speed = _GTS.get(whole(words.said("pcie_speed"), MOST_PLACES) or 0)
    width = whole(words.said("pcie_width"), 64) or None
    return PciLink(speed_gts=speed, width=width) if speed or width else None


def _links(claims: Sequence[Claim]) -> List[LinkClaim]:
    """The two chips of one card are joined on it; of every other pair nobody says whether Ethernet joins it."""
    found = []
    for a, b in combinations(claims, 2):
        together = a.unit is not None and b.unit is not None and a.unit != b.unit and a.unit[:-1] == b.unit[:-1]
        kind = tt_names.FABRIC if together else None
        found.append(LinkClaim(_end(a), _end(b), None, kind, evidence=TOOL))
    return found


def _end(claim: Claim) -> str:
    return claim.unit or claim.address or f"{tt_names.VENDOR}#{claim.index}"
