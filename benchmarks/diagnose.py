"""What `raxl diagnose` costs.

    python benchmarks/diagnose.py

`kernel log`: 100 MB with 800,000 copies of one event, as a driver writes them whose channels are torn down, 100 MB in
which nothing happens, 100 MB in which each line tells of another device and code, and 100 MB in one line. Each is read
by the command as a child of this process; within 10 s and 200 MiB resident.

`levels`: a live machine of eight GPUs (files of a recording below a RAXL_HOST_ROOT, with the stub of NVIDIA's library
from the tests), whole, then with one file in five that never answers (a pipe that nobody writes into). Level quick is
to end within 1 s, standard within 10 s; the interpreter's own start is told apart.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import bytecode

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import stubs

LINES = 800_000
MOST_SECONDS = 10.0
MOST = {"quick": 1.0, "standard": 10.0}
"""Seconds that a node may take, by level."""
MOST_BYTES = 200 << 20
COMMAND = (sys.executable, "-m", "raxl", "diagnose", "--format", "json")


class Cost(NamedTuple):
    """Of one run: its wall clock, the most memory that it held, and what it printed."""

    seconds: float
    peak_bytes: int
    document: dict[str, object]


def flood(number: int) -> str:
    return (
        f"[{1000 + number * 0.01:12.6f}] NVRM: Xid (PCI:0000:61:00): 45, pid={1496200 + number % 29}, name=python3, "
        f"Ch {number:08x}, errorString CTX SWITCH TIMEOUT, Info 0x1c00a\n"
    )


def quiet(number: int) -> str:
    return (
        f'[{1000 + number * 0.01:12.6f}] audit: type=1400 audit(1704063{number:06d}.456:2): apparmor="STATUS" '
        f'operation="profile_load" name="job-{number}"\n'
    )


def distinct(number: int) -> str:
    place = f"{number % 0x8000:04x}:{number * 7 % 256:02x}:{number % 32:02x}"
    return (
        f"[{1000 + number * 0.01:12.6f}] NVRM: Xid (PCI:{place}): {number * 13 % 9973}, pid={number}, name=python3, "
        f"Ch {number:08x}, errorString CTX SWITCH TIMEOUT, Info 0x1c00a\n"
    )


def endless(number: int) -> str:
    """A line that begins as others do and does not end."""
    return f"{'[ 1000.000000] NVRM: Xid (PCI:0000:61:00): 48, ' if number == 0 else ''}{number:0125}"


def write(path: Path, line: Callable[[int], str]) -> None:
    with path.open("w") as file:
        file.writelines(map(line, range(LINES)))


def run(path: Path) -> Cost:
    """Runs the command on a log; the peak is that of this child alone (wait4(2))."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen([*COMMAND, "--from", str(path)], stdout=output)
        _, _, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begun
        output.seek(0)
        return Cost(seconds, peak(usage), json.load(output))


def peak(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss << 10


LOGS = {
    "800,000 copies of one event": flood,
    "nothing happens": quiet,
    "each line of another device and code": distinct,
    "one line": endless,
}


def kernel_log() -> bool:
    """Prints a line a log; whether all are within the bounds."""
    held = True
    with tempfile.TemporaryDirectory() as folder:
        for name, line in LOGS.items():
            path = Path(folder) / "kernel.log"
            write(path, line)
            cost = run(path)
            within = cost.seconds <= MOST_SECONDS and cost.peak_bytes <= MOST_BYTES
            held = held and within
            print(
                f"kernel log, {path.stat().st_size / 1e6:.0f} MB, {name}: {cost.seconds:.1f} s (at most "
                f"{MOST_SECONDS:g}), {cost.peak_bytes / (1 << 20):.0f} MiB resident (at most {MOST_BYTES >> 20})"
                f"{'' if within else '  OVER'}"
            )
    return held


def levels() -> bool:
    """Prints a line a level and a machine, the median of five runs; whether all are within the bounds."""
    start = statistics.median(timed([sys.executable, "-c", "import typer"], dict(os.environ))[0] for _ in range(5))
    print(f"an interpreter that imports typer: {start:.2f} s")
    held = True
    with tempfile.TemporaryDirectory() as folder:
        for name, hangs in (("whole", False), ("one file in five hangs", True)):
            root = Path(folder) / name.replace(" ", "-")
            stubs.build(stubs.NVML, "hgx-h100", root)
            if hangs:
                stopped = hang(root)
                name = f"{name} ({stopped})"
            environment = {**os.environ, "RAXL_HOST_ROOT": str(root)}
            for level, most in MOST.items():
                command = [sys.executable, "-m", "raxl", "diagnose", "--format", "json", "--level", level]
                runs = [timed(command, environment) for _ in range(5)]
                seconds = statistics.median(one for one, _ in runs)
                summary = json.loads(runs[-1][1])["summary"]
                held = held and seconds <= most
                over = "" if seconds <= most else "  OVER"
                print(f"{level:8} {name}: {seconds:.2f} s (at most {most:g})   {summary}{over}")
    return held


def timed(command: list[str], environment: dict[str, str]) -> tuple[float, str]:
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return time.perf_counter() - begun, done.stdout


def hang(root: Path) -> str:
    """Puts a pipe in the place of each fifth file."""
    files = sorted(
        path for path in root.rglob("*") if path.is_file() and not path.is_symlink() and ".so" not in path.name
    )
    for path in files[::5]:
        path.unlink()
        os.mkfifo(path)
    return f"{len(files[::5])} of {len(files)}"


def main() -> int:
    bytecode.compiled()
    return 0 if kernel_log() & levels() else 1


if __name__ == "__main__":
    sys.exit(main())
