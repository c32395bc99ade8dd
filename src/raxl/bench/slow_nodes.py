"""Nodes that are slow in every round, by direction."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.bench.accused import NODE, Accused
from raxl.bench.scores import BOTH, RECEIVES, SENDS, SLOW_SHARE, Judged, Measured, best, judged

LEAST_PARTNERS = 2
"""Of a node that met one partner alone nobody can say whether it, the partner or the link is slow."""
LEAST_ROUNDS = 4
"""With fewer, noise alone takes the best of a healthy node below 95 % too often: it must be below 90 %."""


def find(measured: Sequence[Measured], few: float | None) -> list[Accused]:
    """Nodes whose best round is too far below that of the others; `few` is what fewer than eight are held against."""
    if not measured:
        return []
    scores = {direction: best(measured, direction) for direction in (SENDS, RECEIVES)}
    rules = {direction: judged(scores[direction], few) for direction in scores}
    met: dict[tuple[str, str], list[str]] = {}
    for one in measured:
        for direction in scores:
            met.setdefault((direction, one.end(direction)), []).append(one.partner(direction))
    ways: dict[str, list[str]] = {}
    for direction, score in scores.items():
        for node, value in score.items():
            partners = met[direction, node]
            if value < _limit(rules[direction], len(partners)) and len(set(partners)) >= LEAST_PARTNERS:
                ways.setdefault(node, []).append(direction)
    return [_accused(node, slow, measured, scores, rules) for node, slow in ways.items()]


def _accused(
    node: str,
    ways: Sequence[str],
    measured: Sequence[Measured],
    scores: dict[str, dict[str, float]],
    rules: dict[str, Judged],
) -> Accused:
    worst = min(ways, key=lambda way: scores[way][node] / (rules[way].reference or 1))
    touched = tuple(one for one in measured if any(one.end(way) == node for way in ways))
    return Accused(
        NODE,
        node,
        BOTH if len(ways) == 2 else ways[0],
        max(scores[way][node] for way in ways),
        rules[worst].reference,
        touched,
        tuple(one for one in touched if one.bandwidth_bytes_per_second < _rounds_limit(rules[worst])),
    )


def _limit(rule: Judged, rounds: int) -> float:
    return rule.limit if rounds >= LEAST_ROUNDS else min(rule.limit, SLOW_SHARE * rule.reference)


def _rounds_limit(rule: Judged) -> float:
    return max(rule.limit, SLOW_SHARE * rule.reference)
