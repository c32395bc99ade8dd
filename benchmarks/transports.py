"""raxl's transports against peers that make the same calls, interleaved, and what the harness itself costs.

    python benchmarks/transports.py [--rounds N] [--only loopback|shaped|harness]

In each round a transport of raxl's is measured, then its peer, in the same processes, as often, with memory of their
own: iperf3 with one stream and the same congestion control, a bare loop of sockets, of NIXL's READ, of
torch.distributed over gloo, of ray.put and ray.get, and memcpy in C. The ratio of a round is raxl's speed by its
peer's.

- Between two hosts joined by 1 Gbit/s (`tests/links.py`), 32 MiB: the median of the ratios is at least 0.98.
- On this machine, 64 MiB: the lower end of the interval that holds the median is at least 0.85. An object of Ray's is
  mapped here, so that seconds are compared and no bytes.

iperf3 sends the same 128 KiB over and over, out of the processor's cache into it, where raxl sends 64 MiB of which each
byte is read from memory once; the bare loop of sockets sends the same memory as raxl.

Then what a run costs beside its transfers, and a sample beside what is timed. Prints a line for each, and exits 1 when
one is exceeded, or cannot be measured. It takes about six minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import itertools

import links
from links import GIGABIT, shaped
from processes import Started
from raxl.bench.conducting import Conducting
from raxl.plugins import registry
from raxl.transfer import Transfer, payload
from raxl.transfer.statistics import interval, median
from raxl.transfer.timing import timed
from ray_hosts import cluster, environment
from transport_rounds import Case, Plan

RAXL = str(Path(sys.executable).parent / "raxl")
ROUNDS_FILE = str(Path(__file__).parent / "transport_rounds.py")
MIB = 1 << 20
SHAPED_SIZE, SHAPED_SECONDS, SHAPED_BOUND = 32 * MIB, 0.2, 0.98
"""A transfer takes longer than these seconds: a round then has one, another that warms up, and three that count."""
LOOPBACK_SIZE, LOOPBACK_SECONDS, LOOPBACK_BOUND = 64 * MIB, 0.4, 0.85
_STORE = 16 * SHAPED_SIZE
_BETWEEN = [
    Case("tcp", "iperf3"),
    Case("torch-gloo", "gloo"),
    Case("torch-gloo", "gloo", "all-reduce"),
    Case("nixl", "NIXL"),
    Case("object-store", "ray.get"),
]
_WITHIN = [Case("memcpy", "C memcpy"), _BETWEEN[0], Case("tcp", "sockets"), *_BETWEEN[1:]]
_COPIES = """
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec told;
    clock_gettime(CLOCK_MONOTONIC, &told);
    return told.tv_sec + told.tv_nsec * 1e-9;
}

int copies(size_t size, int count, double *seconds) {
    char *source = malloc(size), *target = malloc(size);
    if (!source || !target) return 1;
    memset(source, 1, size);
    memset(target, 2, size);
    for (int i = 0; i < count; i++) {
        source[size / 2] = (char)i;
        double begun = now();
        memcpy(target, source, size);
        __asm__ volatile("" : : "r"(target) : "memory");
        seconds[i] = now() - begun;
    }
    free(source);
    free(target);
    return 0;
}
"""


class Where(NamedTuple):
    """A place of measuring, and its rule."""

    name: str
    size: int
    bound: float
    takes_lower_end: bool
    is_one_node: bool


SHAPED = Where("1 Gbit/s", SHAPED_SIZE, SHAPED_BOUND, False, False)
LOOPBACK = Where("loopback", LOOPBACK_SIZE, LOOPBACK_BOUND, True, True)


def told(where: Where, result: dict[str, Any]) -> bool:
    """Prints one case; whether it is within its bound."""
    name = result["transport"] if result["pattern"] == "p2p" else f"{result['transport']} {result['pattern']}"
    head = f"{where.name:9} {name:22}"
    if "why" in result:
        sys.stdout.write(f"{head} not measured: {result['why']}\n")
        return False
    own, bare = result["own"], result["bare"]
    ratios = [peer / raxl for raxl, peer in zip(own, bare, strict=True)]
    middle, known = median(ratios), interval(ratios)
    low, high = known if known is not None else (min(ratios), max(ratios))
    held = low if where.takes_lower_end else middle
    is_mapped = where.is_one_node and result["transport"] == "object-store"

    def speed(seconds: Sequence[float]) -> str:
        value = median(seconds)
        return f"{value * 1e3:8.3f} ms  " if is_mapped else f"{where.size / value / 1e9:8.4f} GB/s"

    sys.stdout.write(
        f"{head} {speed(own)}   {result['peer']:8} {speed(bare)}   ratio {middle:5.3f} ({low:5.3f}–{high:5.3f})"
        f"   bound {where.bound:.2f}   {'ok' if held >= where.bound else 'EXCEEDED'}\n"
    )
    sys.stdout.flush()
    return held >= where.bound


def results(running: Started) -> Iterator[dict[str, Any]]:
    """What the process of the rounds prints; raises where it fails."""
    assert running.stdout is not None
    assert running.stderr is not None
    try:
        for line in running.stdout:
            if line.startswith("{"):
                yield json.loads(line)
        if running.wait(timeout=60) != 0:
            sys.exit(f"the rounds ended with {running.returncode}:\n{running.stderr.read()}")
    except BaseException:
        running.terminate()  # it ends its Ray
        running.finished(60)
        raise


def of_link(rounds: int) -> list[bool]:
    """Between two hosts."""
    if (reason := links.missing()) is not None:
        sys.stdout.write(f"{SHAPED.name:9} not measured: {reason}\n")
        return [False]
    with shaped([GIGABIT, GIGABIT]) as hosts, cluster(hosts, object_store=_STORE) as ray_cluster:
        variables = {"UCX_TLS": "tcp"}  # past the link it would be faster
        plan = Plan(ray_cluster.address, variables, "", _BETWEEN, SHAPED_SIZE, SHAPED_SECONDS, rounds)
        running = ray_cluster.start([sys.executable, ROUNDS_FILE, plan.text()])
        return [told(SHAPED, result) for result in results(running)]


def of_machine(rounds: int) -> list[bool]:
    """Between two processes."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "copies.c", Path(folder) / "copies.so"
        source.write_text(_COPIES)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        plan = Plan(None, {}, str(library), _WITHIN, LOOPBACK_SIZE, LOOPBACK_SECONDS, rounds)
        variables = {key: value for key, value in environment().items() if key != "RAY_TMPDIR"}
        running = Started([sys.executable, ROUNDS_FILE, plan.text()], {**os.environ, **variables})
        return [told(LOOPBACK, result) for result in results(running)]


def of_harness() -> None:
    """What a run takes beside its transfers, part by part, and a sample beside what is timed."""
    size = LOOPBACK_SIZE
    begun = time.perf_counter()
    done = subprocess.run(
        [RAXL, "bench-transport", "--transport", "tcp", "--sizes", str(size), "--budget", "4s", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    whole = time.perf_counter() - begun
    (run,) = json.loads(done.stdout)["runs"]
    moved = run["iterations"] * run["latency_seconds"]["p50"]
    cost("a whole raxl run: tcp, one row of 64 MiB", whole, f"{moved:.2f} s of it transfers")

    marks = [time.perf_counter()]
    with Conducting(None, {"tcp": registry.TRANSPORTS["tcp"]}, 256 * MIB, {}) as conducting:
        (node,) = conducting.nodes()
        marks.append(time.perf_counter())
        list(conducting.ask("look", 90.0, nodes=[node["id"]]))
        marks.append(time.perf_counter())
        question = {"transport": "tcp", "nodes": [node["id"]] * 2, "transfers": [asdict(Transfer(size))]}
        said = dict(conducting.ask("measure", 90.0, seconds=60.0, **question))
        marks.append(time.perf_counter())
    marks.append(time.perf_counter())
    if "taken" not in said:
        sys.exit(f"it was not measured: {said}")
    starting, looking, measuring, ending = (after - before for before, after in itertools.pairwise(marks))
    row, opening, taken = said["taken"]["seconds"], said["opened"]["seconds"], said["taken"]["taken"]
    cost("  start of Ray", starting)
    cost("  what the node says of itself", looking)
    cost("  two ends, and the connection", opening)
    timed_seconds = sum(taken["samples"])
    cost("  the row", row, f"{timed_seconds:.2f} s of it {len(taken['samples'])} timed transfers")
    cost("  counters, and the end of the ends", measuring - row - opening)
    cost("  the end of Ray", ending)

    within, beside = _empty(lambda iteration: None)
    buffer = bytearray(size)
    payload.fill(buffer, 1)

    def stamped(iteration: int) -> None:
        payload.stamp(buffer, 1, iteration)
        payload.stamps_differ(buffer, 1, iteration)

    cost("an empty step: in its sample", within)
    cost("an empty step: the loop beside it", beside)
    cost("the number written and looked for, beside it", _empty(stamped)[1] - beside)


def _empty(work: Callable[[int], None]) -> tuple[float, float]:
    """Seconds that a step without a transfer tells, and that it takes in all, with `work` before it is timed."""
    steps = 200

    def step(iteration: int) -> float:
        work(iteration)
        begun = time.perf_counter()
        return time.perf_counter() - begun

    begun = time.perf_counter()
    taken = timed(step, most=steps, seconds=60.0, least_seconds=0.5)
    seconds = time.perf_counter() - begun
    return median(taken.samples), seconds / (1 + taken.warmup + len(taken.samples))


def cost(name: str, seconds: float, remark: str = "") -> None:
    """Prints what something takes; it has no bound."""
    value = f"{seconds:9.2f} s " if seconds >= 0.01 else f"{seconds * 1e6:9.2f} µs"
    sys.stdout.write(f"harness   {name:50} {value}   {remark}".rstrip() + "\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=("loopback", "shaped", "harness"))
    options = parser.parse_args()
    within: list[bool] = []
    if options.only in (None, "shaped"):
        within += of_link(options.rounds)
    if options.only in (None, "loopback"):
        within += of_machine(options.rounds)
    if options.only in (None, "harness"):
        of_harness()
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
