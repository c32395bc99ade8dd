"""Which pairs are measured at the same time. In a round every end has one partner at most.

A pair is measured in both directions. Plans depend on the names and the seed alone, so that every node can compute its
own, and a run can be repeated.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from math import lcm
from typing import NamedTuple

Pair = tuple[str, str]
Round = tuple[Pair, ...]

SMALL = 8
"""With fewer ends than this no outlier can be told from the spread: every pair is measured, three times."""
FEW = 16
REPEATS, ROUNDS_OF_FEW, ROUNDS = 3, 4, 6
PAIRS_OF_GROUP = 6
"""How many pairs stand for a group of links."""


class Place(NamedTuple):
    """Where an end is in the fabric; None where it is not known."""

    leaf: str | None = None
    rail: str | None = None


def all_pairs(ends: Sequence[str]) -> tuple[Round, ...]:
    """Every pair once, in N-1 rounds of N/2 (the circle method); with an odd N in N rounds, one end resting in each."""
    return tuple(_round(ends, number) for number in range(_rounds(len(ends))))


def screening(ends: Sequence[str], seed: int = 0, rounds: int | None = None) -> tuple[Round, ...]:
    """Few rounds that show which end is slow: each end meets another partner in each.

    Six rounds, four of up to sixteen ends; below eight ends, every pair three times. Drawn from all pairs of a
    shuffled circle.
    """
    whole = _rounds(len(ends))
    if rounds is None:
        rounds = REPEATS * whole if len(ends) < SMALL else ROUNDS_OF_FEW if len(ends) <= FEW else ROUNDS
    draw = random.Random(seed)  # noqa: S311 (a plan, no secret)
    mixed = draw.sample(list(ends), len(ends))
    numbers: list[int] = []
    while whole and len(numbers) < rounds:
        numbers += draw.sample(range(whole), whole)
    return tuple(_round(mixed, number) for number in numbers[:rounds])


def _rounds(count: int) -> int:
    return 0 if count < 2 else count - 1 + count % 2


def _round(ends: Sequence[str], number: int) -> Round:
    """One round of the circle: the last stays, the others turn; whoever is met by itself meets the last, or rests."""
    turning = _rounds(len(ends))
    fixed = ends[-1] if len(ends) % 2 == 0 else None
    pairs = []
    for first in range(turning):
        second = (number - first) % turning
        if first < second:
            pairs.append((ends[first], ends[second]))
        elif first == second and fixed is not None:
            pairs.append((ends[first], fixed))
    return tuple(pairs)


def by_topology(
    places: Mapping[str, Place], seed: int = 0, each: int = PAIRS_OF_GROUP, without: Collection[str] = ()
) -> tuple[Round, ...]:
    """Pairs that show which link is slow: `each` of every leaf, of every two leaves, every rail and every two rails.

    `without` are ends that are known to be slow: what they measure says nothing of a link. A group with fewer pairs
    gives all of them, and several times where that makes `each`.
    """
    draw = random.Random(seed)  # noqa: S311 (a plan, no secret)
    wanted: list[Pair] = []
    for names in (
        {end: place.leaf for end, place in places.items() if place.leaf is not None and end not in without},
        {end: place.rail for end, place in places.items() if place.rail is not None and end not in without},
    ):
        members: dict[str, list[str]] = {}
        for end in sorted(names):
            members.setdefault(names[end], []).append(end)
        for group in members.values():
            draw.shuffle(group)
            wanted += _inside(group, each)
        for one, other in combinations(members.values(), 2):
            wanted += _between(one, other, each)
    return packed(wanted)


def _inside(members: Sequence[str], each: int) -> list[Pair]:
    """Pairs of one group, every end as often as another; few pairs come several times."""
    rounds = _rounds(len(members))
    pairs: list[Pair] = []
    number = 0
    while rounds and len(pairs) < each:
        pairs += _round(members, number % rounds)
        number += 1
    return pairs[:each]


def _between(one: Sequence[str], other: Sequence[str], each: int) -> list[Pair]:
    """Pairs of two groups, likewise."""
    turn = lcm(len(one), len(other))
    return [(one[n % len(one)], other[(n + n // turn) % len(other)]) for n in range(each)]


def packed(pairs: Iterable[Pair]) -> tuple[Round, ...]:
    """Each into the first round in which both ends are free: what runs at once tests the fabric."""
    rounds: list[list[Pair]] = []
    busy: list[set[str]] = []
    for pair in pairs:
        free = next((number for number, ends in enumerate(busy) if ends.isdisjoint(pair)), len(rounds))
        if free == len(rounds):
            rounds.append([])
            busy.append(set())
        rounds[free].append(pair)
        busy[free].update(pair)
    return tuple(map(tuple, rounds))


def alone(pairs: Iterable[Pair]) -> tuple[Round, ...]:
    """Each by itself: what runs alone tests its ends and its cable."""
    return tuple((pair,) for pair in pairs)
