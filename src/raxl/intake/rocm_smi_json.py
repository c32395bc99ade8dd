"""`rocm-smi --json`: `card0`, `card1` … with flat keys, and `system` with what concerns the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raxl.intake import amd_claims, amd_links, rocm_smi_fields
from raxl.intake.amd_links import Pair
from raxl.intake.amd_words import Told, note, plain, translated
from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import json_text

FORM = "rocm-smi --json"
_CARD = re.compile(r"card([0-9]{1,5})")
_TELLING = re.compile(
    r"\b(?:gpu|vram|gtt|guid|gfx|xgmi|ras|[smfd]clk|soc)|unique id|device (?:id|name)|temperature|pci|clock|voltage"
    r"|power|fan |firmware|card (?:series|model|vendor|sku)|partition|vbios|serial number|numa|performance level"
)
"""What one key at least says of any card."""
_PAIR = re.compile(r"\(topology\) (link type|bandwidth) between drm devices ([0-9]{1,5}) and ([0-9]{1,5})")


def recognises(text: str) -> bool:
    """Whether a document has a card with a key of rocm-smi's, or a machine's topology or driver."""
    if not re.search(r'"(card[0-9]|system)', text):
        return False
    for document in json_text.documents(plain(text)):
        for name, keys in _parts(document.value):
            if (_CARD.fullmatch(name) and any(map(_TELLING.search, keys))) or any(
                one == "driver version" or one.startswith("(topology)") for one in keys
            ):
                return True
    return False


def own(text: str) -> str:
    """The documents, without processes."""
    return json_text.own(plain(text))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The cards and how they are joined. Of a damaged document, what is whole is read."""
    told: Told = {}
    pairs: list[Pair] = []
    versions: list[str] = []
    cut: set[int] = set()
    damage: list[Problem] = []
    for document in json_text.documents(text):
        last = None
        for name, keys in _parts(document.value):
            card = _CARD.fullmatch(name)
            if card:
                last = int(card[1])
                note(told, last, translated(keys, rocm_smi_fields.FIELDS))
            else:
                last = None
                versions += [keys["driver version"]] if "driver version" in keys else []
                pairs += _pairs(keys)
        damage += document.problems("rocm-smi", FORM)
        cut.update([last] if document.damage and last is not None else [])
    if not told:
        told = {end: {} for pair in pairs for end in (pair.a, pair.b)}
    found = amd_claims.claims(FORM, rocm_smi_fields.with_units(told), cut)
    links, differences = amd_links.links(FORM, pairs, found.names)
    software, unsaid = rocm_smi_fields.software(FORM, versions)
    report = Report(claims=found.claims, links=links, software=software)
    return Foreign(FORM, report=report), (*damage, *found.problems, *differences, *unsaid)


def _parts(value: Any) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The cards and the machine's part of a document, each with its keys as `rocm_smi_fields.key` writes them."""
    for name, held in value.items() if isinstance(value, dict) else ():
        if isinstance(held, dict) and (_CARD.fullmatch(name) or name == "system"):
            yield name, {rocm_smi_fields.key(one): words for one, words in held.items() if isinstance(words, str)}


def _pairs(keys: Mapping[str, str]) -> Iterator[Pair]:
    for name, words in keys.items():
        found = _PAIR.fullmatch(name)
        if found and found[1] == "link type":
            yield Pair(int(found[2]), int(found[3]), words)
        elif found:
            yield Pair(int(found[2]), int(found[3]), bandwidth=words)
