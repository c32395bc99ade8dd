"""The fastest verified transport of each pair, by size, with what it beat and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
_REMARKS = {
    MAPPED: "nothing is moved: the target sees the source's memory",
    NOISY: "measured on a busy machine",
    UNSTABLE: "its rate changed meanwhile",
}


class Timed(NamedTuple):
    run: Run
    seconds: float
    interval: Interval | None


def recommendations(runs: Iterable[Run]) -> tuple[Recommendation, ...]:
    """One for each pair and size of which a row is verified.

    Rows of one mode and one kind of destination alone are beside each other: where a run has several, each has its own.
    """
    groups: dict[tuple[Endpoint, Endpoint, int, str, str], list[Run]] = {}
    for run in runs:
        if run.pattern == P2P:
            key = (run.source, run.target, run.size_bytes, run.mode, run.destination)
            groups.setdefault(key, []).append(run)
    found = (_best(group) for group in groups.values())
    return tuple(one for one in found if one is not None)


def _best(rows: Sequence[Run]) -> Recommendation | None:
    reasons = {id(run): why_not(run) for run in rows}
    times = [timed for run in rows if reasons[id(run)] is None and (timed := _timed(run))]
    if not times:
        return None
    times.sort(key=lambda timed: timed.seconds)
    first, *others = times
    run = first.run
    words = [_beaten(first, others) or "the only one that is verified"]
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
    known = (
        Interval(run.size_bytes / speed.ci95_high, run.size_bytes / speed.ci95_low)
        if speed and speed.ci95_low > 0
        else None
    )
    if run.mode == SINGLE and latency is not None:
        return Timed(run, latency.p50, known)
    return Timed(run, run.size_bytes / speed.median, known) if speed and speed.median > 0 else None


def _beaten(first: Timed, others: Sequence[Timed]) -> str:
    equal = [other.run.transport for other in others if _overlap(first, other)]
    words = [
        f"{other.seconds / first.seconds:.3g} times as fast as {other.run.transport}"
        for other in others
        if not _overlap(first, other) and first.seconds > 0
    ]
    return ", ".join([*words, *([f"no different from {' and '.join(equal)} within the noise"] if equal else [])])


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
