"""Who is slow beside the others: the best that each did, and the rules of how far below the others is too far.

All figures are bytes per second in one direction. A healthy end is slow wherever its partner is, so its best round
tells of it, and no mean of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from raxl.transfer.statistics import deviation, median

SENDS, RECEIVES, BOTH = "sends", "receives", "both"
LEAST_FOR_OUTLIERS = 8
"""Of fewer than so many no spread is known: they are held against a ceiling, or the best of them."""
OUTLIER = 4.5
"""Standard deviations, as estimated from the median distance."""
TO_DEVIATION = 1.4826
"""Of a normal distribution: standard deviation by median distance (MAD)."""
LEAST_SPREAD = 0.01
"""Of the median, where the distances are all 0."""
OUTLIER_SHARE, SLOW_SHARE = 0.95, 0.90
"""Below this share of the median an outlier is slow; below the second one of a few is, and a round."""

Key = TypeVar("Key", bound=Hashable)


class Measured(NamedTuple):
    """What one pair did in one direction in one round."""

    round: int
    source: str
    target: str
    bandwidth_bytes_per_second: float
    transfers: int = 1
    """How many transfers the figure is the median of."""

    def end(self, direction: str) -> str:
        """Whose sending, or receiving, this is."""
        return self.source if direction == SENDS else self.target

    def partner(self, direction: str) -> str:
        return self.target if direction == SENDS else self.source


class Judged(NamedTuple):
    """What the scores were held against, and from which score on they are slow."""

    reference: float
    limit: float


def ends(measured: Iterable[Measured]) -> list[str]:
    """Everyone who took part, in the order of appearance."""
    return list(dict.fromkeys(end for one in measured for end in (one.source, one.target)))


def best(measured: Iterable[Measured], direction: str) -> dict[str, float]:
    """By end, its best round in this direction."""
    found: dict[str, float] = {}
    for one in measured:
        end = one.end(direction)
        found[end] = max(found.get(end, 0.0), one.bandwidth_bytes_per_second)
    return found


def yardstick(measured: Sequence[Measured], ceiling: float | None) -> float:
    """What few ends are held against: the ceiling, or the best pair.

    Among three or more, a ceiling that no pair comes near is none: what is the same everywhere is no end's fault.
    """
    top = max(one.bandwidth_bytes_per_second for one in measured)
    if ceiling is None or (len(ends(measured)) > 2 and top < SLOW_SHARE * ceiling):
        return top
    return ceiling


def judged(scores: Mapping[Key, float], few: float | None, share: float = OUTLIER_SHARE) -> Judged:
    """Of eight and more: below `share` of the median, and an outlier by 4.5 deviations. Of fewer: below 90 % of `few`.

    `few` is the yardstick of few; None for the best of the scores.
    """
    if len(scores) < LEAST_FOR_OUTLIERS:
        reference = few if few is not None else max(scores.values(), default=0.0)
        return Judged(reference, SLOW_SHARE * reference)
    values = list(scores.values())
    middle = median(values)
    spread = TO_DEVIATION * deviation(values) or LEAST_SPREAD * middle
    return Judged(middle, min(middle - OUTLIER * spread, share * middle))
