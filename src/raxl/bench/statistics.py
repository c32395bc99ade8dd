"""What samples say."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.measurement import Bandwidth, Latency
from raxl.transfer.timing import median as median


def latency_of(samples: Sequence[float]) -> Latency:
    ordered = sorted(samples)
    return Latency(median(ordered), ordered[int(0.95 * (len(ordered) - 1))], None, ordered[0], ordered[-1])


def bandwidth_of(size: int, samples: Sequence[float]) -> Bandwidth:
    ordered = sorted(samples)
    return Bandwidth(size / median(ordered), size / ordered[-1], size / ordered[0])


def stalls(samples: Sequence[float]) -> int:
    return sum(one > 3 * median(samples) for one in samples)


def has_changed(samples: Sequence[float]) -> bool:
    return False
