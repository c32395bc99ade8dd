"""What a row's samples say: the middle, how sure it is, and the tail.

Order statistics alone: they assume no shape, and one sample that went wrong moves none of them. Samples are seconds.
No sample is ever left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from raxl.model.measurement import Bandwidth, Latency

LEAST_FOR_INTERVAL = 6
"""With five samples, the whole range holds the median in only 94 of 100 runs."""
LEAST_FOR_P99 = 100
STALL = 3.0
"""A sample of more than so many times the median is a stall."""


class Interval(NamedTuple):
    low: float
    high: float


def median(values: Iterable[float]) -> float:
    """The middle one, or the mean of the middle two. There must be one."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def deviation(values: Sequence[float]) -> float:
    """The median distance from the median (MAD), in the unit of the values."""
    middle = median(values)
    return median(abs(value - middle) for value in values)


def interval(values: Sequence[float]) -> Interval | None:
    """What holds the median in at least 95 of 100 runs, whatever the distribution; None with fewer than six.

    Of the sorted values the ranks nearest to n/2 - 0.98 √n and, mirrored, 1 + n/2 + 0.98 √n: the normal approximation
    of the binomial ranks (Le Boudec, Performance Evaluation of Computer and Communication Systems, appendix A).
    """
    count = len(values)
    if count < LEAST_FOR_INTERVAL:
        return None
    ordered = sorted(values)
    rank = _lower_rank(count)
    return Interval(ordered[rank - 1], ordered[count - rank])


def _lower_rank(count: int) -> int:
    """From 1. That of the upper end is as far from the other side."""
    return max(1, math.floor(count / 2 - 0.98 * math.sqrt(count) + 0.5))


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not exceeded by `share` of all: a value that was seen, never one in between."""
    return sorted(values)[max(1, math.ceil(share * len(values) - 1e-9)) - 1]


def stalls(samples: Sequence[float]) -> int:
    """How many took more than three times the median."""
    limit = STALL * median(samples) if samples else 0.0
    return sum(sample > limit for sample in samples)


def latency_of(samples: Sequence[float]) -> Latency | None:
    """Seconds, of seconds; None without a sample. Of fewer than twenty, p95 is the slowest."""
    if not samples:
        return None
    known = interval(samples)
    return Latency(
        p50=median(samples),
        p95=percentile(samples, 0.95),
        p99=percentile(samples, 0.99) if len(samples) >= LEAST_FOR_P99 else None,
        min=min(samples),
        max=max(samples),
        ci95_low=known.low if known else None,
        ci95_high=known.high if known else None,
    )


def bandwidth_of(size_bytes: int, samples: Sequence[float]) -> Bandwidth | None:
    """Bytes per second of transfers of `size_bytes` that took so many seconds each.

    None with fewer than six, of which no interval is known, and where the clock saw no time pass.
    """
    times = interval(samples)
    if times is None or times.low <= 0:
        return None
    return Bandwidth(size_bytes / median(samples), size_bytes / times.high, size_bytes / times.low)
