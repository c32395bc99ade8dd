"""What a vendor's library that never returns costs a live `raxl topo`: medians of interleaved runs, each against the
same machine with a healthy library in the same run.

    python benchmarks/hang.py [--runs N]

The libraries are the stubs of the tests, below a RAXL_HOST_ROOT of their own. Prints a line for each case with its
deadline (10 s where the library never starts, 2 s where it stops at a device), and exits 1 when one is exceeded by more
than half a second.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bytecode

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import stubs
from raxl.host.asker import ANSWER_SECONDS, LIBRARY_SECONDS

RAXL = str(Path(sys.executable).parent / "raxl")
HEALTHY = {stubs.NVML: "hgx-h100", stubs.AMDSMI: "mi300x-spx"}
DEADLINES = {"hang-at-start": LIBRARY_SECONDS, "hang": ANSWER_SECONDS}
"""By the stubs' machines, which are both like the healthy one."""
ALLOWED_SECONDS = 0.5


def seconds(root: Path) -> float:
    """The wall time of `raxl topo` on the machine below `root`."""
    environment = {**os.environ, "RAXL_HOST_ROOT": str(root)}
    begun = time.perf_counter()
    done = subprocess.run([RAXL, "topo"], env=environment, stdout=subprocess.DEVNULL, check=False)
    taken = time.perf_counter() - begun
    if done.returncode not in (0, 3):
        sys.exit(f"raxl topo ended with {done.returncode} below {root}")
    return taken


def medians(runs: int, roots: dict[tuple[str, str], Path]) -> dict[tuple[str, str], float]:
    """The median of each machine; they take turns, so that a computer that slows down slows them all."""
    times: dict[tuple[str, str], list[float]] = {case: [] for case in roots}
    for root in roots.values():
        if root.name in HEALTHY.values():
            seconds(root)
    for _ in range(runs):
        for case, root in roots.items():
            times[case].append(seconds(root))
    return {case: statistics.median(taken) for case, taken in times.items()}


def told(name: str, healthy: float, hanging: float, deadline: float) -> bool:
    """Prints one case; whether it costs no more than its deadline."""
    difference = hanging - healthy
    within = difference <= deadline + ALLOWED_SECONDS
    verdict = "ok" if within else "EXCEEDED"
    sys.stdout.write(
        f"{name:24} healthy {healthy * 1e3:6.0f} ms   hanging {hanging * 1e3:6.0f} ms   "
        f"difference {difference * 1e3:6.0f} ms   deadline {deadline * 1e3:6.0f} ms   {verdict}\n"
    )
    return within


def main() -> int:
    bytecode.compiled()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        roots = {
            (stub.name, name): Path(folder) / stub.name / name
            for stub, healthy in HEALTHY.items()
            for name in (healthy, *DEADLINES)
        }
        for stub in HEALTHY:
            for name in (HEALTHY[stub], *DEADLINES):
                stubs.build(stub, name, roots[stub.name, name])
        measured = medians(options.runs, roots)
    within = [
        told(f"{stub.name}, {case}", measured[stub.name, healthy], measured[stub.name, case], deadline)
        for stub, healthy in HEALTHY.items()
        for case, deadline in DEADLINES.items()
    ]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
