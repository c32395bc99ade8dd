"""`--pairs screen`: a few rounds of disjoint pairs over all nodes, and who is slow in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from raxl.bench import ceilings, judge, proof, schedule, screening
from raxl.bench.conducting import Conducting
from raxl.bench.readings import Ends, Row
from raxl.bench.schedule import Place
from raxl.bench.scores import Measured
from raxl.model.measurement import Path, Run, Slow
from raxl.transfer import Taken, Transfer
from raxl.transfer.statistics import median

TRANSPORT = "tcp"
"""What every node has. Slow nodes and cables show in it; what is slow in one library alone does not."""
PART_BYTES = 2 << 20
SECONDS = 0.3
"""A direction of a pair, in each round."""
_SETUP_SECONDS = 120.0
_RACK, _BLOCK = "raxl/rack", "raxl/block"
"""Labels of Ray's nodes that say where a node stands; a leaf switch is a rack's, or a block's."""


class Screened(NamedTuple):
    """What the rounds gave."""

    runs: list[Run]
    slow: tuple[Slow, ...]
    lost: dict[str, str]
    """By name, why a node took no part to the end."""


def screen(
    conducting: Conducting, nodes: Sequence[Mapping[str, Any]], looked: Mapping[str, Mapping[str, Any]]
) -> Screened:
    """All nodes in a few rounds."""
    names = {node["id"]: str(node["name"]) for node in nodes}
    rounds = schedule.screening(list(names))
    limit = _SETUP_SECONDS + len(rounds) * (4 * SECONDS + 5.0)
    sent: list[dict[str, Any]] = []
    carried: dict[str, Mapping[str, tuple[int, int]]] = {}
    lost: dict[str, str] = {}
    for word, told in conducting.ask(
        "screen", limit + 30.0, rounds=rounds, part_bytes=PART_BYTES, seconds=SECONDS, limit=limit
    ):
        if word == "sent":
            sent.append(told)
        elif word == "carried":
            carried[told["id"]] = told["moved"]
        elif word == "lost":
            lost[names[told["id"]]] = told["why"]
    measured = [_measured(one, names) for one in sent if one["samples"]]
    ways = {node: _way(node, sent, carried.get(node), looked) for node in names}
    runs = [_run(one, names, looked, ways[one["peer"]]) for one in sent]
    found = screening.slow(measured, _ceiling(looked), _places(nodes), TRANSPORT)
    return Screened(runs, found, lost)


def _measured(one: Mapping[str, Any], names: Mapping[str, str]) -> Measured:
    rate = PART_BYTES / median(one["samples"])
    return Measured(one["round"], names[one["source"]], names[one["peer"]], rate, len(one["samples"]))


def _way(
    node: str,
    sent: Sequence[Mapping[str, Any]],
    carried: Mapping[str, tuple[int, int]] | None,
    looked: Mapping[str, Mapping[str, Any]],
) -> Path | None:
    """Which way all that this node received came, in all rounds together: rounds follow each other too closely for
    counters of their own."""
    parts = sum(len(one["samples"]) + 1 for one in sent if one["peer"] == node and one["samples"])
    if carried is None or not parts:
        return None
    own = looked.get(node, {})
    row = Row(TRANSPORT, (node,), Transfer(PART_BYTES), "network", Taken(transfers=parts), (carried,))
    return proof.path(row, Ends(own, own, is_one_node=False), PART_BYTES * parts)


def _run(
    one: Mapping[str, Any], names: Mapping[str, str], looked: Mapping[str, Mapping[str, Any]], way: Path | None
) -> Run:
    """One direction of one pair in one round, judged as any other row."""
    count = len(one["samples"])
    taken = Taken(samples=one["samples"], transfers=count + 1, warmup=1, stopped="time") if count else None
    ends = (names[one["source"]], names[one["peer"]])
    row = Row(TRANSPORT, ends, Transfer(PART_BYTES), "network", taken, failed=one["error"])
    known = Ends(looked.get(one["source"], {}), looked.get(one["peer"], {}), is_one_node=False)
    return judge.run(row, known, {}, way)


def _ceiling(looked: Mapping[str, Mapping[str, Any]]) -> float | None:
    """What the line of most nodes carries; None where not all say it."""
    bounds = [ceilings.of_line(Ends(one, one, is_one_node=False)) for one in looked.values()]
    rates = [bound.bandwidth_bytes_per_second for bound in bounds if bound is not None]
    return median(rates) if rates and len(rates) == len(bounds) else None


def _places(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Place]:
    """Where the nodes stand whose labels say it."""
    leaves = {str(node["name"]): node["labels"].get(_RACK) or node["labels"].get(_BLOCK) for node in nodes}
    return {name: Place(leaf=leaf) for name, leaf in leaves.items() if leaf}
