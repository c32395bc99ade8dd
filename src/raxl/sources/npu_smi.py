"""`npu-smi info`, the table of Huawei Ascend's tool: a line a card, beneath it one a chip.

https://support.huawei.com (npu-smi command reference). A 910C card (A3) has two chips, each with a line of its own and
a physical id; a 310P Duo card too. A card's memory is HBM, or where it has none DDR.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

from raxl.model.accelerator import RayView
from raxl.model.identity import pci_address
from raxl.model.node import Software
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, Silence
from raxl.sources import tool_box, tool_silence
from raxl.sources.ascend import ASCEND, RAY_TYPE, VISIBLE_IDS, Attributes, ray_type
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole
from raxl.sources.tool_words import lines

FORM = "npu-smi info"
COMMAND = ("npu-smi", "info")
_HEAD = re.compile(r"npu-smi \S{1,40} Version: ?(\S{1,40})")
_TITLE = re.compile(r"NPU Name(?: Health\b.*)?|Chip\b.{0,40}Bus-Id\b.*")
_BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_CARD = re.compile(r"([0-9]{1,5}) ([A-Za-z0-9][\w.-]{1,30}) ([A-Z][A-Za-z]{1,15}) (\S.*)")
_CHIP = re.compile(rf"([0-9]{{1,5}})(?: ([0-9]{{1,5}}|NA|-))? ({_BDF}|NA|N/A|-) (\S.*)")
_USAGE = re.compile(r"(?<![\w.])([0-9]{1,12}|NA|-)\s{0,8}/\s{0,8}([0-9]{1,12}|NA|-)(?![\w.])")
_PROCESSES = re.compile(r"Process (?:id|name)|No running processes", re.IGNORECASE)
_SICK = ("warning", "alarm", "critical", "minor", "major")
_HEALTHY = ("ok",)


class Chip(NamedTuple):
    """One chip: its card's line, then its own."""

    card: int
    model: str
    health: str
    chip: Optional[int]
    physical: Optional[int]
    address: Optional[str]
    memory_bytes: Optional[int]
    memory_words: Optional[str]
    """What stands where its memory would; None where its line is missing or ends before it."""


class Log(NamedTuple):
    """The chips in the table's order, the tool's version, whether the table has its head, and how it is damaged."""

    chips: Tuple[Chip, ...]
    version: Optional[str]
    is_headed: bool
    damage: Tuple[Problem, ...] = ()


def recognises(text: str) -> bool:
    """Whether the table's head or its titles stand in the text, or a card's line with a chip's beneath."""
    if ("/" not in text and "npu-smi" not in text) or "RBLN" in text:  # rbln-smi's rows have the same shape
        return False
    kinds = [kind for kind, _ in _kept(text)]
    return "head" in kinds or "title" in kinds or " card chip" in " " + " ".join(kinds)


def own(text: str) -> str:
    """Head, titles and the lines of cards and chips with the borders that close them, without the processes."""
    kept = tool_box.framed(lines(text), {line for _, line in _kept(text)}, tool_box.DOUBLE)
    return "".join(f"{line}\n" for line in kept)


def _kept(text: str) -> List[Tuple[str, str]]:
    kept: List[Tuple[str, str]] = []
    in_processes = False
    for line in lines(text):
        words = tool_silence.without_bars(line)
        chip, card = _CHIP.fullmatch(words), _CARD.fullmatch(words)
        if _HEAD.fullmatch(words):
            in_processes = False
            kept.append(("head", line))
        elif _PROCESSES.search(words):
            in_processes = True
        elif in_processes:
            continue
        elif _TITLE.fullmatch(words):
            kept.append(("title", line))
        elif chip and (_USAGE.search(chip[4]) or (kept and kept[-1][0] == "card")):
            kept.append(("chip", line))
        elif card and (_USAGE.search(card[4]) or kept):
            kept.append(("card", line))
    return kept


def read(text: str) -> Log:
    """Every chip once, however often the table was printed."""
    version: Optional[str] = None
    is_headed = False
    chips: Dict[Tuple[int, Optional[int]], Chip] = {}
    card: Optional[Chip] = None
    kept = _kept(text)
    for kind, line in kept:
        words = tool_silence.without_bars(line)
        found = _CARD.fullmatch(words) if kind == "card" else _CHIP.fullmatch(words)
        if kind in ("head", "title"):
            head = _HEAD.fullmatch(words)
            is_headed = True
            version = version or (head[1] if head else None)
            card = None
        elif kind == "card" and found:
            card = Chip(int(found[1]), found[2], found[3], None, None, None, None, None)
            chips.setdefault((card.card, None), card)
        elif card is not None and found:
            chips.pop((card.card, None), None)
            chip = _chip(card, found, tool_box.is_broken(line))
            chips[chip.card, chip.chip] = chip
    rows = {line for kind, line in kept if kind in ("card", "chip")}
    damage = tool_box.damage("npu-smi", FORM, lines(text), rows, tool_box.DOUBLE)
    return Log(tuple(chips.values()), version, is_headed, damage)


def _chip(card: Chip, found: "re.Match[str]", is_broken: bool) -> Chip:
    """`is_broken`: its line ends before its last bar, and what stands last there may be half a word."""
    usages = _USAGE.findall(found[4])
    totals = [] if is_broken else [whole(total, MOST_BYTES >> 20) for _, total in usages]
    memory = next((total for total in reversed(totals) if total), None)
    return card._replace(
        chip=int(found[1]),
        physical=whole(found[2], MOST_PLACES),
        address=pci_address(found[3]),
        memory_bytes=memory << 20 if memory else None,
        memory_words=None if is_broken else usages[-1][1] if usages else "",
    )


def claims(log: Log) -> List[Claim]:
    """One claim a chip; its number is the physical id that the table gives, else its card's where that has one chip."""
    several = {chip.card for chip in log.chips if chip.chip not in (None, 0)}
    shared = Counter(chip.address for chip in log.chips)
    made = []
    for chip in log.chips:
        claim = _claim(chip, chip.card in several)
        made.append(replace(claim, unit=f"{chip.card}/{chip.chip}") if shared[chip.address] > 1 else claim)
    return made


def _claim(chip: Chip, is_one_of_several: bool) -> Claim:
    silent: Dict[str, Silence] = {}
    index = chip.physical
    if index is None and not is_one_of_several:
        index = chip.card
    if index is None:
        silent["index"] = Silence(NOT_SUPPORTED, "npu-smi shows no physical id for the chips of a card", FORM)
    if chip.memory_bytes is None:
        silent["memory_bytes"] = tool_silence.silence(chip.memory_words, "npu-smi", FORM, is_cut=True)
    health = chip.health.lower()
    state = "ok" if health in _HEALTHY else "degraded" if health in _SICK else None
    if state is None:
        silent["state"] = Silence(FAILED, f"npu-smi calls its health {chip.health}", FORM)
    kind = ray_type(chip.model)
    if kind is None:
        silent["ray.type"] = RAY_TYPE
    numbers: Attributes = {"card": chip.card, "chip": chip.chip, "physical_id": chip.physical}
    return Claim(
        vendor=ASCEND.vendor,
        kind=ASCEND.kind,
        evidence=FORM,
        address=chip.address,
        index=index,
        model=tool_silence.says(chip.model),
        memory_bytes=chip.memory_bytes,
        state=state,
        ray=RayView(resource=ASCEND.resource, type=kind),
        visible_env=ASCEND.visible_env,
        attributes={
            "health": chip.health,
            "visible_env_ids": VISIBLE_IDS,
            **{name: value for name, value in numbers.items() if value is not None},
        },
        silent=silent,
    )


def problems(log: Log) -> Tuple[Problem, ...]:
    """A head without a card, a table that ends early, and addresses that two cards share; the chips of a Duo card
    have one."""
    if log.is_headed and not log.chips:
        return (tool_box.empty("npu-smi", FORM, "NPU"),)
    cards: Dict[str, Set[int]] = {}
    for chip in log.chips:
        if chip.address:
            cards.setdefault(chip.address, set()).add(chip.card)
    twice = sorted(address for address, numbers in cards.items() if len(numbers) > 1)
    message = f"npu-smi shows several cards at {', '.join(twice)}"
    shared = (Problem("accelerators.pci", DISAGREEMENT, message, (FORM,)),) if twice else ()
    return (*log.damage, *shared)


def software(log: Log) -> Tuple[Software, ...]:
    """The tool's version, which is the driver's."""
    return (Software("npu-smi", log.version, FORM),) if log.version else ()
