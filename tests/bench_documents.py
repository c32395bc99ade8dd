"""Results of `raxl bench-transport` made by hand: what the renderers are tried on."""

from __future__ import annotations

from dataclasses import replace

from raxl.model import measurement as m
from raxl.model import schemas
from raxl.model.measurement import (
    Bandwidth,
    Bench,
    Ceiling,
    Endpoint,
    Fault,
    Fit,
    Latency,
    Left,
    Moved,
    Path,
    Phases,
    Recommendation,
    Regression,
    Run,
    Slow,
    SlowEvidence,
)

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = (8, KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB)
LINE = 119_600_000.0
LINE_NAME = "1 Gbit/s line, MTU 1500"
MEMORY = 13_800_000_000.0


def bench(*runs: Run, **more: object) -> Bench:
    return Bench(schemas.BENCH, "0.1.0", "2026-05-01T10:00:00Z", {"nodes": {}}, runs=runs, **more)


def end(node: str, device: str = "cpu") -> Endpoint:
    return Endpoint(node, device)


A, B = end("gpu-07"), end("gpu-08")


def run(
    transport: str, size: int, fixed: float, speed: float, a: Endpoint = A, b: Endpoint = B, **changes: object
) -> Run:
    """A row that follows `fixed + size / speed`, spread by a little."""
    seconds = fixed + size / speed
    rate = size / seconds
    samples = 200 if size <= 64 * KIB else 50 if size <= MIB else 15
    expected = round(size * samples * 1.01)
    plain = Run(
        transport=transport,
        source=a,
        target=b,
        pattern=m.P2P,
        mode=m.SINGLE,
        destination=m.FRESH,
        size_bytes=size,
        iterations=samples,
        warmup=3,
        status=m.OK,
        phases=Phases(0.07, 0.0003, 0.0008, seconds, size / 5e9),
        cold_seconds=seconds * 1.6,
        latency_seconds=Latency(
            seconds, seconds * 1.04, seconds * 1.1 if samples >= 100 else None, seconds * 0.98, seconds * 1.2
        ),
        bandwidth_bytes_per_second=Bandwidth(rate, rate * 0.9975, rate * 1.002),
        ceiling=Ceiling(LINE_NAME, LINE, rate / LINE),
        limiter="line",
        verified=True,
        samples=samples,
        end_to_end_seconds=seconds + 0.0014,
        path=Path("eth0", (Moved("eth0", expected, expected),), m.PROVEN),
    )
    return replace(plain, **changes)


def sweep(transport: str, fixed: float, speed: float, a: Endpoint = A, b: Endpoint = B, **changes: object) -> list[Run]:
    return [run(transport, size, fixed, speed, a, b, **changes) for size in SIZES]


def absent(transport: str, why: str, a: Endpoint = A, b: Endpoint = B) -> Run:
    return Run(transport, a, b, m.P2P, m.SINGLE, m.FRESH, 8, 0, 0, m.UNAVAILABLE, error=why)


def fit(transport: str, fixed: float, speed: float, *off: int, a: Endpoint = A, b: Endpoint = B) -> Fit:
    return Fit(transport, a, b, fixed, speed, fixed * speed, off)


def four(a: Endpoint = A, b: Endpoint = B, factor: float = 1.0) -> list[Run]:
    """The three transports that work over a line."""
    return [
        *sweep("tcp", 110e-6, 119.2e6 * factor, a, b),
        *sweep("object-store", 2.5e-3, 118.6e6 * factor, a, b),
        *sweep("rdt-gloo", 6.4e-3, 116.3e6 * factor, a, b),
    ]


def bypass() -> list[Run]:
    """NIXL that copies between processes of one kernel instead of going over the line."""
    runs = []
    for size in SIZES:
        one = run("rdt-nixl", size, 1.1e-3, 750e6)
        expected = round(size * one.samples * 1.01)
        path = Path("eth0", (Moved("eth0", 210_000, expected),), m.WENT_ELSEWHERE, "zero-copy cma/memory")
        why = "both ends share a kernel, so UCX copied between processes; try UCX_TLS=tcp,self"
        state = m.QUANTISED if size < 16 * MIB else m.MISMATCH
        runs.append(replace(one, path=path, status=state, error=why if state == m.MISMATCH else None))
    return runs


ABSENT = (
    ("rdt-nccl", "no CUDA device"),
    ("nccl", "no CUDA device"),
    ("cuda-ipc", "no CUDA device"),
    ("nixl", "pip install 'raxl[nixl]'"),
)


def one_pair() -> Bench:
    """The screen of the design."""
    fits = [
        fit("tcp", 110e-6, 119.2e6),
        fit("object-store", 2.5e-3, 118.6e6, 64 * KIB),
        fit("rdt-gloo", 6.4e-3, 116.3e6),
    ]
    best = [
        Recommendation(A, B, 8, "tcp", 110e-6, 72_700.0, "object-store takes 23 times as long"),
        Recommendation(
            A, B, 64 * MIB, "tcp", 0.563, 119.1e6, "object-store 1 % slower; rdt-nixl left out: it did not go over eth0"
        ),
    ]
    absents = [absent(*words) for words in ABSENT]
    return bench(*four(), *bypass(), *absents, fits=fits, recommendations=best)


def both_ways() -> Bench:
    """One direction of a line is slow."""
    return bench(*four(), *four(B, A, 0.7))


def fleet(count: int = 32) -> Bench:
    """Pairs of nodes alike, one slow, one that bypasses its line, and what the screening says of it."""
    runs: list[Run] = []
    for number in range(count):
        a, b = end(f"gpu-{2 * number + 1:02}"), end(f"gpu-{2 * number + 2:02}")
        factor = 0.7 if number == 1 else 1 - 0.001 * (number % 7)
        runs += four(a, b, factor)
        runs += [absent(name, why, a, b) for name, why in ABSENT]
    evidence = SlowEvidence(83.6e6, 119.2e6, ("gpu-03 → gpu-04 0.669", "gpu-03 → gpu-11 0.670"))
    slow = [Slow("node", "gpu-03", "sends", evidence, "raxl diagnose --only 'net.*' on gpu-03")]
    return bench(*runs, slow=slow)


def scattered() -> Bench:
    """Every pair is another case."""
    runs: list[Run] = []
    for number in range(20):
        runs += four(end(f"n{number}"), end(f"n{number + 1}"), 0.5 + 0.025 * number)
    return bench(*runs)


def collectives() -> Bench:
    """All-reduce of four, and NVLink within a node."""
    runs = []
    for size in (KIB, MIB, 64 * MIB):
        for name, speed in (("nccl", 42e9), ("gloo", 1.5e9)):
            one = run(name, size, 20e-6, speed, end("gpu-01", "nvidia:0"), end("gpu-04", "nvidia:7"))
            rate = one.bandwidth_bytes_per_second
            ceiling = Ceiling("8 × 400 Gb/s NICs", 400e9, rate.median * 1.5 / 400e9)
            runs.append(
                replace(one, pattern="all-reduce", ceiling=ceiling, bus_bandwidth_bytes_per_second=rate.median * 1.5)
            )
    for name, speed in (("nccl", 380e9), ("cuda-ipc", 360e9)):
        a, b = end("gpu-01", "nvidia:0"), end("gpu-01", "nvidia:1")
        one = run(name, 256 * MIB, 12e-6, speed, a, b, destination=m.REUSED)
        rate = one.bandwidth_bytes_per_second.median
        path = Path("memory", (), m.UNVERIFIED, "P2P/CUMEM")
        runs.append(replace(one, ceiling=Ceiling("18 × NVLink 4", 450e9, rate / 450e9), path=path))
    return bench(*runs)


def troubles() -> Bench:
    """One row of each status."""
    here = end("gpu-07")
    memory = Path("memory", (), m.UNVERIFIED)
    runs = [
        *(
            run("tcp", size, 18e-6, 3.3e9, here, here, status=m.NOISY, stalls=2, path=memory, ceiling=_of_memory(3.3e9))
            for size in (8, 64 * MIB)
        ),
        *(
            run("object-store", size, 3e-4, 9e12, here, here, status=m.MAPPED, path=memory, ceiling=None)
            for size in (8, 64 * MIB)
        ),
        run("ucx", 8, 2e-7, 9.5e9, here, here, path=memory, ceiling=_of_memory(9.5e9)),
        run("ucx", 64 * MIB, 2e-7, 9.5e9, here, here, path=memory, ceiling=_of_memory(9.5e9), status=m.UNSTABLE),
        run("rdt-gloo", 8, 6e-3, 1.1e9, here, here, path=None, ceiling=None),
        run("rdt-gloo", 64 * MIB, 6e-3, 1.1e9, here, here, path=None, ceiling=None, verified=False),
        run("nixl", 64 * MIB, 2e-6, 19e9, here, here, path=memory, ceiling=_of_memory(19e9), status=m.SUSPECT),
        run(
            "rdt-nixl",
            64 * MIB,
            2e-6,
            2e9,
            here,
            here,
            status=m.CORRUPT,
            path=memory,
            bandwidth_bytes_per_second=None,
            ceiling=None,
            error="the first wrong byte is at 4096",
            verified=False,
        ),
        _failed("shared-memory", "OSError: [Errno 28] No space left on device: /dev/shm; enlarge it", here, here),
        absent("nccl", "no CUDA device", here, here),
    ]
    return bench(*runs)


def _of_memory(speed: float) -> Ceiling:
    return Ceiling("memcpy into fresh pages", MEMORY, speed / MEMORY)


def _failed(transport: str, why: str, a: Endpoint, b: Endpoint) -> Run:
    return Run(transport, a, b, m.P2P, m.SINGLE, m.FRESH, 64 * MIB, 0, 0, m.FAILED, error=why)


def screening() -> Bench:
    """Four nodes in three rounds, one of them slow to send, and one that left."""
    names = [end(f"gpu-{number:02}") for number in range(1, 5)]
    size, load = 2 * MIB, "3.9 processes wanted to run on 2 cores before raxl began"
    runs = [
        run("tcp", size, 0, LINE * (0.7 if a.node == "gpu-03" else 1), a, b, status=m.NOISY, error=load)
        for a in names
        for b in names
        if a is not b
    ]
    evidence = SlowEvidence(83.7e6, 119.6e6, ("gpu-03 → gpu-01 0.67", "gpu-03 → gpu-02 0.67"), rounds=3)
    again = "raxl bench-transport --cluster --transport tcp --pairs gpu-03:gpu-01,gpu-03:gpu-02,gpu-03:gpu-04"
    told = {"nodes": {}, "screen": {"transport": "tcp", "lost": {"gpu-05": "its actor died: the node is gone"}}}
    found = [Slow("node", "gpu-03", "sends", evidence, again)]
    return replace(bench(*runs, slow=found), environment=told)


def crowded() -> Bench:
    """A busy machine: many oddities of which few lines are to be told."""
    load = "{} processes wanted to run on 2 cores before raxl began"
    meet = "two of Ray's tasks have to meet, and the target's wait for the source's is in the figure"
    changed = "the rate changed while it was measured, by a factor of {}"
    runs: list[Run] = []
    for place, size in enumerate(SIZES):
        runs.append(run("memcpy", size, 1e-7, 13e9, A, A, status=m.NOISY, error=load.format("3.9")))
        runs.append(run("tcp", size, 7e-6, 3e9, A, A, status=m.NOISY, error=load.format("3.9"), stalls=place % 2))
        status, why = (m.NOISY, load.format("4.1")) if place % 2 else (m.UNSTABLE, changed.format(2 + place))
        runs.append(run("rdt-gloo", size, 1e-3, 1e9, A, A, status=status, error=f"{why}; {meet}", stalls=11))
        runs.append(run("object-store", size, 1e-4, 9e12, A, A, status=m.MAPPED, ceiling=None, path=None))
        steps = "the transport waits in steps of 1 ms"
        runs.append(run("rdt-nixl", size, 1e-3, 3e9, A, A, status=m.QUANTISED, error=steps))
    runs += [_failed("torch-gloo", "it hangs: given up after 90 s", A, A)]
    within = Path("memory", (), m.UNVERIFIED)
    return bench(*(replace(one, ceiling=None, path=one.path and within) for one in runs))


def after() -> Bench:
    """Beside a baseline, and with ends that died."""
    regressions = [
        Regression("tcp", A, B, m.P2P, 64 * MIB, "bandwidth_bytes_per_second", 119.1e6, 107.5e6, -0.097, m.SAME),
        Regression("tcp", A, B, m.P2P, 8, "latency_seconds", 110e-6, 143e-6, 0.3, m.REGRESSED),
        Regression("rdt-gloo", A, B, m.P2P, 64 * MIB, "bandwidth_bytes_per_second", 116e6, 58e6, -0.5, m.REGRESSED),
        Regression(
            "nixl", A, B, m.P2P, 8, "latency_seconds", 3.8e-6, None, None, m.INCOMPARABLE, "UCX 1.13.1, was 1.23.0"
        ),
        Regression("object-store", A, B, m.P2P, 64 * MIB, "bandwidth_bytes_per_second", 90e6, 118e6, 0.311, m.IMPROVED),
    ]
    nothing = Left(0, 0, 0, 0)
    faults = [
        Fault("tcp", A, B, "kill-source", 64 * MIB, 0.21, "ConnectionResetError: by peer", "alive", nothing, "ok"),
        Fault(
            "object-store", A, B, "kill-source", 64 * MIB, 31.4, "OwnerDiedError", "alive", Left(0, 2, None, 0), "ok"
        ),
        Fault(
            "rdt-nixl", A, B, "pause", 64 * MIB, None, "hangs", "alive", Left(67_108_864, 2, 0, 1), "failed: no agent"
        ),
        Fault("rdt-gloo", A, B, "partition", 64 * MIB, None, "the data arrived", "dead", Left(), "ok"),
    ]
    return bench(*four(), regressions=regressions, faults=faults)


def nothing() -> Bench:
    return bench()


def all_absent() -> Bench:
    return bench(*(absent(name, why) for name, why in ABSENT))


def unknowns() -> Bench:
    """Rows of which next to nothing is known."""
    bare = Run("tcp", A, B, m.P2P, m.SINGLE, m.FRESH, 64 * MIB, 0, 0, m.OK)
    slow = Slow("link", "gpu-07 → gpu-08", "both", SlowEvidence(0.0, 0.0, ()), "")
    regression = Regression("tcp", A, B, m.P2P, 8, "latency_seconds", None, None, None, m.REGRESSED)
    fault = Fault("tcp", A, B, "pause", 0, None, "", "", Left(), "")
    best = Recommendation(A, B, 8, "tcp", 1e-6, None, "")
    return bench(
        bare,
        replace(bare, transport="odd", status="new-status", size_bytes=0),
        absent("nixl", ""),
        replace(absent("nccl", ""), error=None),
        slow=[slow],
        regressions=[regression],
        faults=[fault],
        recommendations=[best],
    )


EVIL = "\x1b]0;owned\x07\x1b[31m[bold red]=cmd|'/c calc'!A1\u202e\n" + "node-with-a-very-long-name-" * 4 + '"quoted\\'


def hostile() -> Bench:
    """Every name that comes from elsewhere acts, is markup, a formula, wide, and very long."""
    a, b = Endpoint(EVIL, EVIL), Endpoint("節点" * 40, "cpu")
    path = Path(EVIL, (Moved(EVIL, 1, 2),), EVIL, EVIL)
    ceiling = Ceiling(EVIL, LINE, 0.5)
    changes = {"path": path, "ceiling": ceiling, "limiter": EVIL, "error": EVIL, "destination": EVIL}
    runs = [
        *sweep(EVIL, 1e-4, 1e8, a, b, **changes),
        *sweep("tcp", 1e-4, 1e8, b, a, **changes, mode=m.WINDOW, window=8),
    ]
    runs += [replace(runs[0], pattern=EVIL, mode=EVIL), replace(absent(EVIL, EVIL, a, b)), _failed(EVIL, EVIL, a, b)]
    slow = [Slow(EVIL, EVIL, EVIL, SlowEvidence(1e8, 1e9, (EVIL,) * 9), EVIL)] * 2
    regressions = [
        Regression(EVIL, a, b, EVIL, 8, EVIL, 1.0, 2.0, 1.0, status, EVIL) for status in (m.REGRESSED, m.INCOMPARABLE)
    ]
    faults = [Fault(EVIL, a, b, EVIL, 8, 0.1, EVIL, EVIL, Left(1, 2, 3, 4), EVIL)]
    best = [Recommendation(a, b, 8, EVIL, 0.1, None, EVIL)]
    return bench(
        *runs,
        fits=[Fit(EVIL, a, b, 1e-4, 1e8, 1e4, (8, 1024))],
        slow=slow,
        regressions=regressions,
        faults=faults,
        recommendations=best,
    )


DOCUMENTS = {
    "one-pair": one_pair,
    "both-ways": both_ways,
    "fleet": fleet,
    "scattered": scattered,
    "collectives": collectives,
    "troubles": troubles,
    "screening": screening,
    "crowded": crowded,
    "after": after,
    "nothing": nothing,
    "all-absent": all_absent,
    "unknowns": unknowns,
}
