"""The runs of a benchmark put together: by pair of ends and pattern, by transport, by size; pairs alike once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low
from typing import NamedTuple

from raxl.model import measurement as m
from raxl.model.measurement import Endpoint, Run

_ALIKE = 0.1
"""Pairs whose bandwidths differ by no more are told once."""
_LATENCY = 2.0
"""By what factor the latency of a pair may differ from that of the pairs like it."""
_STEADY = (m.OK, m.NOISY, m.UNSTABLE, m.QUANTISED)
"""Pairs are alike whichever of these the load of the moment gave them."""


CEILINGS = ("memcpy",)
"""What nobody sends by: it is measured for the others to be held against."""


class Way(NamedTuple):
    """From where to where."""

    source: Endpoint
    target: Endpoint


class Key(NamedTuple):
    """What makes a line of a table of its own."""

    transport: str
    mode: str
    window: int | None
    destination: str


@dataclass(frozen=True)
class Pair:
    """What was measured between two ends by one pattern, `there` and, where it was measured too, `back`."""

    pattern: str
    way: Way
    there: tuple[Run, ...]
    back: tuple[Run, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        return (*self.there, *self.back)

    @property
    def ways(self) -> tuple[tuple[Run, ...], ...]:
        return (self.there, self.back) if self.back else (self.there,)


@dataclass(frozen=True)
class Group:
    """One pair, or several that are alike."""

    pairs: tuple[Pair, ...]

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return tuple(run for pair in self.pairs for run in pair.runs)

    @property
    def is_one(self) -> bool:
        return len(self.pairs) == 1

    @cached_property
    def keys(self) -> tuple[Key, ...]:
        """The lines of its table, in the order in which they were measured."""
        return tuple(dict.fromkeys(map(key, self.runs)))

    @cached_property
    def headline(self) -> int:
        """The largest of the sizes at which most transports have a bandwidth, or were tried."""
        counts = Counter(run.size_bytes for run in self.runs if run.bandwidth_bytes_per_second)
        counts = counts or Counter(run.size_bytes for run in self.runs)
        return max(counts, key=lambda size: (counts[size], size))

    @cached_property
    def smallest(self) -> int:
        """The size whose time is told as the latency."""
        return min(run.size_bytes for run in self.runs)

    def at(self, line: Key, size: int) -> list[list[Run]]:
        """The runs of one line at one size: by direction for a single pair, else all together."""
        ways = self.pairs[0].ways if self.is_one else (self.runs,)
        return [[run for run in runs if run.size_bytes == size and key(run) == line] for runs in ways]

    @cached_property
    def badness(self) -> tuple[int, float]:
        """How bad it is: by the worst status, then by the lowest share of a ceiling."""
        worst = max(m.STATUSES.index(run.status) if run.status in m.STATUSES else 0 for run in self.runs)
        first = m.STATUSES.index(m.SUSPECT)
        ratios = [run.ceiling.ratio for run in self.runs if run.ceiling and run.size_bytes == self.headline]
        return (worst if worst >= first else 0, -min(ratios, default=1.0))


def key(run: Run) -> Key:
    """The line of a table that this run belongs to."""
    return Key(run.transport, run.mode, run.window, run.destination)


def pairs(runs: Iterable[Run]) -> list[Pair]:
    """The pairs in the order in which they were measured; what is unavailable is in none."""
    found: dict[tuple[str, Way], list[Run]] = {}
    for run in runs:
        if run.status != m.UNAVAILABLE:
            found.setdefault((run.pattern, Way(run.source, run.target)), []).append(run)
    told: list[Pair] = []
    while found:
        (pattern, way), there = next(iter(found.items()))
        del found[pattern, way]
        # A collective runs among all its ends: it has no way back.
        back = found.pop((pattern, Way(way.target, way.source)), []) if pattern not in m.COLLECTIVES else []
        told.append(Pair(pattern, way, tuple(there), tuple(back)))
    return told


def groups(runs: Iterable[Run], *, fold: bool = True) -> list[Group]:
    """The pairs, worst first; those that are alike in one group, after the exceptions."""
    shapes: dict[object, list[Pair]] = {}
    for place, pair in enumerate(pairs(runs)):
        shapes.setdefault(_shape(pair) if fold else place, []).append(pair)
    found = [group for alike in shapes.values() for group in _without_exceptions(alike)]
    return sorted(found, key=lambda group: (-group.badness[0], len(group.pairs), -group.badness[1]))


def differ(pair: Pair) -> bool:
    """Whether one direction is slower than the other, by more than pairs that are alike may differ."""
    return bool(slower(pair))


def slower(pair: Pair) -> dict[Key, Way]:
    """By line the direction that is slower at the headline size, where the other is faster by more than a tenth."""
    size = Group((pair,)).headline
    rates: dict[Key, dict[Way, float]] = {}
    for run in pair.runs:
        if run.size_bytes == size and run.bandwidth_bytes_per_second:
            rates.setdefault(key(run), {})[Way(run.source, run.target)] = run.bandwidth_bytes_per_second.median
    return {
        line: min(ways, key=ways.__getitem__)
        for line, ways in rates.items()
        if min(ways.values()) < (1 - _ALIKE) * max(ways.values())
    }


def worst(runs: Sequence[Run]) -> Run:
    """The run with the worst status; among such that with the least of its ceiling."""

    def rank(run: Run) -> tuple[int, float]:
        place = m.STATUSES.index(run.status) if run.status in m.STATUSES else len(m.STATUSES)
        return place, -(run.ceiling.ratio if run.ceiling else 1.0)

    return max(runs, key=rank)


def middle(runs: Sequence[Run]) -> Run | None:
    """The run in the middle by bandwidth, or by latency: one that was measured, no mean."""
    if not runs:
        return None
    speeds = {run.bandwidth_bytes_per_second.median: run for run in runs if run.bandwidth_bytes_per_second}
    if speeds:
        return speeds[median_low(speeds)]
    times = {run.latency_seconds.p50: run for run in runs if run.latency_seconds}
    return times[median_low(times)] if times else runs[0]


def _shape(pair: Pair) -> object:
    """What pairs have in common that may stand in one table."""
    one_node = pair.way.source.node == pair.way.target.node
    kinds = tuple(end.device.partition(":")[0] for end in pair.way)
    facts = {
        (
            key(run),
            "measured" if run.status in _STEADY else run.status,
            (run.path.claimed, run.path.verdict) if run.path else None,
            run.ceiling.name if run.ceiling else None,
        )
        for run in pair.runs
    }
    return pair.pattern, one_node, kinds, bool(pair.back), frozenset(facts)


def _without_exceptions(alike: list[Pair]) -> list[Group]:
    """One group of those near the median, and one for each pair that is not."""
    if len(alike) == 1:
        return [Group((alike[0],))]
    whole = Group(tuple(alike))
    rates: dict[Key, list[float]] = {}
    times: dict[Key, list[float]] = {}
    for run in whole.runs:
        _note(run, whole, rates, times)
    usual_rate = {line: median_low(values) for line, values in rates.items()}
    usual_time = {line: median_low(values) for line, values in times.items()}
    rule: list[Pair] = []
    exceptions: list[Pair] = []
    for pair in alike:
        own_rates: dict[Key, list[float]] = {}
        own_times: dict[Key, list[float]] = {}
        for run in pair.runs:
            _note(run, whole, own_rates, own_times)
        near = all(abs(v - usual_rate[k]) <= _ALIKE * usual_rate[k] for k, own in own_rates.items() for v in own)
        quick = all(v <= _LATENCY * usual_time[k] for k, own in own_times.items() for v in own)
        (rule if near and quick else exceptions).append(pair)
    return [*(Group((pair,)) for pair in exceptions), *([Group(tuple(rule))] if rule else [])]


def _note(run: Run, whole: Group, rates: dict[Key, list[float]], times: dict[Key, list[float]]) -> None:
    if run.size_bytes == whole.headline and run.bandwidth_bytes_per_second:
        rates.setdefault(key(run), []).append(run.bandwidth_bytes_per_second.median)
    if run.size_bytes == whole.smallest and run.latency_seconds:
        times.setdefault(key(run), []).append(run.latency_seconds.p50)
