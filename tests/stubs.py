"""Machines with a vendor's library: files below a root of their own, and a stub library built from C among them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

import recordings

FOLDER = Path(__file__).parent / "nvml"
NAMES = tuple(sorted(path.stem for path in (FOLDER / "machines").glob("*.txt")))
VIEWS = ("topo.txt", "discover.txt", "topo.json")
"""What is held to expected files of each machine."""
LIBRARY = "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"


class Scenario(NamedTuple):
    """A machine of `tests/recordings`, what the library lacks there, and what it answers."""

    machine: str
    without: tuple[str, ...]
    answers: str


def scenario(name: str) -> Scenario:
    """The scenario of `nvml/machines/NAME.txt`: a head, an empty line, the stub's text. With `like`, its lines come
    before those of another one: the first line of a key counts."""
    head, _, body = (FOLDER / "machines" / f"{name}.txt").read_text().partition("\n\n")
    header = dict(line.split(": ", 1) for line in head.splitlines())
    model = scenario(header["like"]) if "like" in header else Scenario("", (), "")
    return Scenario(header["machine"], tuple(header.get("without", "").split()) or model.without, body + model.answers)


def build(name: str, root: Path) -> None:
    """Writes the machine's files below `root`, and the library where a distribution puts it."""
    given = scenario(name)
    recordings.materialise(given.machine, root)
    library = root / LIBRARY
    library.parent.mkdir(parents=True)
    compiled(library, given.without)
    (library.parent / "nvml.txt").write_text(given.answers)


def compiled(library: Path, without: tuple[str, ...]) -> None:
    """The stub as a shared library; `without` names the symbols that it does not export."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (apt-get install gcc libc6-dev)")
    script = library.with_suffix(".map")
    hidden = "".join(f" {name};" for name in without)
    script.write_text(f"{{ global: nvml*; local:{hidden} *; }};\n")
    exported = [] if not without else [f"-Wl,--version-script={script}"]
    options = ["-shared", "-fPIC", "-O1", f"-Wl,-soname,{library.name}", *exported]
    subprocess.run([compiler, *options, "-o", str(library), str(FOLDER / "stub.c"), "-ldl"], check=True)
