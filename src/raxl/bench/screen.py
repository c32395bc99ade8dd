"""`--pairs screen`: a few rounds of disjoint pairs over all nodes, and who is slow in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from raxl.bench import ceilings, judge, proof, schedule, screening
from raxl.bench.conducting import Conducting
from raxl.bench.readings import Ends, Row
from raxl.bench.schedule import Place
from raxl.bench.scores import BOTH, Measured
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


class _Pass(NamedTuple):
    """What some rounds told: by end what it sent, and what each node's devices carried."""

    sent: list[dict[str, Any]]
    carried: dict[str, Mapping[str, tuple[int, int]]]
    lost: dict[str, str]


def screen(
    conducting: Conducting, nodes: Sequence[Mapping[str, Any]], looked: Mapping[str, Mapping[str, Any]]
) -> Screened:
    """All nodes in a few rounds, then the leaves and what joins them, then what was slow by itself."""
    names = {str(node["id"]): str(node["name"]) for node in nodes}
    ids = {name: node for node, name in names.items()}
    places, ceiling = _places(nodes), _ceiling(looked)
    rounds = schedule.screening(list(names.values()))
    passes = [_ask(conducting, rounds, ids)]
    found = screening.slow(_all(passes, names), ceiling, places, TRANSPORT)
    if len({place.leaf for place in places.values()}) > 1:
        again = schedule.by_topology(places, without=[one.subject for one in found])
        passes.append(_ask(conducting, again, ids, after=len(rounds)))
        found = screening.slow(_all(passes, names), ceiling, places, TRANSPORT)
    runs = [run for one in passes for run in _runs(one, names, looked)]
    lost = {names[node]: why for one in passes for node, why in one.lost.items()}
    return Screened(runs, tuple(_alone(conducting, one, ids, names) for one in found), lost)


def _ask(conducting: Conducting, rounds: Sequence[schedule.Round], ids: Mapping[str, str], after: int = 0) -> _Pass:
    """Has the nodes meet in these rounds of names; `after` rounds that were before."""
    told = _Pass([], {}, {})
    limit = _SETUP_SECONDS + len(rounds) * (4 * SECONDS + 5.0)
    given = [[(ids[first], ids[second]) for first, second in pairs] for pairs in rounds]
    for word, values in conducting.ask(
        "screen", limit + 30.0, rounds=given, part_bytes=PART_BYTES, seconds=SECONDS, limit=limit
    ):
        if word == "sent":
            told.sent.append({**values, "round": values["round"] + after})
        elif word == "carried":
            told.carried[values["id"]] = values["moved"]
        elif word == "lost":
            told.lost[values["id"]] = values["why"]
    return told


def _alone(conducting: Conducting, one: Slow, ids: Mapping[str, str], names: Mapping[str, str]) -> Slow:
    """With what its pairs reach one at a time: still slow is a node or a cable, fast is a link that too many share."""
    pairs = [pair for pair in _pairs_of(one) if pair[0] in ids and pair[1] in ids]
    if not pairs:
        return one
    measured = _all([_ask(conducting, schedule.alone(pairs), ids)], names)
    wanted = set(pairs) if one.direction != BOTH else {*pairs, *((b, a) for a, b in pairs)}
    rates = [figure.bandwidth_bytes_per_second for figure in measured if (figure.source, figure.target) in wanted]
    if not rates:
        return one
    alone, known = median(rates), one.evidence
    when = screening.slow_when(known.best_bytes_per_second, alone, known.peers_bytes_per_second)
    return replace(one, evidence=replace(known, alone_bytes_per_second=alone, slow_when=when))


def _pairs_of(one: Slow) -> list[tuple[str, str]]:
    """The pairs that showed it, in the direction in which they were slow."""
    shown = [words.rpartition(" ")[0].split(" → ") for words in one.evidence.pairs]
    return list(dict.fromkeys((pair[0], pair[1]) for pair in shown if len(pair) == 2))


def _all(passes: Sequence[_Pass], names: Mapping[str, str]) -> list[Measured]:
    return [_measured(sent, names) for one in passes for sent in one.sent if sent["samples"]]


def _runs(one: _Pass, names: Mapping[str, str], looked: Mapping[str, Mapping[str, Any]]) -> list[Run]:
    ways = {node: _way(node, one.sent, one.carried.get(node), looked) for node in names}
    return [_run(sent, names, looked, ways[sent["peer"]]) for sent in one.sent]


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
