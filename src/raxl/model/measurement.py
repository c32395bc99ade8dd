"""What `raxl bench-transport` measured: `raxl.bench/v1`.

Times are seconds, sizes bytes, bandwidths bytes per second in one direction, from `source` to `target`. What was not
measured is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Sequence

OK, MAPPED, NOISY, UNSTABLE, QUANTISED = "ok", "mapped", "noisy", "unstable", "quantised"
SUSPECT, MISMATCH, CORRUPT, FAILED, UNAVAILABLE = "suspect", "mismatch", "corrupt", "failed", "unavailable"
STATUSES = (OK, MAPPED, NOISY, UNSTABLE, QUANTISED, SUSPECT, MISMATCH, CORRUPT, FAILED, UNAVAILABLE)
"""From good to bad. `mapped`: nothing moved, the target sees the source's memory. `quantised`: the clock of the
transport is coarser than the transfer is long. `suspect`: faster than what it goes over can be."""
WRONG = (SUSPECT, MISMATCH, CORRUPT)
"""Rows that make the exit code 1."""
PROVEN, UNVERIFIED, WENT_ELSEWHERE = "proven", "unverified", "mismatch"
"""What the counters say of a path."""
P2P, WEIGHT_SYNC = "p2p", "weight-sync"
COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast")
ALIVE, HANGS, DEAD, UNKNOWN = "alive", "hangs", "dead", "unknown"
"""The end that was not hurt, after a fault."""
NOT_TRIED = "not tried"
"""The next transfer, where there was none before it."""
TOGETHER, ALONE = "together", "alone"
"""When something is slow."""
SINGLE, WINDOW, STREAM = "single", "window", "stream"
FRESH, REUSED = "fresh", "reused"
REGRESSED, IMPROVED, SAME, INCOMPARABLE = "regressed", "improved", "same", "incomparable"


@dataclass(frozen=True)
class Endpoint:
    """One end of a transfer."""

    node: str
    device: str
    """`cpu`, or an accelerator's id: `nvidia:0`."""


@dataclass(frozen=True)
class Phases:
    """Where the time of one row went; None for a phase that the transport does not have."""

    setup: float | None = None
    """Connections, groups, agents: until the first transfer can be posted."""
    register: float | None = None
    """Memory made known to a library or a NIC."""
    publish: float | None = None
    """Until the target may ask for the data: a put, metadata; the median."""
    fetch: float | None = None
    """From the post to the last byte at the target; the median. What latency and bandwidth are made of."""
    verify: float | None = None
    """The comparison of all bytes, after the timed loop."""


@dataclass(frozen=True)
class Latency:
    """Of `fetch`; for a ping-pong half of the round trip. `p99` needs a hundred samples."""

    p50: float
    p95: float
    p99: float | None
    min: float
    max: float
    ci95_low: float | None = None
    """With `ci95_high` what holds the median in 95 of 100 runs (order statistics); None with fewer than six samples,
    and in files of an older raxl."""
    ci95_high: float | None = None


@dataclass(frozen=True)
class Bandwidth:
    """The size by the median time, and the interval that holds it in 95 of 100 runs (order statistics)."""

    median: float
    ci95_low: float
    ci95_high: float


@dataclass(frozen=True)
class Ceiling:
    """What bounds the row, and the row's share of it."""

    name: str
    bandwidth_bytes_per_second: float
    ratio: float


@dataclass(frozen=True)
class Moved:
    """What a device's own counters say that it carried from source to target while the row was measured."""

    name: str
    """`eth0`, `mlx5_0:1`: the target's, or the source's where it is named so (`source eth0`)."""
    moved_bytes: int
    expected_bytes: int


@dataclass(frozen=True)
class Path:
    """Which way the bytes went."""

    claimed: str
    """The device that they should have crossed: `eth0`; `memory` within a node."""
    devices: tuple[Moved, ...]
    verdict: str
    """proven | unverified | mismatch"""
    protocol: str | None = None
    """What the library's own log says that it chose: `zero-copy cma/memory`."""


@dataclass(frozen=True)
class Sync:
    """Of weight-sync: which tensors went from whom to whom."""

    name: str
    """Of the model, or of the file that lists them."""
    tensors: int
    """How many."""
    trainers: tuple[str, ...]
    """Nodes, one for each actor. Each holds its part of the tensors."""
    readers: tuple[str, ...]
    """Of the inference actors, each of which gets all of them."""
    messages_seconds: float | None = None
    """What the messages that order one transfer take alone; it is in the time, too."""


@dataclass(frozen=True)
class Run:
    """One row: a transport between two ends, at one size."""

    transport: str
    source: Endpoint
    target: Endpoint
    pattern: str
    """p2p | all-reduce | … | weight-sync"""
    mode: str
    """single: one transfer at a time. window: `window` of them. stream: several connections."""
    destination: str
    """fresh | reused memory at the target"""
    size_bytes: int
    iterations: int
    warmup: int
    status: str
    phases: Phases = Phases()
    cold_seconds: float | None = None
    """The very first transfer, which is in no other figure."""
    latency_seconds: Latency | None = None
    bandwidth_bytes_per_second: Bandwidth | None = None
    bus_bandwidth_bytes_per_second: float | None = None
    """Of a collective: by the factor of nccl-tests."""
    ceiling: Ceiling | None = None
    limiter: str | None = None
    verified: bool = False
    """Whether all bytes were compared, and were the right ones."""
    samples: int = 0
    """How many transfers were timed."""
    stalls: int = 0
    """Samples of more than three times the median."""
    window: int | None = None
    end_to_end_seconds: float | None = None
    """As the caller of Ray sees it: calls, scheduling and all; the median."""
    path: Path | None = None
    sync: Sync | None = None
    """Of weight-sync: `source` is the first trainer, `target` the first reader, `size_bytes` and the bandwidth are what
    each reader gets, and the latency is the time to the last byte at the last of them, publishing and all."""
    error: str | None = None
    """Why it failed or is unavailable, and what to do; what is odd about a row that is neither."""


@dataclass(frozen=True)
class Fit:
    """t(size) = latency + size / bandwidth, through the medians of a transport's rows."""

    transport: str
    source: Endpoint
    target: Endpoint
    latency_seconds: float
    bandwidth_bytes_per_second: float
    half_bandwidth_bytes: float
    """The size at which half of that bandwidth is reached."""
    off_sizes_bytes: tuple[int, ...] = ()
    """Where the line is off by more than a quarter: the protocol changes there, or a window limits."""


@dataclass(frozen=True)
class SlowEvidence:
    """Why something is called slow: its best, what its peers have, and the pairs that show it."""

    best_bytes_per_second: float
    peers_bytes_per_second: float
    """The median of the others' best; with fewer than eight nodes the ceiling, or the best pair."""
    pairs: tuple[str, ...]
    """`a → b 0.669`: in gigabits per second."""
    rounds: int | None = None
    """In how many rounds it was measured."""
    alone_bytes_per_second: float | None = None
    """What these pairs reach one at a time."""
    slow_when: str | None = None
    """alone: a node or a cable. together: a link that too many share. None: it was not measured again, or is slow no
    more."""
    slow_rounds: int | None = None
    """In how many of them it was slow: in fewer, where it is slow now and then and its best is good."""


@dataclass(frozen=True)
class Slow:
    """A node or a link that holds others up."""

    kind: str
    """node | link"""
    subject: str
    """A node's name; `a → b`."""
    direction: str
    """sends | receives | both"""
    evidence: SlowEvidence
    next_command: str


@dataclass(frozen=True)
class Regression:
    """A row beside that of the baseline."""

    transport: str
    source: Endpoint
    target: Endpoint
    pattern: str
    size_bytes: int
    metric: str
    """bandwidth_bytes_per_second | latency_seconds"""
    before: float | None
    after: float | None
    change: float | None
    """-0.2: a fifth less."""
    status: str
    """regressed | improved | same | incomparable"""
    reason: str | None = None
    """Why it cannot be compared; what is odd about the comparison where it can."""


@dataclass(frozen=True)
class Left:
    """What a fault left behind at the end that lived, above what was there before; None: not read."""

    memory_bytes: int | None = None
    sockets: int | None = None
    shared_memory_bytes: int | None = None
    actors: int | None = None


@dataclass(frozen=True)
class Fault:
    """An end that died in the middle of a transfer, and what came of it."""

    transport: str
    source: Endpoint
    target: Endpoint
    kind: str
    """kill-source | kill-target | pause | partition"""
    size_bytes: int
    seconds_to_error: float | None
    """None: no error came; then `error` says what came instead."""
    error: str
    """The kind of the error, and its first words; `hangs`, `the data arrived`."""
    other_end: str
    """alive | hangs (its process is there, and answers no more) | dead | unknown"""
    left: Left
    next_transfer: str
    """ok | failed: why, between new ends | not tried."""
    status: str = OK
    """ok: it was done, whatever came of it. unavailable: it cannot be done between these ends. failed: the transport
    did not get as far as that. `error` says why."""


@dataclass(frozen=True)
class Recommendation:
    """The fastest verified transport of a pair at a size."""

    source: Endpoint
    target: Endpoint
    size_bytes: int
    transport: str
    seconds: float
    bandwidth_bytes_per_second: float | None
    reason: str
    """What it beat, and by how much; what was left out and why."""


@dataclass(frozen=True)
class Bench:
    """Everything of one run of `raxl bench-transport`."""

    schema: str
    raxl_version: str
    created: str
    environment: Mapping[str, Any]
    """`nodes`: by name what each end said of itself (versions, variables, NICs, load); `harness`: its own cost."""
    runs: Sequence[Run] = ()
    fits: Sequence[Fit] = ()
    slow: Sequence[Slow] = ()
    regressions: Sequence[Regression] = ()
    faults: Sequence[Fault] = ()
    recommendations: Sequence[Recommendation] = ()
