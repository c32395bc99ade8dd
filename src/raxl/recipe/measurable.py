"""Which of a recipe's expectations raxl can measure here, and how; of the others, why not. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from raxl.model.measurement import P2P, Run
from raxl.model.recipe import OWN_BASELINE, Expectation

PATTERNS = {
    "p2p": P2P,
    "copy": P2P,
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "all_to_all": "all-to-all",
    "broadcast": "broadcast",
}
"""By an expectation's collective, what raxl calls it."""
UNSIZED = 64 << 20
"""At which a figure is measured that was published without a size."""
_SHOWN_ONLY = ("illustrative", "theoretical")
_FORCED = ("NCCL_ALGO", "RCCL_ALGO")


class Place(NamedTuple):
    """Where is measured."""

    nodes: tuple[str, ...]
    """Ray's ids of the cluster's nodes; one name alone for this machine."""
    is_cluster: bool
    transports: Mapping[str, Sequence[str]]
    """By name, those that raxl has, and the patterns that each does."""
    variables: Mapping[str, str]
    """Those that are in force."""


class Wish(NamedTuple):
    """One run of the benchmark."""

    pattern: str
    nodes: int
    pairs: str
    """As `raxl bench-transport --pairs` takes it."""
    transports: tuple[str, ...]
    sizes: tuple[int, ...]


class Measured(NamedTuple):
    """What came of a wish."""

    wish: Wish
    runs: tuple[Run, ...] = ()
    failed: str | None = None
    """Why nothing could be measured at all."""

    def rows(self, one: Expectation) -> list[Run]:
        """The rows that belong to an expectation."""
        if (self.wish.pattern, self.wish.nodes) != (PATTERNS.get(one.collective), one.nodes):
            return []
        size = one.size_bytes or UNSIZED
        return [run for run in self.runs if run.transport == one.transport and run.size_bytes == size]

    def is_about(self, one: Expectation) -> bool:
        """Whether it was made for the expectation."""
        wish = self.wish
        asked = (PATTERNS.get(one.collective), one.nodes)
        return (wish.pattern, wish.nodes) == asked and one.transport in wish.transports


def wishes(expectations: Iterable[Expectation], place: Place) -> tuple[list[Wish], dict[str, str]]:
    """The runs to be made, and by expectation's id why it is not measured."""
    found: dict[tuple[str, int], list[Expectation]] = {}
    refused: dict[str, str] = {}
    for one in expectations:
        why = _refusal(one, place)
        if why is not None:
            refused[one.id] = why
        else:
            found.setdefault((PATTERNS[one.collective], one.nodes), []).append(one)
    return [_wish(pattern, nodes, wanted, place) for (pattern, nodes), wanted in found.items()], refused


def never(one: Expectation) -> str | None:
    """Why an expectation is held nowhere, whatever is measured; None where it is."""
    if one.kind in _SHOWN_ONLY:
        return f"it is {one.kind}: shown, and held by nothing"
    if one.value is None and one.kind != OWN_BASELINE:
        return f"nobody published a figure{f' ({one.unverified})' if one.unverified else ''}"
    return None


def _refusal(one: Expectation, place: Place) -> str | None:
    if (why := never(one)) is not None:
        return why
    if one.transport is None or one.transport not in place.transports:
        named = f"called {one.transport}" if one.transport else "that measures it"
        return f"raxl has no transport {named}"
    pattern = PATTERNS.get(one.collective)
    if pattern is None or pattern not in place.transports[one.transport]:
        return f"{one.transport} does no {one.collective}"
    if one.nodes > len(place.nodes):
        return f"it needs {one.nodes} nodes, and {_there(place)}"
    if pattern != P2P and one.nodes not in (1, 2, len(place.nodes)):
        return f"it is of {one.nodes} nodes, and raxl measures it between two or among all {len(place.nodes)}"
    return _unlike(one, pattern) or _unforced(one, place)


def _there(place: Place) -> str:
    if not place.is_cluster:
        return "this machine is one: raxl recipe verify --cluster measures between nodes"
    return f"the cluster has {len(place.nodes)}"


def _unlike(one: Expectation, pattern: str) -> str | None:
    """That raxl's ends are fewer than the ranks that made the figure: it says nothing of theirs."""
    ends = 2 if pattern == P2P else max(2, one.nodes)
    if pattern == P2P and one.nodes > 2:
        return f"a transfer has two ends, and it is of {one.nodes} nodes"
    if one.ranks != ends:
        each = "one on each node" if one.nodes > 1 else "two on a node"
        return f"it is of {one.ranks} ranks, and raxl measures with {ends}, {each}: the library's own tests measure it"
    return None


def _unforced(one: Expectation, place: Place) -> str | None:
    if one.algorithm is None:
        return None
    forced = next((place.variables[name] for name in _FORCED if name in place.variables), None)
    if forced is not None and forced.lower() == one.algorithm.lower():
        return None
    here = f"forced to {forced}" if forced else "left to the library"
    return f"it was forced to {one.algorithm}, which is {here} here"


def _wish(pattern: str, nodes: int, wanted: Sequence[Expectation], place: Place) -> Wish:
    return Wish(
        pattern,
        nodes,
        _pairs(nodes, place),
        tuple(dict.fromkeys(one.transport for one in wanted if one.transport)),
        tuple(sorted({one.size_bytes or UNSIZED for one in wanted})),
    )


def _pairs(nodes: int, place: Place) -> str:
    """Each node once as a source and once as a target, so that none is left out and the time grows with their number;
    all where all take part at once."""
    ids = place.nodes
    if not place.is_cluster or len(ids) == 1 or nodes > 2:
        return "all"
    step = nodes - 1
    return ",".join(f"{one}:{ids[(number + step) % len(ids)]}" for number, one in enumerate(ids))
