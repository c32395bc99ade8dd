"""Every recording × every command × every format, compared with whole expected files.

`pytest tests/test_recordings.py --accept` writes the outputs of now; the diff is then read as an operator would.
"""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import machines
from raxl.cli import discover, source, topo
from raxl.cli.streams import Streams
from raxl.collect import keeping

EXPECTED = Path(__file__).parent / "expected"
EXIT_CODES = {"hgx-h100-lost": 3, "rtx-pro-cx8": 3, "denied": 3}
"""By recording; the others are 0. A lost GPU's memory, a tool that is not installed, and a PCI tree that is not
permitted are present and could not be read."""

VIEWS = {
    "discover.txt": lambda s: (discover.run, discover.Options(s)),
    "discover-nics.txt": lambda s: (discover.run, discover.Options(s, nics=True, expand=True)),
    "discover.json": lambda s: (discover.run, discover.Options(s, format=discover.Format.json)),
    "topo.txt": lambda s: (topo.run, topo.Options(s)),
    "topo-expand.txt": lambda s: (topo.run, topo.Options(s, expand=True)),
    "topo-matrix.txt": lambda s: (topo.run, topo.Options(s, view=topo.View.matrix)),
}


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("snapshots")
    for name, make in machines.ALL.items():
        recording = make().recording()
        source.read_through(recording)
        keeping.write([recording], folder / f"{name}.tar.gz")
    return folder


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", machines.ALL)
def test_output_is_as_expected(
    name: str, view: str, snapshots: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    run, options = VIEWS[view](source.Source((str(snapshots / f"{name}.tar.gz"),)))
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    code = run(options, Streams(stdout, io.StringIO()))
    printed = stdout.buffer.getvalue().decode()  # type: ignore[attr-defined]
    path = EXPECTED / name / view
    if request.config.getoption("--accept"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(printed)
    assert printed == path.read_text()
    assert code == EXIT_CODES.get(name, 0)
