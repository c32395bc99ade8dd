"""`nvidia-smi nvlink -s`: the links of each GPU, whether they are up, and how fast one of them is.

It does not say to whom a link goes: no pair of GPUs gets a link class from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from raxl.intake import nvidia_smi_listed
from raxl.intake.foreign import Foreign
from raxl.intake.nvidia_smi_listed import Group, Link, link_of
from raxl.model.facts import Reading
from raxl.model.problem import FAILED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import nvidia_smi_values as values
from raxl.sources.nvidia_smi_device import READINGS, distinct_gpus, seen

FORM = "nvidia-smi nvlink -s"
_TELLTALE = re.compile(r"[Nn][Vv]-?[Ll][Ii][Nn][Kk]|\b[Ll]ink\s*[0-9]")
_MESSAGE = re.compile(r".*\bnv-?link\b.*", re.IGNORECASE)
_NONE = re.compile(r"links are inactive|not have or support|no nvlink", re.IGNORECASE)
_REFUSED = re.compile(r"not supported|unsupported", re.IGNORECASE)
_RATE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,6})?) ?GB/s", re.IGNORECASE)
_ASLEEP = re.compile(r"<?sleep(ing)?>?", re.IGNORECASE)
"""A link that saves power while nothing is sent: it is there, and wakes by itself."""
_FAILED_LINK = re.compile(r".{0,200}\blink ([0-9]{1,5})\s*:?\s*(.{0,200})", re.IGNORECASE)
_DOWN = re.compile(r"<?(inactive|disabled|off)>?", re.IGNORECASE)
_MOST_PAIRED = 64
"""More GPUs than any machine has; more than these are no machine's."""


def recognises(text: str) -> bool:
    """Whether a GPU's links stand in it, or a message about them beneath the GPU's line."""
    return bool(_TELLTALE.search(text)) and any(True for _ in _told(text))


def own(text: str) -> str:
    """The GPUs' lines with their links, or the message in their place."""
    return "".join(f"{line}\n" for group in _told(text) for line in (group.line, *group.beneath) if line)


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs with their count of active links, as attributes.

    Between GPUs with active links NVLink may be the way, and nobody says whether it is: their PCIe path is not given as
    theirs.
    """
    claims = distinct_gpus(map(_claim, _told(text)))
    joined = [claim.names[-1] for claim in claims if claim.attributes.get("nvlink_active") and claim.names]
    pairs = combinations(joined, 2) if len(joined) <= _MOST_PAIRED else ()
    links = tuple(LinkClaim(a, b, None, None, evidence=FORM) for a, b in pairs)
    return Foreign(FORM, report=Report(claims=claims, links=links)), ()


class Told(NamedTuple):
    """The links of one GPU: how the text calls it, and the reading `nvlinks` of `raxl.collect.nvidia_devices`."""

    names: tuple[int | None, str | None]
    reading: Reading


def told(text: str) -> list[Told]:
    """What checks go by of each GPU."""
    return [Told((group.number, group.uuid), _reading(group)) for group in _told(text)]


def _reading(group: Group) -> Reading:
    """Each link by its number; one that could not be read has no state."""
    links = {link.number: _state(link) for link in group.links}
    links.update((number, None) for number, _ in _failed(group))
    if links:
        return Reading([{"state": links[number], "remote": None} for number in sorted(links)], FORM)
    message = group.beneath[0].strip()[:200]
    is_none = _NONE.search(message) or _REFUSED.search(message)
    return Reading(None, FORM, NOT_SUPPORTED if is_none else FAILED, f"nvidia-smi says: {message}")


def _state(link: Link) -> str | None:
    if _RATE.fullmatch(link.word):
        return "up"
    if _ASLEEP.fullmatch(link.word):
        return "sleeping"
    return "down" if _DOWN.fullmatch(link.word) else None


def _told(text: str) -> Iterator[Group]:
    return nvidia_smi_listed.told(text, _is_nvlink, _MESSAGE)


def _is_nvlink(link: Link) -> bool:
    return not link.is_c2c and any(
        (_RATE.fullmatch(link.word), _DOWN.fullmatch(link.word), _ASLEEP.fullmatch(link.word), _is_failure(link.word))
    )


def _is_failure(word: str) -> bool:
    return values.is_failure(word) or values.is_failure(word.strip("<>"))


def _failed(group: Group) -> Iterator[tuple[int, str]]:
    """The links that could not be read, with the tool's words: in a link's place, or in a line of its own."""
    for link in group.links:
        if _is_failure(link.word):
            yield link.number, link.word[:200]
    for line in group.beneath:
        found = None if link_of(line) else _FAILED_LINK.fullmatch(line.strip())
        if found:
            yield int(found[1]), line.strip()[:200]


def _claim(group: Group) -> Claim:
    attributes: dict[str, str | int | float | bool | None] = {}
    silent: dict[str, Silence] = {}
    links = {link.number: link for link in group.links}
    if links:
        failed = dict(_failed(group))
        running = [link for link in links.values() if _RATE.fullmatch(link.word)]
        active = [*running, *(link for link in links.values() if _ASLEEP.fullmatch(link.word))]
        down = [link for link in links.values() if _DOWN.fullmatch(link.word)]
        attributes = {"nvlink_active": len(active), "nvlink_inactive": len(down)}
        for number, words in failed.items():
            silent[f"{READINGS}nvlink_{number}"] = Silence(FAILED, f"nvidia-smi says: {words}", FORM)
        rates = {rate(link) for link in running}
        if len(rates) == 1:
            attributes["nvlink_bytes_per_second_each"] = rates.pop()
    else:
        message = group.beneath[0].strip()[:200]
        attributes["nvlink"] = message
        if _NONE.search(message):
            attributes["nvlink_active"] = 0
        else:
            reason = NOT_SUPPORTED if _REFUSED.search(message) else FAILED
            silent[f"{READINGS}nvlink_active"] = Silence(reason, f"nvidia-smi says: {message}", FORM)
    return seen(FORM, group.words, group.number, attributes, silent)


def rate(link: Link) -> int | None:
    """Bytes a second, one direction, of one link, its framing included as the tool gives it; None: it gives none."""
    found = _RATE.fullmatch(link.word)
    return round(float(found[1]) * 10**9) if found else None
