"""From what the ends read to a row that can be trusted, or says why not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from raxl.bench import ceilings, proof, wire
from raxl.bench.ceilings import Bound
from raxl.bench.readings import Ends, Row
from raxl.model.measurement import (
    COLLECTIVES,
    CORRUPT,
    FAILED,
    MAPPED,
    MISMATCH,
    NOISY,
    OK,
    P2P,
    QUANTISED,
    SUSPECT,
    UNAVAILABLE,
    UNSTABLE,
    WEIGHT_SYNC,
    WENT_ELSEWHERE,
    Bandwidth,
    Endpoint,
    Path,
    Phases,
    Run,
)
from raxl.transfer import MEMORY, TARGET, Taken, statistics, steadiness

LATENCY_BYTES = 64 << 10
"""Up to this size no bandwidth is told: it is the time that counts."""
_BUSY = 0.7
"""Processes that want to run, a core: above this the figures are those of a busy machine."""
_STEPS = 20
"""A transfer of fewer steps of the transport's own clock is off by more than a twentieth."""


def run(row: Row, ends: Ends, copies: Mapping[int, float], way: Path | None = None) -> Run:
    """The row as it is published.

    `copies`: by size, what a copy in memory takes at the target, in bytes a second. `way`: the path, where it is known
    otherwise than by the row's own counters.
    """
    devices = (row.taken.devices if row.taken else ()) or ("cpu",)
    bare = Run(
        transport=row.transport,
        source=Endpoint(row.nodes[0], devices[0]),
        target=Endpoint(row.sync.readers[0] if row.sync else row.nodes[-1], devices[-1]),
        pattern=row.transfer.pattern,
        mode=row.taken.mode if row.taken else "single",
        destination=(row.taken.destination if row.taken else None) or row.transfer.destination,
        size_bytes=row.transfer.size_bytes,
        iterations=row.taken.transfers if row.taken else 0,
        warmup=row.taken.warmup if row.taken else 0,
        status=OK,
        sync=replace(row.sync, messages_seconds=row.taken.messages_seconds) if row.sync and row.taken else row.sync,
    )
    if row.unavailable is not None:
        return replace(bare, status=UNAVAILABLE, error=row.unavailable)
    if row.taken is None or not row.taken.samples:
        return replace(bare, status=FAILED, error=row.failed or "it gave no sample")
    if way is None and row.moved and row.transfer.pattern in (P2P, WEIGHT_SYNC):
        way = proof.path(row, ends, row.taken.arrived or row.transfer.size_bytes * row.taken.transfers)
    return _measured(bare, row, row.taken, ends, copies, way)


def _measured(bare: Run, row: Row, taken: Taken, ends: Ends, copies: Mapping[int, float], path: Path | None) -> Run:
    size = row.transfer.size_bytes
    bandwidth = statistics.bandwidth_of(size, taken.samples) if size > LATENCY_BYTES and not taken.is_mapped else None
    copy = copies.get(size) if row.way != TARGET else None
    is_shared = row.sync is not None and len(row.nodes) > 2
    bound = _bound(path, ends, copy) if bandwidth is not None and not is_shared else None
    ceiling = None
    if bound is not None and bandwidth is not None:
        ceiling = wire.ceiling(bound.name, bound.bandwidth_bytes_per_second, bandwidth.median)
    is_exceeded = bound is not None and bandwidth is not None and bound.is_exceeded(size, bandwidth.median)
    status, words = _status(taken, path, ends, bound if is_exceeded else None)
    if status == CORRUPT:
        bandwidth = ceiling = None
    return replace(
        bare,
        status=status,
        phases=Phases(
            **{name: taken.phases.get(name) for name in ("setup", "register", "publish", "verify")},
            fetch=statistics.median(taken.samples),
        ),
        cold_seconds=taken.cold,
        latency_seconds=statistics.latency_of(taken.samples),
        bandwidth_bytes_per_second=bandwidth,
        bus_bandwidth_bytes_per_second=_bus(row, bandwidth),
        ceiling=ceiling,
        limiter=bound.name if bound is not None and ceiling is not None and ceiling.ratio > 0.9 else None,
        verified=taken.verified,
        samples=len(taken.samples),
        stalls=statistics.stalls(taken.samples),
        window=taken.window,
        end_to_end_seconds=statistics.median(taken.end_to_end) if taken.end_to_end else None,
        path=path,
        error="; ".join(word for word in (words, taken.remark) if word) or None,
    )


def _bus(row: Row, bandwidth: Bandwidth | None) -> float | None:
    """Of a collective over all of its ranks."""
    if bandwidth is None or row.transfer.pattern not in COLLECTIVES:
        return None
    return bandwidth.median * wire.bus_factor(row.transfer.pattern, len(row.nodes))


def _bound(path: Path | None, ends: Ends, copy: float | None) -> Bound | None:
    """The line, where the bytes should have crossed it; within a node a copy in memory."""
    if path is None:
        return None
    if not ends.is_one_node and path.claimed != MEMORY:
        return ceilings.of_line(ends) if path.claimed == proof.interface(ends) else None
    return Bound("a copy in memory", copy, False) if copy is not None else None


def _status(taken: Taken, path: Path | None, ends: Ends, exceeded: Bound | None) -> tuple[str, str | None]:
    """The gravest that is true, and its words; `exceeded` is what cannot be."""
    if taken.wrong is not None:
        return CORRUPT, taken.wrong
    if path is not None and path.verdict == WENT_ELSEWHERE:
        return MISMATCH, _elsewhere(path)
    if exceeded is not None:
        return SUSPECT, f"faster than its {exceeded.name} can be: another path, or a cache"
    if taken.is_mapped:
        return MAPPED, None
    if taken.quantum is not None and statistics.median(taken.samples) < _STEPS * taken.quantum:
        return QUANTISED, f"the transport waits in steps of {taken.quantum * 1e3:g} ms"
    factor = steadiness.change(taken.samples)
    if factor is not None:
        return UNSTABLE, f"the rate changed while it was measured, by a factor of {factor:.1f}"
    busy = [one for one in (ends.source, ends.target) if one.get("load", 0.0) > _BUSY * one.get("cores", 1)]
    if busy:
        return NOISY, f"{busy[0]['load']:.1f} processes wanted to run on {busy[0]['cores']} cores before raxl began"
    return OK, None


def _elsewhere(path: Path) -> str:
    claimed = next((one for one in path.devices if one.name in path.claimed.split("+")), None)
    others = [one for one in path.devices if one is not claimed]
    words = f"{path.claimed} moved {claimed.moved_bytes} of {claimed.expected_bytes} bytes" if claimed else ""
    went = " and ".join(one.name for one in others) or "shared memory, or a device that counts nothing"
    return f"{words}; it went by {path.protocol or went}" if words else f"it went by {went}"
