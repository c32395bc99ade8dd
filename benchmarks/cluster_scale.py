"""What `raxl topo` over many nodes costs, reading and parsing included, and what asking as many live would take.

    python benchmarks/cluster_scale.py [--sizes 100,1000,10000] [--kinds NAME,NAME] [--rounds 25]

Each archive is of a distinct machine, made from the recordings of the tests (and the snapshots below RAXL_CORPUS) with
identities of its own. Prints a line for each measure with its bound and the ratio to it, and exits 1 when one is
exceeded. The live fan-out is simulated with the times that raxl's own task takes on each node of the lab, in that many
rounds, on its own and with one node in a hundred that never answers.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import bytecode
import many_archives

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from lab import Lab

RAXL = str(Path(sys.executable).parent / "raxl")
CORE_SECONDS = 4e-3
"""Of one core, for each node."""
BYTES = 150 << 10
"""For each node."""
WALL_SECONDS, PEAK_BYTES = 60.0, 2 << 30
"""For 10,000 nodes on two cores."""
BUDGET_SECONDS = 20.0
"""After which a node that does not answer is given up."""
IN_FLIGHT = (16, 32, 64, 128, 256)


class Cost(NamedTuple):
    """What one run cost."""

    wall: float
    core: float
    """Seconds of all processes together."""
    peak: int
    """Bytes of the largest process."""


def told(name: str, value: float, bound: float, unit: str) -> bool:
    """Prints one measure; whether it is within its bound."""
    ratio = value / bound
    verdict = "ok" if ratio <= 1 else "EXCEEDED"
    sys.stdout.write(f"{name:44} {value:9.2f} {unit:4}  bound {bound:8.2f}   {ratio:5.2f} of it   {verdict}\n")
    sys.stdout.flush()
    return ratio <= 1


def write(folder: Path, kinds: Sequence[str], numbers: range) -> None:
    """Writes the archives of these numbers."""
    sources = many_archives.sources(os.environ.get("RAXL_CORPUS"))
    names = list(kinds) or list(sources)
    for number in numbers:
        name = names[number % len(names)]
        (folder / f"{number:05}.tar.gz").write_bytes(many_archives.distinct(sources[name], number))


def cost(folder: Path) -> Cost:
    """One run of `raxl topo` on the folder, its processes included."""
    begun = time.perf_counter()
    process = subprocess.Popen([RAXL, "topo", "--from", str(folder)], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        raise SystemExit(f"raxl topo ended with {process.returncode}")
    return Cost(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def unpacking(folder: Path) -> float:
    """Seconds of one core to do nothing but unpack the archives: what no reader can do without."""
    begun = time.process_time()
    for path in folder.iterdir():
        zlib.decompress(path.read_bytes(), 31)
    return time.process_time() - begun


def measured(rounds: int) -> list[float]:
    """Seconds of a node's task, measured on real nodes of the lab."""
    with Lab() as lab:
        done = lab.head.run([sys.executable, str(Path(__file__).with_name("task_times.py")), str(rounds)], timeout=580)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return [float(one) for one in json.loads(done.stdout.splitlines()[-1])]


def fan_out(nodes: int, in_flight: int, times: Iterator[float]) -> float:
    """Seconds until the last of the nodes has answered, so many being asked at once."""
    ends: list[float] = []
    for _, taken in zip(range(nodes), times, strict=False):
        begun = heapq.heappop(ends) if len(ends) == in_flight else 0.0
        heapq.heappush(ends, begun + taken)
    return max(ends)


def _drawn(times: Sequence[float], hanging: int) -> Iterator[float]:
    """Times without end, drawn from those that were measured; `hanging` of a hundred are the whole budget instead."""
    draw = random.Random(20)
    while True:
        yield BUDGET_SECONDS if draw.randrange(100) < hanging else draw.choice(times)


def live(times: Sequence[float], core: float) -> None:
    """What asking 10,000 nodes would take, and how many in flight keep two cores that parse busy."""
    low, median, high, most = (sorted(times)[round(part * (len(times) - 1))] for part in (0, 0.5, 0.95, 1))
    sys.stdout.write(
        f"a task in the lab ({len(times)} measured, one node at a time, each in a new worker): least {low:.2f} s, "
        f"median {median:.2f} s, p95 {high:.2f} s, most {most:.2f} s\n"
    )
    for in_flight in IN_FLIGHT:
        whole, some = (fan_out(10_000, in_flight, _drawn(times, hanging)) for hanging in (0, 1))
        sys.stdout.write(
            f"10,000 nodes live, {in_flight:4} in flight: {whole:7.1f} s; with 1 % that never answer {some:7.1f} s\n"
        )
    mean = sum(times) / len(times)
    sys.stdout.write(
        f"at {mean:.2f} s a task and {core * 1e3:.1f} ms of a core here for its answer, two cores are busy with "
        f"{2 * mean / core:.0f} in flight; fewer leave them waiting\n"
    )


def main() -> int:
    bytecode.compiled()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="100,1000,10000")
    parser.add_argument("--kinds", default="")
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    kinds = [kind for kind in options.kinds.split(",") if kind]
    within: list[bool] = []
    known: list[tuple[int, Cost]] = []
    for size in sorted(map(int, options.sizes.split(","))):
        with tempfile.TemporaryDirectory() as name:
            folder, steps = Path(name), 50
            with ProcessPoolExecutor() as pool:
                parts = [range(start, min(start + steps, size)) for start in range(0, size, steps)]
                list(pool.map(write, [folder] * len(parts), [kinds] * len(parts), parts))
            here, bare = cost(folder), unpacking(folder)
        known.append((size, here))
        within.append(told(f"{size} nodes, of one core for each", here.core / size * 1e3, CORE_SECONDS * 1e3, "ms"))
        sys.stdout.write(f"{'':44} {here.core / bare:9.1f} times what unpacking alone takes\n")
        share = WALL_SECONDS * max(size / 10_000, 0.01)
        within.append(told(f"{size} nodes, from start to end", here.wall, share, "s"))
        within.append(told(f"{size} nodes, the largest process", here.peak / 2**20, PEAK_BYTES / 2**20, "MiB"))
    (few, first), (many, last) = known[0], known[-1]
    if many > few:
        further = (last.core - first.core) / (many - few) * 1e3
        within.append(told("of one core for each further node", further, CORE_SECONDS * 1e3, "ms"))
        within.append(
            told("memory for each further node", (last.peak - first.peak) / (many - few) / 1024, BYTES / 1024, "KiB")
        )
    live(measured(options.rounds), known[-1][1].core / known[-1][0])
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
