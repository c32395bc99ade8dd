"""Every recording × every command × every format, compared with whole expected files.

`pytest tests/test_recordings.py --accept` writes the outputs of now; the diff is then read as an operator would.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import kept
import recordings
import stubs
from raxl.cli import discover, labels, topo
from raxl.cli.source import Source
from raxl.cli.streams import Streams

VIEWS: dict[str, tuple[Callable[..., int], Callable[[Source], object]]] = {
    "discover.txt": (discover.run, discover.Options),
    "discover-nics.txt": (discover.run, lambda source: discover.Options(source, nics=True, expand=True)),
    "topo.txt": (topo.run, topo.Options),
    "topo-expand.txt": (topo.run, lambda source: topo.Options(source, expand=True)),
    "topo-matrix.txt": (topo.run, lambda source: topo.Options(source, view=topo.View.matrix)),
    "topo.json": (topo.run, lambda source: topo.Options(source, format=topo.Format.json)),
    "labels.txt": (labels.run, labels.Options),
}
LABELLED = ("nvidia-gb200-tray", "nvidia-hgx-h100-gpu-lost", "gaudi-hls2", "none-pci-denied")
"""Recordings whose labels are expected in every format."""

PATHS = {
    "amd-mi210": (("0", "1"), ("0", "2")),
    "amd-mi300x-spx": (("3", "4"), ("0", "bnxt_re0")),
    "nvidia-a100-pcie-bridged": (("0", "1"), ("0", "2"), ("1", "mlx5_0")),
    "nvidia-azure-nd-h100": (("0", "5"), ("0", "mlx5_ib5")),
    "nvidia-gb200-tray": (("0", "3"), ("0", "mlx5_1")),
    "nvidia-hgx-h100": (("0", "5"), ("0", "mlx5_0"), ("0", "mlx5_6"), ("mlx5_0", "mlx5_8")),
    "nvidia-hgx-h100-gpu-lost": (("0", "6"),),
    "nvidia-l40s": (("0", "1"), ("2", "3"), ("0", "2"), ("3", "ens7f0np0")),
    "nvidia-l40s-nps4": (("2", "3"), ("2", "mlx5_0")),
    "nvidia-pci-denied": (("0", "1"),),
    "nvidia-rtx-pro-6000-cx8": (("0", "1"), ("0", "rocep09s0")),
    "nvidia-vfio": (("0", "1"),),
}
"""By recording, the ways that `raxl topo --path` is asked for."""
IN_JSON = ("nvidia-hgx-h100", "nvidia-l40s")
"""Recordings whose paths are expected in JSON too."""

EXIT_CODES = {
    "amd-driverless": 3,
    "amd-mi210": 0,
    "amd-mi300x-cpx": 0,
    "amd-mi300x-sick": 0,
    "amd-mi300x-spx": 0,
    "amd-mi355x": 0,
    "container-blind": 0,
    "neuron-inf2-no-tool": 3,
    "neuron-trn2-ultraserver": 0,
    "biren-br": 0,
    "cambricon-mlu370": 0,
    "enflame-s60": 0,
    "furiosa-rngd": 0,
    "graphcore-c2": 0,
    "groq-card": 0,
    "hygon-dcu": 0,
    "iluvatar-bi": 3,
    "metax-c500": 0,
    "metax-other-mx-smi": 3,
    "mobilint-aries": 0,
    "mobilint-container": 0,
    "mthreads-s4000": 0,
    "ascend-910b": 0,
    "ascend-container": 3,
    "gaudi-hls2": 0,
    "gaudi-in-reset": 3,
    "intel-b60": 0,
    "intel-max-1550": 3,
    "none-cpu-server": 0,
    "none-pci-denied": 3,
    "nvidia-a100-pcie-bridged": 0,
    "nvidia-aws-p5en": 0,
    "nvidia-azure-nd-h100": 0,
    "nvidia-container": 0,
    "nvidia-driver-hangs": 3,
    "nvidia-driver-mismatch": 3,
    "nvidia-driverless": 3,
    "nvidia-gb200-tray": 0,
    "nvidia-gh200": 0,
    "nvidia-h100-mig": 0,
    "nvidia-hgx-b200": 0,
    "nvidia-hgx-h100": 0,
    "nvidia-hgx-h100-gpu-lost": 3,
    "nvidia-hgx-h100-gpu-missing": 3,
    "nvidia-hgx-h100-healthy": 0,
    "nvidia-hgx-h100-sick": 3,
    "nvidia-l40s": 0,
    "nvidia-l40s-nps4": 0,
    "nvidia-numa-unknown": 0,
    "nvidia-pci-denied": 3,
    "nvidia-rtx-pro-6000-cx8": 0,
    "nvidia-vfio": 0,
    "nvidia-vmd": 0,
    "tpu-v6e-8": 0,
    "tpu-v7x-chip-missing": 0,
    "qualcomm-ai100": 0,
    "rebellions-ca22": 0,
    "rebellions-tool-hangs": 3,
    "tenstorrent-n300": 0,
    "tenstorrent-tool-fails": 3,
}
"""3 where something that is present could not be read: a device's memory or state, the links, the PCI tree."""


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots")
    for name in recordings.NAMES:
        (folder / f"{name}.tar.gz").write_bytes(recordings.snapshot(name))
    return folder


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", recordings.NAMES)
def test_output_is_as_expected(
    name: str, view: str, snapshots: Path, monkeypatch: pytest.MonkeyPatch, accept: bool
) -> None:
    check(name, view, *VIEWS[view], snapshots, monkeypatch, accept)


def check(
    name: str,
    view: str,
    run: Callable[..., int],
    options: Callable[[Source], object],
    snapshots: Path,
    monkeypatch: pytest.MonkeyPatch,
    accept: bool,
) -> None:
    """Runs a command on a recording and compares what it prints, and its exit code."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    code = run(options(Source((str(snapshots / f"{name}.tar.gz"),))), Streams(output, io.StringIO()))
    output.seek(0)
    kept.check(name, view, output.read(), accept)
    assert code == EXIT_CODES[name]


LABEL_VIEWS = {
    f"labels-{format.value}{'.json' if format is labels.Format.json else '.txt'}": format
    for format in labels.Format
    if format is not labels.Format.text
}


@pytest.mark.parametrize("view", LABEL_VIEWS)
@pytest.mark.parametrize("name", LABELLED)
def test_labels_are_as_expected(
    name: str, view: str, snapshots: Path, monkeypatch: pytest.MonkeyPatch, accept: bool
) -> None:
    def options(source: Source) -> labels.Options:
        return labels.Options(source, format=LABEL_VIEWS[view])

    check(name, view, labels.run, options, snapshots, monkeypatch, accept)


def path_view(a: str, b: str, format: topo.Format) -> str:
    return f"path-{a}-{b}.{'json' if format is topo.Format.json else 'txt'}"


ASKED_PATHS = [
    (name, a, b, format)
    for name, pairs in PATHS.items()
    for a, b in pairs
    for format in topo.Format
    if format is topo.Format.text or name in IN_JSON
]


@pytest.mark.parametrize(("name", "a", "b", "format"), ASKED_PATHS)
def test_path_is_as_expected(
    name: str, a: str, b: str, format: topo.Format, snapshots: Path, monkeypatch: pytest.MonkeyPatch, accept: bool
) -> None:
    def options(source: Source) -> topo.Options:
        return topo.Options(source, path=(a, b), format=format)

    check(name, path_view(a, b, format), topo.run, options, snapshots, monkeypatch, accept)


def test_nothing_is_expected_of_recordings_that_are_gone(accept: bool) -> None:
    every = {path.relative_to(kept.FOLDER) for path in kept.FOLDER.glob("*/*")}
    found = {path for path in every if path.parts[0] != "recipes" and not path.name.startswith("recipe-")}
    wanted = {Path(name, view) for name in recordings.NAMES for view in (*VIEWS, "diagnose.txt")}
    wanted |= {Path(name, path_view(a, b, format)) for name, a, b, format in ASKED_PATHS}
    wanted |= {Path(name, view) for name in LABELLED for view in LABEL_VIEWS}
    wanted |= {
        Path(f"{stub.name}-{name}", view) for stub in stubs.ALL for name in stub.machines for view in stubs.VIEWS
    }
    stale = found - wanted
    if accept:
        for path in {kept.FOLDER / path.parts[0] for path in stale} - {kept.FOLDER / path.parts[0] for path in wanted}:
            shutil.rmtree(path)
    assert accept or not stale


@pytest.mark.parametrize("name", recordings.NAMES)
def test_a_recording_says_what_it_is_and_what_it_follows(name: str) -> None:
    text = (recordings.FOLDER / name / "machine.txt").read_text()
    header = text.partition("\n\n")[0]
    assert "nature: synthetic" in header.splitlines()
    assert "\nsource: " in header
    assert len(text.splitlines()) < 250
