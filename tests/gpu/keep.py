"""Keeps what `raxl bench-transport` measured on a machine with GPUs: without its name and addresses, and as a row.

    python tests/gpu/keep.py BENCH.json QUERY.xml RECORDING.json

Writes the recording, and prints a line for each transport and the row for docs/evidence.md. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_NAME = "gpu-host"


def without_names(text: str) -> str:
    """The document with another name for its node, and no IPv4 address."""
    environment = json.loads(text)["environment"]["nodes"]
    names = {*environment, *(own.get("hostname") for own in environment.values())} - {None, ""}
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", _NAME, text)
    return _ADDRESS.sub("192.0.2.1", text)


def figures(document: dict[str, Any]) -> dict[str, str]:
    """By transport its best bandwidth, or what became of its rows, with the first reason."""
    told: dict[str, str] = {}
    for name in dict.fromkeys(run["transport"] for run in document["runs"]):
        runs = [run for run in document["runs"] if run["transport"] == name]
        rates = [run["bandwidth_bytes_per_second"]["median"] for run in runs if run["bandwidth_bytes_per_second"]]
        bad = [run["status"] for run in runs if run["status"] in ("mismatch", "corrupt", "suspect")]
        told[name] = bad[0] if bad else f"{max(rates) / 1e9:.2f} GB/s" if rates else runs[0]["status"]
    return told


def main(bench: Path, query: Path, recording: Path) -> None:
    text = without_names(bench.read_text())
    recording.write_text(text)
    document = json.loads(text)
    told = figures(document)
    why = {run["transport"]: run["error"] for run in document["runs"] if run["error"]}
    for name, words in told.items():
        sys.stdout.write(f"{name}: {words}{f' ({why[name]})' if words == 'unavailable' else ''}\n")
    tree = ElementTree.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", query.read_text()))
    models = Counter(gpu.findtext("product_name") or "?" for gpu in tree.findall("gpu"))
    device = ", ".join(f"{count} × {model}" for model, count in models.items())
    pattern = next((run["pattern"] for run in document["runs"]), "-")
    measured = ", ".join(f"{name} {words}" for name, words in told.items() if words != "unavailable")
    digest = hashlib.sha256(recording.read_bytes()).hexdigest()
    row = (document["created"][:10], document["raxl_version"], device, tree.findtext("driver_version") or "?")
    sys.stdout.write(f"| {' | '.join((*row, pattern, measured or 'nothing', digest))} |\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
