"""Nodes that are slow in more rounds than chance explains, though their best round is good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import ceil, comb
from typing import NamedTuple

from raxl.bench.accused import NODE, Accused
from raxl.bench.scores import BOTH, RECEIVES, SENDS, SLOW_SHARE, Measured, best
from raxl.transfer.statistics import median

LEAST_ROUNDS = 3
"""So many slow rounds at least."""
WAYS = (BOTH, SENDS, RECEIVES)
LEAST_CHANCE = {BOTH: 0.005, SENDS: 0.02, RECEIVES: 0.02}
"""A round of a healthy pair is slow at least so often: transfers stall, now and then to and fro at once."""
BY_CHANCE = 0.002
"""How many nodes are named for nothing in one screening of any size, on average."""
TRIMMED = 0.1
"""This share of the nodes, those with most slow rounds, says nothing of how often a healthy one is slow."""


class Count(NamedTuple):
    rounds: int
    slow: int


NONE = Count(0, 0)


def find(measured: Sequence[Measured], few: float | None) -> list[Accused]:
    """The least likely node first; what it touches says nothing of its partners, so the others are counted anew.

    `measured` is what nothing else explains. How often a round is slow by chance is taken from nine of ten nodes: where
    that is often, something else is the matter, and no node is named. Six rounds show a node that is slow in four of
    them; to see a rarer one, measure more.
    """
    if not measured:
        return []
    best_of = {way: best(measured, way) for way in (SENDS, RECEIVES)}
    reference = few if few is not None else median([*best_of[SENDS].values(), *best_of[RECEIVES].values()])
    limit = SLOW_SHARE * reference
    left = list(measured)
    found: list[Accused] = []
    while named := _least_likely(left, limit):
        node, way = named
        touched = tuple(one for one in left if _touches(one, node, way))
        shows = tuple(one for one in touched if one.bandwidth_bytes_per_second < limit)
        top = max(one.bandwidth_bytes_per_second for one in touched)
        found.append(Accused(NODE, node, way, top, reference, touched, shows))
        left = [one for one in left if not _touches(one, node, way)]
    return found


def _touches(one: Measured, node: str, way: str) -> bool:
    return (way != RECEIVES and one.source == node) or (way != SENDS and one.target == node)


def _least_likely(measured: Sequence[Measured], limit: float) -> tuple[str, str] | None:
    counts = _counts(measured, limit)
    nodes = {node for its in counts.values() for node in its}
    if not any(count.slow >= LEAST_ROUNDS for its in counts.values() for count in its.values()):
        return None
    worst = sorted(nodes, key=lambda node: -sum(counts[way].get(node, NONE).slow for way in (SENDS, RECEIVES)))
    trimmed = set(worst[: ceil(TRIMMED * len(worst))])
    usual = _counts([one for one in measured if trimmed.isdisjoint((one.source, one.target))], limit)
    chances = {way: max(LEAST_CHANCE[way], _share(usual[way].values())) for way in WAYS}
    allowed = BY_CHANCE / (len(WAYS) * len(nodes))
    likely: dict[str, tuple[float, str]] = {}
    for way in WAYS:
        for node, count in counts[way].items():
            if count.slow < LEAST_ROUNDS:
                continue
            chance = at_least(count.slow, count.rounds, chances[way])
            if chance < allowed and (node not in likely or likely[node][1] != BOTH):
                likely[node] = min(likely.get(node, (1.0, way)), (chance, way))
    if not likely:
        return None
    node = min(likely, key=lambda name: likely[name][0])
    return node, likely[node][1]


def _counts(measured: Sequence[Measured], limit: float) -> dict[str, dict[str, Count]]:
    """By direction and node: its rounds, and those that were slow; of `both` those that were slow to and fro."""
    rounds: dict[tuple[str, str, int], dict[str, bool]] = {}
    counts: dict[str, dict[str, Count]] = {way: {} for way in WAYS}
    for one in measured:
        is_slow = one.bandwidth_bytes_per_second < limit
        for way in (SENDS, RECEIVES):
            _add(counts[way], one.end(way), is_slow)
            rounds.setdefault((one.end(way), one.partner(way), one.round), {})[way] = is_slow
    for (node, _, _), ways in rounds.items():
        if len(ways) == 2:
            _add(counts[BOTH], node, all(ways.values()))
    return counts


def _add(counts: dict[str, Count], node: str, is_slow: bool) -> None:
    before = counts.get(node, NONE)
    counts[node] = Count(before.rounds + 1, before.slow + is_slow)


def _share(counts: Iterable[Count]) -> float:
    known = list(counts)
    rounds = sum(count.rounds for count in known)
    return sum(count.slow for count in known) / rounds if rounds else 0.0


@lru_cache(maxsize=4096)
def at_least(slow: int, rounds: int, chance: float) -> float:
    """How likely that many of the rounds, or more, are slow by chance (binomial)."""
    return sum(comb(rounds, k) * chance**k * (1 - chance) ** (rounds - k) for k in range(slow, rounds + 1))
