"""What a command loads before it is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("ray", "httpx", "pynvml", "amdsmi", "torch", "yaml", "prometheus_client", "pydantic", "numpy")
MATRIX = Path(__file__).parent / "data" / "matrix.txt"
NOWHERE = str(Path(__file__).parent / "none")

PROGRAM = """
import contextlib, io, sys
from raxl.cli.entry import main
sys.argv = ["raxl", *sys.argv[1:]]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main()
print(*sys.modules)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["topo"],
        ["topo", "--help"],
        ["topo", "--from", str(MATRIX)],
        ["discover"],
        ["labels"],
        ["recipe", "list", "--root", NOWHERE],
        ["recipe", "show", "cpu-loopback", "--root", NOWHERE],
        ["recipe", "plan", "cpu-loopback", "--root", NOWHERE],
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_loaded(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "raxl.cli.app" in loaded
    assert not loaded & set(HEAVY)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"]], ids=" ".join)
def test_version_and_help_load_no_model_and_no_rich(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"rich", "msgspec", "raxl.model.node", "raxl.collect.assemble", "raxl.host.asker"}
