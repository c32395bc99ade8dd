"""When warming up is over, when enough was measured, and whether the rate stayed what it was.

Samples are seconds, in the order in which they were taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from raxl.transfer.statistics import Interval, interval, median

LEAST_WARMUP, MOST_WARMUP = 3, 20
BLOCK = 5
"""Warm-up compares medians of so many samples."""
STEADY = 0.05
PRECISE = 0.02
"""Half of the interval, as a share of the median, at which measuring may stop."""
CHANGED = 1.2
"""Times that are apart by more than this factor, intervals and all, are of two rates."""
_LEAST_TO_SEE_A_CHANGE = 6


def is_steady(medians: Sequence[float]) -> bool:
    """Whether the last two of successive medians differ by less than 5 % of the smaller."""
    if len(medians) < 2:
        return False
    low, high = sorted(medians[-2:])
    return high - low < STEADY * low or low == high


def warmed_up(samples: Sequence[float]) -> bool:
    """Whether measuring may begin: the median of the last five is that of the five before, or it was tried 20 times.

    With fewer than ten samples the halves are compared, the middle one left out; with fewer than three it is not.
    """
    count = len(samples)
    if count < LEAST_WARMUP:
        return False
    block = min(BLOCK, count // 2)
    return count >= MOST_WARMUP or is_steady([median(samples[-2 * block : -block]), median(samples[-block:])])


def is_precise(samples: Sequence[float]) -> bool:
    """Whether the interval of the median is within 2 % to both sides of it."""
    known = interval(samples)
    return known is not None and (known.high - known.low) / 2 < PRECISE * median(samples)


def change(samples: Sequence[float]) -> float | None:
    """By which factor transfers took longer in one part of the run than in another; None where one rate explains all.

    Windows of successive samples are laid over the run: an eighth of it, at least six samples, and half of a run that
    is shorter than two such. Two rates are seen where the interval of one window lies wholly above that of another, by
    more than a fifth. That is a step, a dip that lasts, or a slow drift; single stalls widen an interval, and are none.
    """
    count = len(samples)
    if count < _LEAST_TO_SEE_A_CHANGE:
        return None
    length = max(count // 8, min(_LEAST_TO_SEE_A_CHANGE, count // 2))
    starts = {*range(0, count - length, max(1, length // 4)), count - length}
    windows = [_held(samples[start : start + length]) for start in starts]
    slow, fast = max(low for low, _ in windows), min(high for _, high in windows)
    if fast <= 0 or slow <= CHANGED * fast:
        return None
    medians = [median(samples[start : start + length]) for start in starts]
    return max(medians) / min(medians) if min(medians) > 0 else None


def _held(window: Sequence[float]) -> Interval:
    return interval(window) or Interval(min(window), max(window))
