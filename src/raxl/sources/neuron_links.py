"""NeuronLink between Neuron devices, by the numbers that each names as its neighbours."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.model.report import LinkClaim
from raxl.sources.neuron_names import FAMILY
from raxl.sources.numbers import whole

MOST_DEVICES = 256


def links_of(told: Mapping[int, Optional[Sequence[int]]], evidence: str) -> Tuple[List[LinkClaim], List[Problem]]:
    """Links by the numbers of each device's neighbours; None where they are not told."""
    pairs = {(min(a, b), max(a, b)) for a, near in told.items() for b in near or () if a != b and b in told}
    away = sorted({b for near in told.values() for b in near or () if b not in told})
    one_sided = [(a, b) for a, b in sorted(pairs) if any(x not in (told[y] or [x]) for x, y in ((a, b), (b, a)))]
    problems = []
    if away:
        words = f"links lead to {len(away)} devices that {evidence} does not list: {', '.join(map(str, away[:32]))}"
        problems.append(Problem("accelerators", DISAGREEMENT, words, (evidence,)))
    if one_sided:
        words = ", ".join(f"{a}–{b}" for a, b in one_sided[:16])
        problems.append(Problem("links", DISAGREEMENT, f"links that one end alone names: {words}", (evidence,)))
    name = FAMILY.vendor
    found = [
        LinkClaim(f"{name}#{a}", f"{name}#{b}", fabric_class("neuron", None), "neuron", evidence=evidence)
        for a, b in sorted(pairs)
    ]
    return found, problems


def neighbours(said: Any) -> Optional[List[int]]:
    """The numbers of the devices at the other ends: a list, or `12, 3, 4, 1`; None where nothing is said."""
    words = said if isinstance(said, list) else str(said or "").split(",")
    numbers = [number(word, MOST_DEVICES) for word in words[:MOST_DEVICES]]
    return [found for found in numbers if found is not None] or None


def number(said: Any, most: int) -> Optional[int]:
    """A whole number of JSON or of a table's cell; None for anything else."""
    return None if isinstance(said, bool) else whole(str(said), most)
