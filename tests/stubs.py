"""Machines with a vendor's library: files below a root of their own, and a stub library built from C among them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import recordings


class Stub(NamedTuple):
    """A library built for the tests: its folder here, where it goes below a machine's root, and its symbols."""

    name: str
    library: str
    symbols: str

    @property
    def folder(self) -> Path:
        return Path(__file__).parent / self.name

    @property
    def machines(self) -> tuple[str, ...]:
        return tuple(sorted(path.stem for path in (self.folder / "machines").glob("*.txt")))


NVML = Stub("nvml", "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "nvml*")
AMDSMI = Stub("amdsmi", "opt/rocm/lib/libamd_smi.so", "amdsmi_*")
ALL = (NVML, AMDSMI)
BINDINGS = Path(sys.prefix) / "bindings"
"""Where `amdsmi` is installed apart: where it can be imported and its library is missing, `import ray` fails."""
VIEWS = ("topo.txt", "discover.txt", "topo.json")
"""What is held to expected files of each machine."""


class Scenario(NamedTuple):
    """A machine of `tests/recordings`, what the library answers, and how it is installed."""

    machine: str
    answers: str
    without: tuple[str, ...] = ()
    """Symbols that it does not export; `library` says that there is none."""
    release: str = ""
    """Of ROCm, where its own copy of the binding is missing and the installed package must do."""
    swapped: tuple[str, ...] = ()
    """Two constants whose numbers are exchanged in ROCm's own copy."""


class Ran(NamedTuple):
    """One live run of `topo`, and the recording that it made."""

    code: int
    text: str
    seconds: float
    snapshot: Path


def scenario(stub: Stub, name: str) -> Scenario:
    """The scenario of `machines/NAME.txt`: a head, an empty line, the stub's text. With `like`, its lines come before
    those of another one: the first line of a key counts."""
    head, _, body = (stub.folder / "machines" / f"{name}.txt").read_text().partition("\n\n")
    header = dict(line.split(": ", 1) for line in head.splitlines())
    model = scenario(stub, header["like"]) if "like" in header else Scenario("", "")
    body = "".join(f"{line.strip()}\n" for line in recordings.expanded(body.splitlines()))
    without = tuple(header.get("without", "").split()) or model.without
    swapped = tuple(header.get("swapped", "").split())
    return Scenario(header["machine"], body + model.answers, without, header.get("release", ""), swapped)


def build(stub: Stub, name: str, root: Path) -> None:
    """Writes the machine's files below `root`, and the library where its installer puts it."""
    given = scenario(stub, name)
    recordings.materialise(given.machine, root)
    if "library" in given.without:
        return
    library = root / stub.library
    library.parent.mkdir(parents=True)
    compiled(stub, library, given.without)
    (library.parent / f"{stub.name}.txt").write_text(given.answers)
    if stub is AMDSMI:
        _rocm(library.parents[1], given)


def compiled(stub: Stub, library: Path, without: Sequence[str]) -> None:
    """The stub as a shared library, without some of its symbols."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (apt-get install gcc libc6-dev)")
    script, rest = library.with_suffix(".map"), library.with_suffix(".c")
    hidden = "".join(f" {name};" for name in without)
    script.write_text(f"{{ global: {stub.symbols}; local:{hidden} *; }};\n")
    rest.write_text(_unanswered() if stub is AMDSMI else "")
    exported = [f"-Wl,--version-script={script}"] if without else []
    options = ["-shared", "-fPIC", "-O1", f"-Wl,-soname,{library.name}", *exported]
    sources = [str(stub.folder / "stub.c"), str(rest)]
    subprocess.run([compiler, *options, "-o", str(library), *sources, "-ldl"], check=True)


def binding() -> Path:
    """The folder of `amdsmi`."""
    folder = BINDINGS / "amdsmi"
    if not folder.is_dir():
        pytest.skip(f"no amdsmi (pip install --no-deps --target {BINDINGS} -r requirements-bindings.lock)")
    return folder


def _unanswered() -> str:
    """Every function that the binding looks up when it is imported, as one that is not supported."""
    names = re.findall(r"_libraries\['libamd_smi\.so'\]\.(\w+)", (binding() / "amdsmi_wrapper.py").read_text())
    return "".join(f"__attribute__((weak)) int {name}(void) {{ return 2; }}\n" for name in dict.fromkeys(names))


def _rocm(rocm: Path, given: Scenario) -> None:
    """ROCm's own copy of the binding; or its release alone."""
    if given.release:
        (rocm / ".info").mkdir()
        (rocm / ".info" / "version").write_text(f"{given.release}\n")
        return
    own = rocm / "share/amd_smi/amdsmi"
    shutil.copytree(binding(), own, ignore=shutil.ignore_patterns("__pycache__"))
    if given.swapped:
        text = (own / "amdsmi_wrapper.py").read_text()
        numbers = [re.findall(rf"^{name} = ([0-9]+)$", text, re.MULTILINE)[0] for name in given.swapped]
        for name, number in zip(given.swapped, reversed(numbers)):
            text = re.sub(rf"^{name} = [0-9]+$", f"{name} = {number}", text, flags=re.MULTILINE)
        (own / "amdsmi_wrapper.py").write_text(text)


def live(stub: Stub, name: str, folder: Path) -> Ran:
    """`raxl topo` on the machine."""
    root, snapshot = folder / "root", folder / "node.tar.gz"
    build(stub, name, root)
    begun = time.monotonic()
    done = raxl("topo", "--record", str(snapshot), RAXL_HOST_ROOT=str(root))
    return Ran(done.returncode, done.stdout, time.monotonic() - begun, snapshot)


def replay(ran: Ran, view: str) -> tuple[str, int]:
    """What a view of the recording prints, and its exit code; `topo` must print of it what it printed live."""
    command, ending = view.split(".")
    done = raxl(command, *(["--format", "json"] if ending == "json" else []), "--from", str(ran.snapshot))
    if view == "topo.txt":
        assert (ran.text, ran.code) == (done.stdout, done.returncode)
    return re.sub(r'"created": "[^"]+"', '"created": "2026-01-15T08:00:00Z"', done.stdout), done.returncode


def raxl(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "raxl", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(BINDINGS), "LC_ALL": "C.UTF-8", "COLUMNS": "100", **environment},
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


def node(ran: Ran) -> dict[str, Any]:
    """The one node of the recording."""
    (found,) = json.loads(raxl("topo", "--format", "json", "--from", str(ran.snapshot)).stdout)["nodes"]
    return found  # type: ignore[no-any-return]
