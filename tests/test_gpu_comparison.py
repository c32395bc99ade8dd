"""The comparison that runs on machines with GPUs, before the stub library and the recording of the same machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import recordings
from stubs import NVML, live, raxl, scenario

COMPARE = Path(__file__).parent / "gpu/compare.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An inventory of NVML's, and what `nvidia-smi` prints of the same eight GPUs."""
    folder = tmp_path_factory.mktemp("gpu")
    snapshot = live(NVML, "hgx-h100", folder).snapshot
    (folder / "inventory.json").write_text(raxl("topo", "--format", "json", "--from", str(snapshot)).stdout)
    commands = recordings.parse(recordings._text(scenario(NVML, "hgx-h100").machine)).commands
    (folder / "query.xml").write_text(commands["nvidia-smi -q -x"].value.stdout)
    (folder / "matrix.txt").write_text(commands["nvidia-smi topo -m"].value.stdout)
    return folder


def compare(folder: Path) -> tuple[int, list[str]]:
    files = [str(folder / name) for name in ("inventory.json", "query.xml", "matrix.txt")]
    done = subprocess.run([sys.executable, str(COMPARE), *files], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_what_agrees_is_counted(folder: Path) -> None:
    code, lines = compare(folder)
    assert (code, lines[:-1]) == (0, [])
    fields = 3 + 8 * 11 + 28 + 8 * 9 + 8
    assert lines[-1] == f"{fields} of {fields} fields agree"


def test_what_differs_is_named(folder: Path, tmp_path: Path) -> None:
    for name in ("query.xml", "matrix.txt"):
        (tmp_path / name).write_text((folder / name).read_text())
    document = json.loads((folder / "inventory.json").read_text())
    document["nodes"][0]["accelerators"][3]["serial"] = "1"
    document["nodes"][0]["links"][0]["link_class"] = "SYS"
    (tmp_path / "inventory.json").write_text(json.dumps(document))
    code, lines = compare(tmp_path)
    assert code == 1
    assert [line.split(":")[0] for line in lines[:-1]] == ["GPU 3 serial", "GPU0–GPU1 link_class"]
