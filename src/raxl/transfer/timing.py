"""How often a transfer is repeated: until it is warm, and then until its median is known."""

from __future__ import annotations

import time
from math import sqrt
from typing import Callable, NamedTuple, Sequence

_LEAST_WARM, _MOST_WARM, _WARM_TOGETHER = 3, 20, 5
_WARM_SHARE = 0.05
"""Two medians of so many transfers in a row differ by less than this: it is warm."""
_LEAST, _NARROW = 6, 0.02
"""An interval of the median needs six samples; it is narrow enough at two hundredths of it, to either side."""


class Timed(NamedTuple):
    """The samples in seconds, how many came before them, the very first, and why the loop ended."""

    samples: list[float]
    warmup: int
    cold: float
    stopped: str


def timed(step: Callable[[int], float], most: int, seconds: float, least_seconds: float = 0.0) -> Timed:
    """Repeats `step(iteration)`, which makes one transfer and gives the seconds that it took.

    At least six samples, however long they take, unless one alone takes longer than the whole budget; then three.
    """
    cold = step(0)
    count, until = 1, time.monotonic() + seconds
    last: list[float] = [cold]
    before: float | None = None
    while count < _MOST_WARM + 1 and time.monotonic() < until:
        last = [*last, step(count)][-_WARM_TOGETHER:]
        count += 1
        if (count - 1) % _WARM_TOGETHER == 0 or count * cold > seconds / 2:
            middle = median(last)
            if before is not None and count > _LEAST_WARM and abs(middle - before) < _WARM_SHARE * before:
                break
            if count > _LEAST_WARM and count * cold > seconds / 2:
                break
            before = middle
    samples: list[float] = []
    begun = time.monotonic()
    least = _LEAST if cold < seconds else 3
    while True:
        samples.append(step(count))
        count += 1
        gone, enough = time.monotonic() - begun, len(samples) >= least
        if len(samples) >= most and gone >= least_seconds and enough:
            return Timed(samples, count - 1 - len(samples), cold, "samples")
        if enough and gone >= max(seconds, least_seconds):
            return Timed(samples, count - 1 - len(samples), cold, "time")
        if gone >= least_seconds and len(samples) >= 2 * _LEAST and len(samples) % _LEAST == 0 and is_narrow(samples):
            return Timed(samples, count - 1 - len(samples), cold, "steady")


def median(values: Sequence[float]) -> float:
    """The middle one, or the mean of the two in the middle."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def is_narrow(samples: Sequence[float]) -> bool:
    """Whether the interval of the median (order statistics, 95 of 100) is within two hundredths to either side."""
    ordered, count = sorted(samples), len(samples)
    low = max(1, round(count / 2 - 0.98 * sqrt(count)))
    high = min(count, round(1 + count / 2 + 0.98 * sqrt(count)))
    return (ordered[high - 1] - ordered[low - 1]) / 2 < _NARROW * median(ordered)
