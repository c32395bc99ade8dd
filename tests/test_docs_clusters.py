"""`docs/clusters.md` shows what the code prints of a recorded cluster, which a live one prints too."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import clusters
from raxl.cli import outcome
from raxl.cli.app import app

DOCUMENT = Path(__file__).parents[1] / "docs/clusters.md"
BLOCK = re.compile(r"(?<=^```console\n\$ )(raxl [^\n]*)\n(.*?)(?=^```)", re.MULTILINE | re.DOTALL)
SILENT = {"gpu-08": ("timed-out", "no answer within 20 s"), "tray-05": ("failed", "dead: health check failed")}


def later() -> list[clusters.Member]:
    """The same cluster when two nodes are gone."""
    return [
        replace(one, lost=SILENT[one.name], state="dead" if "dead" in SILENT[one.name][1] else "alive")
        if one.name in SILENT
        else one
        for one in clusters.OF_DOCUMENTATION
    ]


def printed(command: str) -> str:
    """What a command prints; of the running cluster, what it prints of its record."""
    words = shlex.split(command)[1:]
    now = "later.tar.gz" if "monday.tar.gz" in words or "--timeout" in words else "monday.tar.gz"
    arguments = []
    for word in words:
        arguments += ["--from", now] if word == "--cluster" else [word]
    written = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(written):
        outcome.run(app, arguments)
    written.seek(0)
    return written.read()


def test_the_document_shows_what_is_printed(tmp_path: Path, accept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "monday.tar.gz").write_bytes(clusters.packed(clusters.OF_DOCUMENTATION))
    (tmp_path / "later.tar.gz").write_bytes(clusters.packed(later()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    text = DOCUMENT.read_text()
    assert len(BLOCK.findall(text)) >= 6
    now = BLOCK.sub(lambda block: f"{block[1]}\n{printed(block[1])}", text)
    if accept:
        DOCUMENT.write_text(now)
    assert now == text or accept
