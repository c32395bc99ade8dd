"""Links that are slow though the nodes at their ends are not: groups of the topology, and single pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from raxl.bench.accused import LINK, Accused, unexplained
from raxl.bench.schedule import Place
from raxl.bench.scores import BOTH, SENDS, SLOW_SHARE, Measured, judged
from raxl.transfer.statistics import median

LEAST_FIGURES = 5
"""A group is judged by the median of as many figures: two that stalled do not move it."""
LEAST_PAIRS = 2
LEAST_TRANSFERS = 3
"""One pair is judged by as many transfers, over all its rounds."""
LEAST_OF_A_KIND = 3
"""Fewer groups of a kind are held against those of the other kind too: of two leaves there is one way to and fro."""
AGAIN = 3


class Group(NamedTuple):
    """Figures that share a link: within a leaf or rail, or from one to another."""

    kind: str
    """leaf | rail"""
    source: str
    target: str

    @property
    def is_inside(self) -> bool:
        return self.source == self.target

    def subject(self) -> str:
        name = f"{self.kind} {self.source}"
        return name if self.is_inside else f"{name} → {self.kind} {self.target}"


def groups(
    measured: Sequence[Measured], places: Mapping[str, Place], few: float | None, nodes: Sequence[Accused] = ()
) -> list[Accused]:
    """Groups whose median is under 90 % of that of their kind, leaves before rails.

    Ways inside a leaf are held against each other, and ways between leaves likewise. What slow `nodes` touch judges no
    group; but a slow group explains it too.
    """
    found: list[Accused] = []
    for kind in ("leaf", "rail"):
        left = unexplained(measured, found)
        found += _groups_of(_grouped(kind, unexplained(left, nodes), places), _grouped(kind, left, places), few)
    return found


def _grouped(kind: str, measured: Sequence[Measured], places: Mapping[str, Place]) -> dict[Group, list[Measured]]:
    figures: dict[Group, list[Measured]] = {}
    for one in measured:
        source, target = (getattr(places.get(end, Place()), kind) for end in (one.source, one.target))
        if source is not None and target is not None:
            figures.setdefault(Group(kind, source, target), []).append(one)
    return figures


def _groups_of(
    figures: Mapping[Group, Sequence[Measured]], touched: Mapping[Group, Sequence[Measured]], few: float | None
) -> list[Accused]:
    scores = {
        group: median(one.bandwidth_bytes_per_second for one in its)
        for group, its in figures.items()
        if len(its) >= LEAST_FIGURES and len({frozenset((one.source, one.target)) for one in its}) >= LEAST_PAIRS
    }
    slow: dict[Group, float] = {}
    for some in _of_a_kind(scores):
        rule = judged(some, few, SLOW_SHARE)
        slow |= {group: rule.reference for group, score in some.items() if score < rule.limit}
    return [_accused(group, others, slow[group], scores, touched) for group, others in _both_ways(slow)]


def _of_a_kind(scores: Mapping[Group, float]) -> list[dict[Group, float]]:
    inside = {group: score for group, score in scores.items() if group.is_inside}
    between = {group: score for group, score in scores.items() if not group.is_inside}
    if min(len(inside), len(between)) < LEAST_OF_A_KIND:
        return [dict(scores)]
    return [inside, between]


def _both_ways(slow: Mapping[Group, float]) -> Iterator[tuple[Group, tuple[Group, ...]]]:
    """A way, with the way back where that is slow too."""
    done: set[Group] = set()
    for group in sorted(slow):
        back = Group(group.kind, group.target, group.source)
        if group not in done:
            ways = (group, back) if back in slow and back != group else (group,)
            done.update(ways)
            yield group, ways


def _accused(
    group: Group,
    ways: tuple[Group, ...],
    reference: float,
    scores: Mapping[Group, float],
    figures: Mapping[Group, Sequence[Measured]],
) -> Accused:
    touched = tuple(one for way in ways for one in figures[way])
    shows = tuple(one for one in touched if one.bandwidth_bytes_per_second < SLOW_SHARE * reference)
    return Accused(
        LINK,
        group.subject(),
        BOTH if len(ways) == 2 or group.is_inside else SENDS,
        max(scores[way] for way in ways),
        reference,
        touched,
        shows,
        tuple(dict.fromkeys((one.source, one.target) for one in shows))[:AGAIN],
    )


def single(measured: Sequence[Measured], few: float | None) -> list[Accused]:
    """Pairs whose best round is under 90 % of what pairs have, each of at least three transfers."""
    figures: dict[tuple[str, str], list[Measured]] = {}
    for one in measured:
        figures.setdefault((one.source, one.target), []).append(one)
    scores = {
        pair: max(one.bandwidth_bytes_per_second for one in its)
        for pair, its in figures.items()
        if sum(one.transfers for one in its) >= LEAST_TRANSFERS
    }
    if few is not None:
        reference, limit = few, SLOW_SHARE * few
    else:
        reference, limit = judged(scores, None, SLOW_SHARE)
    slow = [pair for pair, score in scores.items() if score < limit]
    return [_pair(ways, reference, scores, figures) for ways in _to_and_fro(slow)]


def _to_and_fro(slow: Iterable[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    found: dict[frozenset[str], list[tuple[str, str]]] = {}
    for pair in slow:
        found.setdefault(frozenset(pair), []).append(pair)
    return [sorted(ways) for ways in found.values()]


def _pair(
    ways: Sequence[tuple[str, str]],
    reference: float,
    scores: Mapping[tuple[str, str], float],
    figures: Mapping[tuple[str, str], Sequence[Measured]],
) -> Accused:
    source, target = ways[0]
    touched = tuple(one for way in ways for one in figures[way])
    return Accused(
        LINK,
        f"{source} → {target}",
        BOTH if len(ways) == 2 else SENDS,
        max(scores[way] for way in ways),
        reference,
        touched,
        tuple(one for one in touched if one.bandwidth_bytes_per_second < SLOW_SHARE * reference),
        ((source, target),),
    )
