"""What raxl costs over a real Ray cluster of four hosts in network namespaces (`tests/lab.py`).

    python benchmarks/cluster.py [--runs N]

- `raxl discover --cluster` against a bare probe job in the same run (a driver that connects and runs one task a node),
  interleaved, medians: at most 1.0 s more.
- With a raylet killed, a host stopped and one cut off: at most `--timeout` + 2 s.
- A locked, a stopped and a dead cluster: told within 5 s each.

Prints a line for each, and exits 1 when one is exceeded.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bytecode

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from lab import Lab, Machine

RAXL = str(Path(sys.executable).parent / "raxl")
MORE_SECONDS, SLACK_SECONDS, ERROR_SECONDS = 1.0, 2.0, 5.0
BUDGET_SECONDS = 8.0
PROBE = """
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
@ray.remote(num_cpus=0, max_retries=0)
def probe():
    import os
    return os.uname().nodename
print(sorted(ray.get([probe.options(scheduling_strategy=On(n["NodeID"], soft=False)).remote() for n in ray.nodes()])))
"""


def timed(run: Callable[[], subprocess.CompletedProcess[str]], code: int) -> float:
    """The wall time of a run that ends with this exit code."""
    begun = time.perf_counter()
    done = run()
    taken = time.perf_counter() - begun
    if done.returncode != code:
        sys.exit(f"it ended with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
    return taken


def told(name: str, seconds: float, bound: float) -> bool:
    """Prints one case; whether it is within its bound."""
    sys.stdout.write(
        f"{name:44} {seconds:6.2f} s   bound {bound:6.2f} s   {'ok' if seconds <= bound else 'EXCEEDED'}\n"
    )
    return seconds <= bound


def of_whole(lab: Lab, runs: int) -> bool:
    """A healthy cluster against the bare probe."""

    def probe() -> float:
        return timed(lambda: lab.head.run([sys.executable, "-c", PROBE], timeout=120), 0)

    def discover() -> float:
        return timed(lambda: lab.head.run([RAXL, "discover", "--cluster"], timeout=120), 0)

    probe(), discover()
    pairs = [(probe(), discover()) for _ in range(runs)]
    bare, own = (statistics.median(column) for column in zip(*pairs, strict=True))
    sys.stdout.write(f"{'a bare probe job':44} {bare:6.2f} s\n")
    return told("raxl discover --cluster", own, bare + MORE_SECONDS)


def of_broken(lab: Lab) -> bool:
    """Three of four hosts are missing, each in its own way."""
    lab.kill_raylet(1)
    lab.stop(2)
    lab.cut(3)
    command = [RAXL, "discover", "--cluster", "--timeout", str(BUDGET_SECONDS)]
    try:
        seconds = timed(lambda: lab.head.run(command, timeout=120), 3)
    finally:
        lab.resume(2)
        lab.mend(3)
    return told("one killed, one stopped, one cut off", seconds, BUDGET_SECONDS + SLACK_SECONDS)


def of_missing(lab: Lab) -> list[bool]:
    """A cluster with a token, which is asked without; then stopped; then an address where nothing listens."""
    results = []
    for scheme, address in (("gcs", lab.address), ("http", lab.dashboard)):
        command = [RAXL, "discover", "--cluster", "--address", address]
        unlocked = {"RAY_AUTH_MODE": "disabled"}

        def on_head(
            command: list[str] = command, unlocked: dict[str, str | None] = unlocked
        ) -> subprocess.CompletedProcess[str]:
            return lab.head.run(command, unlocked, timeout=120)

        def beside(command: list[str] = command) -> subprocess.CompletedProcess[str]:
            return subprocess.run([*lab.outside, *command], capture_output=True, text=True, timeout=120, check=False)

        results.append(told(f"a locked cluster, {scheme}", timed(on_head, 4), ERROR_SECONDS))
        lab.stop(0)
        try:
            results.append(told(f"a stopped cluster, {scheme}", timed(beside, 4), ERROR_SECONDS))
        finally:
            lab.resume(0)
        nowhere = [*command[:-1], address.rpartition(":")[0] + ":9"]
        results.append(
            told(f"a dead cluster, {scheme}", timed(lambda one=nowhere: lab.head.run(one), 4), ERROR_SECONDS)
        )
    return results


def main() -> int:
    bytecode.compiled()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with Lab() as lab:
        results = [of_whole(lab, options.runs), of_broken(lab)]
    with Lab([Machine("nvidia-hgx-h100", num_gpus=8)], token=True) as lab:
        results += of_missing(lab)
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
