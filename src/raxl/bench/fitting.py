"""The line through a transport's sizes: t(size) = latency + size / bandwidth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from raxl.model.measurement import NOISY, OK, P2P, SINGLE, UNSTABLE, Endpoint, Fit, Run

OFF = 0.25
"""Where measured and fitted time differ by more than this share of the measured, the line does not hold."""
_LEAST_UNSURE = 0.01
"""No median is weighted as if it were known better than to one part in a hundred."""
_FITTED = (OK, NOISY, UNSTABLE)


class Point(NamedTuple):
    """The median time of one size, and how wide its interval is; None where it is not known."""

    size_bytes: int
    seconds: float
    interval_seconds: float | None = None


class Line(NamedTuple):
    latency_seconds: float
    bandwidth_bytes_per_second: float
    off_sizes_bytes: tuple[int, ...]

    @property
    def half_bandwidth_bytes(self) -> float:
        """The size of which half of the time is latency."""
        return self.latency_seconds * self.bandwidth_bytes_per_second


def line(points: Sequence[Point]) -> Line | None:
    """The least squares, each point weighted by one over its interval.

    A latency below zero means that the smallest size was too large to show one: it is 0, and the line is fitted anew.
    None with fewer than two sizes, and where time does not grow with size.
    """
    known = [point for point in points if point.seconds > 0 and point.size_bytes > 0]
    if len({point.size_bytes for point in known}) < 2:
        return None
    weights = [_weight(point) for point in known]
    total = sum(weights)
    mean_size = sum(w * p.size_bytes for w, p in zip(weights, known)) / total
    mean_time = sum(w * p.seconds for w, p in zip(weights, known)) / total
    spread = sum(w * (p.size_bytes - mean_size) ** 2 for w, p in zip(weights, known))
    slope = sum(w * (p.size_bytes - mean_size) * (p.seconds - mean_time) for w, p in zip(weights, known)) / spread
    if slope <= 0:
        return None
    latency = mean_time - slope * mean_size
    if latency < 0:
        latency = 0.0
        squares = sum(w * p.size_bytes**2 for w, p in zip(weights, known))
        slope = sum(w * p.size_bytes * p.seconds for w, p in zip(weights, known)) / squares
    off = {p.size_bytes for p in known if abs(latency + slope * p.size_bytes - p.seconds) > OFF * p.seconds}
    return Line(latency, 1 / slope, tuple(sorted(off)))


def _weight(point: Point) -> float:
    return 1 / max(point.interval_seconds or 0.0, _LEAST_UNSURE * point.seconds) ** 2


def fits(runs: Iterable[Run]) -> tuple[Fit, ...]:
    """One for each transport, pair and kind of destination, of the single transfers that moved something."""
    rows: dict[tuple[str, Endpoint, Endpoint, str], list[Point]] = {}
    for run in runs:
        if run.status in _FITTED and run.pattern == P2P and run.mode == SINGLE and run.latency_seconds:
            key = (run.transport, run.source, run.target, run.destination)
            rows.setdefault(key, []).append(Point(run.size_bytes, run.latency_seconds.p50, _interval_seconds(run)))
    found = ((key, line(points)) for key, points in rows.items())
    return tuple(
        Fit(
            *key[:3],
            latency_seconds=known.latency_seconds,
            bandwidth_bytes_per_second=known.bandwidth_bytes_per_second,
            half_bandwidth_bytes=known.half_bandwidth_bytes,
            off_sizes_bytes=known.off_sizes_bytes,
        )
        for key, known in found
        if known
    )


def _interval_seconds(run: Run) -> float | None:
    speed = run.bandwidth_bytes_per_second
    return run.size_bytes / speed.ci95_low - run.size_bytes / speed.ci95_high if speed else None
