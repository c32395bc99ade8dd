"""The ledger of real captures: which of a corpus show devices of which family, and where they are public."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Iterable, Mapping, Sequence

from raxl.collect import assemble, inputs
from raxl.collect.plugin_recordings import CAPTURE
from raxl.errors import RaxlError

_THREADS = "https://github.com/"


def captures(corpus: Path, entries: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """By vendor (the first half of ids), one row a kind of capture: `kind`, `count` and `sources`.

    `entries` are the manifest's. What is no real capture does not count, nor one in which raxl finds no such device.
    """
    counts: Counter[tuple[str, str]] = Counter()
    sources: dict[tuple[str, str], set[str]] = {}
    for entry in entries:
        if entry["nature"] == CAPTURE:
            for vendor in _vendors(corpus / entry["path"]):
                counts[vendor, entry["kind"]] += 1
                sources.setdefault((vendor, entry["kind"]), set()).add(_source(entry["source"]))
    found: dict[str, list[dict[str, Any]]] = {}
    for (vendor, kind), count in sorted(counts.items()):
        row = {"kind": kind, "count": count, "sources": sorted(sources[vendor, kind])}
        found.setdefault(vendor, []).append(row)
    return found


def _vendors(path: Path) -> set[str]:
    try:
        nodes = assemble.inventory(inputs.opened([str(path)])).nodes
    except RaxlError:  # a form that raxl does not read
        return set()
    return {device.vendor for node in nodes for device in node.accelerators}


def _source(told: Mapping[str, Any]) -> str:
    """`owner/repository`, of a thread too; `public text` where no address was kept."""
    if "repo" in told:
        return str(told["repo"])
    address = str(told.get("issue", ""))
    if address.startswith(_THREADS):
        return "/".join(address[len(_THREADS) :].split("/")[:2])
    return address or "public text"


def seen(evidence: str, families: Mapping[str, str]) -> dict[str, list[str]]:
    """By vendor, the rows of `docs/evidence.md`: `device, driver, date, raxl`. `families`: vendor to its name."""
    found: dict[str, list[str]] = {}
    for cells in _rows(evidence):
        device, driver, date, version = cells[:4]
        for vendor, family in families.items():
            if family.lower() in device.lower() and all((driver, date, version)):
                found.setdefault(vendor, []).append(f"{device}, {driver}, {date}, raxl {version}")
    return found


def _rows(text: str) -> Iterable[list[str]]:
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) >= 4:
            yield cells
