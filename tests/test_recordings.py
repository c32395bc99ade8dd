"""Every recording × every command × every format, compared with whole expected files.

`pytest tests/test_recordings.py --accept` writes the outputs of now; the diff is then read as an operator would.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import recordings
import stubs
from raxl import __version__
from raxl.cli import discover, topo
from raxl.cli.source import Source
from raxl.cli.streams import Streams

EXPECTED = Path(__file__).parent / "expected"
VERSION = "VERSION"
"""Stands in the expected files for raxl's own version, so that a release changes none of them."""

VIEWS: dict[str, tuple[Callable[..., int], Callable[[Source], object]]] = {
    "discover.txt": (discover.run, discover.Options),
    "discover-nics.txt": (discover.run, lambda source: discover.Options(source, nics=True, expand=True)),
    "topo.txt": (topo.run, topo.Options),
    "topo-expand.txt": (topo.run, lambda source: topo.Options(source, expand=True)),
    "topo-matrix.txt": (topo.run, lambda source: topo.Options(source, view=topo.View.matrix)),
    "topo.json": (topo.run, lambda source: topo.Options(source, format=topo.Format.json)),
}

EXIT_CODES = {
    "amd-driverless": 3,
    "amd-mi210": 0,
    "amd-mi300x-cpx": 0,
    "amd-mi300x-spx": 0,
    "amd-mi355x": 0,
    "none-cpu-server": 0,
    "none-pci-denied": 3,
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
    "nvidia-l40s": 0,
    "nvidia-l40s-nps4": 0,
    "nvidia-numa-unknown": 0,
    "nvidia-pci-denied": 3,
    "nvidia-rtx-pro-6000-cx8": 0,
    "nvidia-vfio": 0,
    "nvidia-vmd": 0,
}
"""3 where something that is present could not be read: a device's memory or state, the links, the PCI tree."""


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots")
    for name in recordings.NAMES:
        (folder / f"{name}.tar.gz").write_bytes(recordings.snapshot(name))
    return folder


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--accept"))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", recordings.NAMES)
def test_output_is_as_expected(
    name: str, view: str, snapshots: Path, monkeypatch: pytest.MonkeyPatch, accept: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    run, options = VIEWS[view]
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    code = run(options(Source((str(snapshots / f"{name}.tar.gz"),))), Streams(output, io.StringIO()))
    output.seek(0)
    printed = output.read().replace(f'": "{__version__}"', f'": "{VERSION}"')
    path = EXPECTED / name / view
    if accept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(printed)
    assert printed == path.read_text()
    assert code == EXIT_CODES[name]


def test_nothing_is_expected_of_recordings_that_are_gone(accept: bool) -> None:
    found = {path.relative_to(EXPECTED) for path in EXPECTED.glob("*/*")}
    wanted = {Path(name, view) for name in recordings.NAMES for view in VIEWS}
    wanted |= {
        Path(f"{stub.name}-{name}", view) for stub in stubs.ALL for name in stub.machines for view in stubs.VIEWS
    }
    stale = found - wanted
    if accept:
        for path in {EXPECTED / path.parts[0] for path in stale} - {EXPECTED / path.parts[0] for path in wanted}:
            shutil.rmtree(path)
    assert accept or not stale


@pytest.mark.parametrize("name", recordings.NAMES)
def test_a_recording_says_what_it_is_and_what_it_follows(name: str) -> None:
    text = (recordings.FOLDER / name / "machine.txt").read_text()
    header = text.partition("\n\n")[0]
    assert "nature: synthetic" in header.splitlines()
    assert "\nsource: " in header
    assert len(text.splitlines()) < 250
