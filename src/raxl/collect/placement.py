"""Where a node stands, from all who say something of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Sequence

from raxl.model.placement import Placement
from raxl.model.problem import DISAGREEMENT, Problem


def merged(told: Sequence[Placement]) -> tuple[Placement, tuple[Problem, ...]]:
    """Each value by whoever says it first, and a problem for each that two say differently."""
    best: dict[str, Any] = {}
    problems = []
    for field in (one.name for one in fields(Placement) if one.name != "evidence"):
        said = [(", ".join(one.evidence), value) for one in told if (value := getattr(one, field)) is not None]
        if said:
            best[field] = said[0][1]
        if len({value for _, value in said}) > 1:
            words = ", ".join(f"{evidence} says {value}" for evidence, value in said)
            problems.append(Problem(f"placement.{field}", DISAGREEMENT, words, tuple(one for one, _ in said)))
    evidence = dict.fromkeys(name for one in told if one != Placement() for name in one.evidence)
    return Placement(**best, evidence=tuple(evidence)), tuple(problems)
