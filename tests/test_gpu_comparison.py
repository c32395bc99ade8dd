"""The comparison that runs on machines with GPUs, before the stub library and the recording of the same machine."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import recordings
from measured_rows import MIB, bench, row
from raxl.model import codec
from raxl.model.measurement import Bench, Endpoint
from stubs import NVML, live, raxl, scenario

COMPARE = Path(__file__).parent / "gpu/compare.py"
KEEP = Path(__file__).parent / "gpu/keep.py"


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


def test_what_was_measured_is_kept_without_the_name_of_its_machine(folder: Path, tmp_path: Path) -> None:
    nodes = {"dgx-7.example": {"hostname": "dgx-7", "interfaces": {"eth0": {"address": "10.1.2.3"}}}}
    end = Endpoint("dgx-7.example", "nvidia:0")
    fast = row("rdt-cuda-ipc", 64 * MIB, 0.001, source=end, target=end)
    missing = row("torch-nccl", status="unavailable", error="no torch here", seconds=0.0)
    result, kept = tmp_path / "bench.json", tmp_path / "recording.json"
    result.write_text(codec.encode(bench(fast, missing, nodes=nodes)))
    command = [sys.executable, str(KEEP), str(result), str(folder / "query.xml"), str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["rdt-cuda-ipc: 67.14 GB/s", "torch-nccl: unavailable (no torch here)"]
    digest = hashlib.sha256(kept.read_bytes()).hexdigest()
    cells = [cell.strip() for cell in lines[2].strip("|").split("|")]
    assert (cells[0], cells[2], cells[-2:]) == (
        "2026-01-01",
        "8 × NVIDIA H100 80GB HBM3",
        ["rdt-cuda-ipc 67.14 GB/s", digest],
    )
    text = kept.read_text()
    assert "dgx-7" not in text
    assert "10.1.2.3" not in text
    assert codec.decode(text, Bench).runs[0].source.node == "gpu-host"
