"""`amd-smi list|static|metric|topology|partition|xgmi --json`: a list of GPUs (ROCm 6), or one below a key (ROCm 7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from raxl.intake import amd_claims, amd_links, amd_smi_fields
from raxl.intake.amd_links import Pair
from raxl.intake.amd_words import Told, note, plain, tell, translated
from raxl.intake.foreign import Foreign
from raxl.model.problem import Problem
from raxl.model.report import Report
from raxl.sources import json_text
from raxl.sources.numbers import MOST_PLACES, whole

FORM = "amd-smi --json"
_PEER = re.compile(r"gpu_([0-9]{1,5})")
_VERSIONS = {"rocm_version": "ROCm", "amdgpu_version": "amdgpu"}
_PEERS = ("links", "link_type", "numa_bandwidth", "link_accessibility", "weight", "hops")
_DEEPEST = 8


def recognises(text: str) -> bool:
    """Whether the text holds GPUs, or the versions, as amd-smi writes them."""
    if not re.search(r'"(?i:gpu|gpu_id|rocm_version)"', text):
        return False
    for document in json_text.documents(plain(text)):
        for entry in _entries(document.value):
            if entry.keys() & _VERSIONS.keys() or {"links", "link_metrics", "link_type"} & entry.keys():
                return True
            if _number(entry) is not None and amd_smi_fields.TELLING & _flat(entry).keys():
                return True
    return False


def own(text: str) -> str:
    """The documents, without processes."""
    return json_text.own(plain(text))


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The GPUs and how they are joined. Of a damaged document, what is whole is read."""
    told: Told = {}
    pairs: list[Pair] = []
    stated: list[tuple[str, str]] = []
    documents = json_text.documents(text)
    cut: set[int] = set()
    for document in documents:
        last = None
        for entry in _entries(document.value):
            stated += [(name, str(entry[key])) for key, name in _VERSIONS.items() if key in entry]
            number = _number(entry)
            if number is None:
                continue
            last = number if not entry.keys() & set(_PEERS) else None
            note(told, number, translated(_flat(entry), amd_smi_fields.FIELDS))
            pairs += _pairs(number, entry, told)
        cut.update([last] if document.damage and last is not None else [])
    found = amd_claims.claims(FORM, told, cut)
    links, differences = amd_links.links(FORM, pairs, found.names)
    software, versions = amd_smi_fields.software(FORM, told, stated)
    report = Report(claims=found.claims, links=links, software=tuple(software))
    damage = [problem for document in documents for problem in document.problems("amd-smi", FORM)]
    return Foreign(FORM, report=report), (*damage, *found.problems, *differences, *versions)


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object that is about one GPU or about versions, wherever the release puts it."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += reversed(node)
        elif isinstance(node, dict):
            entry = {str(key).lower(): held for key, held in node.items()}
            if _number(entry) is not None:
                yield entry
                continue
            if entry.keys() & _VERSIONS.keys():
                yield entry
            waiting += reversed([held for held in entry.values() if isinstance(held, (dict, list))])


def _number(entry: Mapping[str, Any]) -> int | None:
    number = entry.get("gpu", entry.get("gpu_id"))
    return whole(number, MOST_PLACES) if isinstance(number, str) else None


def _flat(entry: Mapping[str, Any]) -> dict[str, str]:
    """The words by dotted path in lower case; a value with its unit is one word. Peers and profiles are left out."""
    found: dict[str, str] = {}
    waiting: list[tuple[str, Any, int]] = [("", entry, 0)]
    is_profile = "profile_index" in entry
    while waiting:
        path, node, depth = waiting.pop()
        if isinstance(node, dict) and depth < _DEEPEST:
            lower = {str(key).lower(): held for key, held in node.items()}
            if "value" in lower and not isinstance(lower["value"], (dict, list)):
                unit = lower.get("unit")
                found[path] = (
                    f"{_word(lower['value'])} {unit}".strip() if isinstance(unit, str) else _word(lower["value"])
                )
                continue
            kept = {key: held for key, held in lower.items() if depth or key not in _PEERS}
            waiting += [(f"{path}.{key}" if path else key, held, depth + 1) for key, held in kept.items()]
        elif not isinstance(node, (dict, list)):
            found[path] = _word(node)
    return {} if is_profile else found


def _word(value: Any) -> str:
    return "N/A" if value is None else str(value)


def _pairs(number: int, entry: Mapping[str, Any], told: Told) -> Iterator[Pair]:
    """What is said of this GPU and each other: `links` (ROCm 6.3), `link_type` by `gpu_N` (before), `link_metrics`.

    A peer that is named is there, even where the list ends before its own entry.
    """
    metrics = entry.get("link_metrics")
    shared = str(metrics.get("link_type")) if isinstance(metrics, dict) else None
    held = metrics.get("links") if isinstance(metrics, dict) else entry.get("links")
    for link in held if isinstance(held, list) else ():
        peer = _number(link) if isinstance(link, dict) else None
        if peer is None:
            continue
        card = told.setdefault(peer, {})
        if isinstance(link.get("bdf"), str):
            tell(card, "address", link["bdf"])
        kind = link.get("link_type", shared if link.get("read") not in (None, "N/A") else None)
        yield Pair(number, peer, _text(kind), _text(link.get("bandwidth")))
    types, bandwidths = entry.get("link_type"), entry.get("numa_bandwidth")
    for name, kind in types.items() if isinstance(types, dict) else ():
        found = _PEER.fullmatch(str(name))
        if found:
            told.setdefault(int(found[1]), {})
            bandwidth = bandwidths.get(name) if isinstance(bandwidths, dict) else None
            yield Pair(number, int(found[1]), _text(kind), _text(bandwidth))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
