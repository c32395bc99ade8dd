"""How often a transfer is repeated: until it is warm, and then until its median is known."""

from __future__ import annotations

import time
from typing import Callable, NamedTuple

from raxl.transfer.steadiness import is_precise, warmed_up

_LEAST, _FEW = 6, 3
"""An interval of the median needs six samples."""
_LOOKED_AT = 6
"""So often it is seen whether the median is known well enough."""


class Timed(NamedTuple):
    """The samples in seconds, how many came before them, the very first, and why the loop ended: in the order of
    `Taken.took`."""

    samples: list[float]
    warmup: int
    cold: float
    stopped: str


def timed(step: Callable[[int], float], most: int, seconds: float, least_seconds: float = 0.0) -> Timed:
    """Repeats `step(iteration)`, which makes one transfer and gives the seconds that it took.

    At least six samples, however long they take, unless one alone takes longer than the whole budget; then three.
    """
    cold = step(0)
    warm: list[float] = []
    until = time.monotonic() + seconds / 2
    while not warmed_up(warm) and (time.monotonic() < until or len(warm) < _FEW):
        warm.append(step(1 + len(warm)))
        if cold > seconds:
            break
    samples: list[float] = []
    begun = time.monotonic()
    least = _LEAST if cold <= seconds else _FEW
    while True:
        samples.append(step(1 + len(warm) + len(samples)))
        gone, count = time.monotonic() - begun, len(samples)
        if count < least or gone < least_seconds:
            continue
        if count >= most:
            return Timed(samples, len(warm), cold, "samples")
        if gone >= seconds:
            return Timed(samples, len(warm), cold, "time")
        if count >= 2 * _LEAST and count % _LOOKED_AT == 0 and is_precise(samples):
            return Timed(samples, len(warm), cold, "steady")
