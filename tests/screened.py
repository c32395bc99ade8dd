"""A simulated cluster: what its pairs would measure in the rounds of a plan.

Pairs lose up to a tenth or so by chance (one-sided, 3 % of deviation), and 2 % of figures stall by up to 30 %.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from raxl.bench.schedule import Round
from raxl.bench.scores import Measured

RATE = 0.125e9 * 1448 / 1514
"""Bytes per second: one gigabit, behind a shaper."""


def names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def measure(
    plan: Sequence[Round],
    seed: int,
    sends: Mapping[str, float] | None = None,
    receives: Mapping[str, float] | None = None,
    link: Callable[[str, str], float] = lambda source, target: 1.0,
    sometimes: Mapping[str, float] | None = None,
    noise: float = 0.03,
    stalls: float = 0.02,
    transfers: int = 1,
) -> list[Measured]:
    """`sends`, `receives` and `link` give the share that is left of the rate; `sometimes` how often a node has half."""
    draw = random.Random(seed)
    found = []
    for number, pairs in enumerate(plan):
        half = {node for node, share in (sometimes or {}).items() if draw.random() < share}
        for one, other in pairs:
            for source, target in ((one, other), (other, one)):
                rate = min((sends or {}).get(source, 1.0), (receives or {}).get(target, 1.0), link(source, target))
                rate *= 0.5 if half & {source, target} else 1.0
                rate *= 1 - abs(draw.gauss(0, noise))
                if draw.random() < stalls:
                    rate *= 1 - draw.uniform(0, 0.3)
                found.append(Measured(number, source, target, RATE * rate, transfers))
    return found
