"""The fastest verified transport of each pair, by size, with what it beat and what was left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from raxl.model.measurement import (
    CORRUPT,
    FAILED,
    MAPPED,
    MISMATCH,
    NOISY,
    P2P,
    PROVEN,
    QUANTISED,
    SINGLE,
    SUSPECT,
    UNAVAILABLE,
    UNSTABLE,
    WENT_ELSEWHERE,
    Endpoint,
    Recommendation,
    Run,
)
from raxl.transfer.statistics import Interval

_LEFT_OUT = {
    CORRUPT: "corrupt data",
    MISMATCH: "went another way",
    SUSPECT: "faster than it can be",
    QUANTISED: "its clock is too coarse",
    FAILED: "failed",
    UNAVAILABLE: "unavailable",
}
HOST_MEMORY = "cpu"
_CEILINGS = ("memcpy",)
"""What nobody sends by: it is measured for the others to be held against."""
_NOT_MOVED = "nothing is moved: the target sees the source's memory"
"""A recommendation for whoever only reads; whoever wants bytes of its own has to know it first."""
_REMARKS = {
    NOISY: "measured on a busy machine",
    UNSTABLE: "its rate changed meanwhile",
}


class Timed(NamedTuple):
    run: Run
    seconds: float
    interval: Interval | None


def recommendations(runs: Iterable[Run]) -> tuple[Recommendation, ...]:
    """One for each pair and size of which a row is verified.

    Rows of one mode alone are beside each other. So are those of one kind of destination, where a transport was
    measured into several; where each was into one, it is the transport's own, and part of what it costs.
    """
    rows = [run for run in runs if run.pattern == P2P and run.transport not in _CEILINGS]
    # What went another way where counters can tell goes there too where the bytes are too few to be counted.
    belied = {(run.transport, run.source, run.target) for run in rows if run.status == MISMATCH}
    into: dict[str, set[str]] = {}
    for run in rows:
        into.setdefault(run.transport, set()).add(run.destination)
    has_both = any(len(own) > 1 for own in into.values())
    groups: dict[tuple[Endpoint, Endpoint, int, str, str], list[Run]] = {}
    for run in rows:
        key = (run.source, run.target, run.size_bytes, run.mode, run.destination if has_both else "")
        groups.setdefault(key, []).append(run)
    found = (_best(group, belied) for group in groups.values())
    return tuple(one for one in found if one is not None)


def between(runs: Iterable[Run], a: Endpoint, b: Endpoint) -> tuple[Recommendation, ...]:
    """Those from one device to another; where no row is verified there, from host memory to host memory."""
    rows = list(runs)
    for source, target in ((a, b), (Endpoint(a.node, HOST_MEMORY), Endpoint(b.node, HOST_MEMORY))):
        found = recommendations(run for run in rows if (run.source, run.target) == (source, target))
        if found:
            return found
    return ()


def _best(rows: Sequence[Run], belied: Collection[tuple[str, Endpoint, Endpoint]]) -> Recommendation | None:
    def left_out(run: Run) -> str | None:
        known = why_not(run)
        is_belied = known is None and (run.transport, run.source, run.target) in belied
        return "went another way at other sizes" if is_belied else known

    reasons = {id(run): left_out(run) for run in rows}
    times = [timed for run in rows if reasons[id(run)] is None and (timed := _timed(run))]
    if not times:
        return None
    times.sort(key=lambda timed: timed.seconds)
    first, *others = times
    run = first.run
    words = [_NOT_MOVED] if run.status == MAPPED else []
    words.append(_beaten(first, others) or "the only one that is verified")
    words += [text for text in (_REMARKS.get(run.status), _path(run)) if text]
    left = [f"{row.transport} ({reason})" for row in rows if (reason := reasons[id(row)]) is not None]
    if left:
        words.append(f"left out: {', '.join(left)}")
    speed = run.bandwidth_bytes_per_second
    return Recommendation(
        run.source,
        run.target,
        run.size_bytes,
        run.transport,
        first.seconds,
        speed.median if speed and run.status != MAPPED else None,
        "; ".join(words),
    )


def why_not(run: Run) -> str | None:
    """Why a row cannot be recommended; None where it can."""
    if run.status in _LEFT_OUT:
        return _LEFT_OUT[run.status]
    if run.path is not None and run.path.verdict == WENT_ELSEWHERE:
        return _LEFT_OUT[MISMATCH]
    if not run.verified:
        return "not verified"
    return None if _timed(run) else "no time"


def _timed(run: Run) -> Timed | None:
    """Seconds a transfer: the median; of several in flight, the size by what they carry together."""
    speed, latency = run.bandwidth_bytes_per_second, run.latency_seconds
    known = None
    if speed and speed.ci95_low > 0:
        known = Interval(run.size_bytes / speed.ci95_high, run.size_bytes / speed.ci95_low)
    if run.mode == SINGLE and latency is not None:
        if latency.ci95_low is not None and latency.ci95_high is not None:
            known = Interval(latency.ci95_low, latency.ci95_high)
        return Timed(run, latency.p50, known)
    return Timed(run, run.size_bytes / speed.median, known) if speed and speed.median > 0 else None


def _beaten(first: Timed, others: Sequence[Timed]) -> str:
    equal = [other for other in others if _overlap(first, other)]
    times = [(other, f"{other.seconds / first.seconds:.3g}") for other in others if first.seconds > 0]
    close = [other for other, ratio in times if ratio == "1" and other not in equal]
    words = [
        f"{ratio} times as fast as {other.run.transport}"
        for other, ratio in times
        if other not in equal and other not in close
    ]
    words += [f"no different from {_named(close)} in three digits"] if close else []
    words += [f"no different from {_named(equal)} within the noise"] if equal else []
    return ", ".join(words)


def _named(found: Sequence[Timed]) -> str:
    return " and ".join(timed.run.transport for timed in found)


def _overlap(one: Timed, other: Timed) -> bool:
    """Whether the noise explains the difference. Without intervals, a difference is one."""
    if one.interval is None or other.interval is None:
        return one.seconds == other.seconds
    return one.interval.low <= other.interval.high and other.interval.low <= one.interval.high


def _path(run: Run) -> str | None:
    """Whether anything shows which way the bytes went; of memory that is mapped none went."""
    if run.status == MAPPED:
        return None
    return None if run.path is not None and run.path.verdict == PROVEN else "its path is not proven"
