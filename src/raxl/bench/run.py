"""One run of `raxl bench-transport`: pairs, transports and sizes, in the time that was given."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from raxl import __version__
from raxl.bench import applicable, casting, compare, faults, fitting, judge, plugged, recommend, room, schedule, screen
from raxl.bench.conducting import Conducting
from raxl.bench.readings import Ends, Row
from raxl.bench.request import ALL, LATENCY_SIZES, PARTITION, SCREEN, Request
from raxl.collect import clock
from raxl.errors import UsageError
from raxl.model.measurement import COLLECTIVES, FAILED, P2P, WEIGHT_SYNC, Bench, Fault, Run, Sync
from raxl.model.schemas import BENCH
from raxl.transfer import TARGET, Taken, Transfer
from raxl.transfer.sync import patience

if TYPE_CHECKING:
    from raxl.transports import TransportPlugin

_LEAST_STORE, _STORE_SHARE = 256 << 20, 0.3
_PREFIXES = ("UCX_", "NCCL_", "RCCL_", "GLOO_", "FI_")
_ROW_SECONDS = (0.2, 3.0)
_SETUP_SECONDS = 90.0
"""A worker on a busy node, a library that is imported there, and its first connection."""
_NO_LISTS = "it moves no lists of tensors"
_SAMPLES = ((64 << 10, 200), (1 << 20, 50), (64 << 20, 15), (1 << 60, 7))
"""How often a size is repeated at most."""

Progress = Callable[[int, int, str], None]


class Pair(NamedTuple):
    """Two nodes, the source first; the same one twice within a node."""

    source: Mapping[str, Any]
    target: Mapping[str, Any]
    ranks: Sequence[Mapping[str, Any]] = ()
    """Of a collective: all nodes, of which the two are the first and the last."""
    cast: casting.Cast | None = None
    """Of weight-sync: the actors' nodes, of which the two are the first trainer's and the first reader's."""

    @property
    def nodes(self) -> Sequence[Mapping[str, Any]]:
        """Where the ends are."""
        if self.cast is not None:
            return (*self.cast.trainers, *self.cast.readers)
        return self.ranks or (self.source, self.target)


def bench(request: Request, progress: Progress = lambda done, total, words: None) -> Bench:
    """Everything that was measured. Raises where there is no cluster to be joined."""
    entries = plugged.entries(request)
    plugins = plugged.loaded(entries)
    variables = {**_given(request), **(faults.VARIABLES if request.fault else {})}
    with Conducting(request.address, entries, _store_bytes(request), variables, request.unset) as conducting:
        nodes = conducting.nodes()
        is_screening = request.pairs == SCREEN and len(nodes) > 1 and request.pattern == P2P
        pairs = [] if is_screening else _pairs(nodes, _wanted(request), request.pattern, request.actors)
        if request.fault == PARTITION:
            _refuse_within(pairs)
        looked = _looked(conducting, nodes if is_screening else _taking_part(pairs))
        document = Bench(
            schema=BENCH,
            raxl_version=__version__,
            created=clock.now(),
            environment={"nodes": {node["name"]: looked[node["id"]] for node in nodes if node["id"] in looked}},
        )
        if request.fault:
            return replace(document, faults=list(_hurt(conducting, request, plugins, pairs, looked)))
        if is_screening:
            document = _screened(document, screen.screen(conducting, nodes, looked))
        else:
            runs = _judged(_rows(conducting, request, plugins, pairs, progress, looked), looked)
            document = replace(document, runs=runs, fits=fitting.fits(runs))
    if request.wants_recommendations:
        document = replace(document, recommendations=recommend.recommendations(document.runs))
    if request.baseline is not None:
        found_worse = compare.regressions(request.baseline, document, request.tolerance)
        document = replace(document, regressions=found_worse)
    return document


def _screened(document: Bench, found: screen.Screened) -> Bench:
    told = {**document.environment, "screen": {"transport": screen.TRANSPORT, "lost": found.lost}}
    return replace(document, environment=told, runs=found.runs, slow=found.slow)


def _hurt(
    conducting: Conducting,
    request: Request,
    plugins: Mapping[str, TransportPlugin],
    pairs: Sequence[Pair],
    looked: Mapping[str, Mapping[str, Any]],
) -> Iterator[Fault]:
    for pair in pairs:
        for name, plugin in plugins.items():
            transfer = faults.transfer(request)
            lacking = _lacking(pair, plugin, [transfer], looked)
            if plugin.way == TARGET:
                yield faults.not_tried(request, name, pair.nodes, applicable.ONE_END)
            elif lacking:
                yield faults.not_tried(request, name, pair.nodes, lacking[transfer.size_bytes], FAILED)
            else:
                yield faults.fault(conducting, request, name, pair.nodes)


def _refuse_within(pairs: Sequence[Pair]) -> None:
    """Raises UsageError for a pair that no partition can part."""
    for pair in pairs:
        if pair.source["id"] == pair.target["id"]:
            raise UsageError("--fault partition needs two nodes", f"both ends are on {pair.source['name']}")


def _wanted(request: Request) -> str:
    """Of a single node there is nothing to be screened."""
    return ALL if request.pairs == SCREEN else request.pairs


def _taking_part(pairs: Sequence[Pair]) -> list[Mapping[str, Any]]:
    return list({node["id"]: node for pair in pairs for node in pair.nodes}.values())


def _given(request: Request) -> dict[str, str]:
    """What this command's own environment says to the libraries, which is said at the ends too, and what it was asked
    to say there."""
    own = {name: value for name, value in os.environ.items() if name.startswith(_PREFIXES)}
    return {**{name: value for name, value in own.items() if name not in request.unset}, **request.variables}


def _pairs(
    nodes: Sequence[Mapping[str, Any]], wanted: str, pattern: str, actors: tuple[int, int] = (1, 1)
) -> list[Pair]:
    """Both directions of every pair, or the ones that were named. A collective has an end on each node, and two on the
    only one; the actors of weight-sync are over all nodes, or those of each pair. Raises UsageError for a node that is
    not there."""
    if pattern == WEIGHT_SYNC:
        within = [casting.ordered(nodes)] if wanted == ALL else [_named(nodes, word)[:2] for word in wanted.split(",")]
        return [_cast(of_pair, actors) for of_pair in within]
    if wanted != ALL:
        return [_named(nodes, word) for word in wanted.split(",")]
    if pattern in COLLECTIVES and len(nodes) > 1:
        return [Pair(nodes[0], nodes[-1], tuple(nodes))]
    if len(nodes) == 1:
        return [Pair(nodes[0], nodes[0])]
    by_id = {node["id"]: node for node in nodes}
    rounds = schedule.all_pairs(list(by_id))
    both = [way for pairs in rounds for first, second in pairs for way in ((first, second), (second, first))]
    return [Pair(by_id[source], by_id[target]) for source, target in both]


def _cast(nodes: Sequence[Mapping[str, Any]], actors: tuple[int, int]) -> Pair:
    found = casting.cast(nodes[:1] if nodes[0] is nodes[-1] else nodes, *actors)
    return Pair(found.trainers[0], found.readers[0], cast=found)


def _named(nodes: Sequence[Mapping[str, Any]], word: str) -> Pair:
    """`a:b`; of a name with colons the pair that makes two nodes of it."""
    by_name = {name: node for node in nodes for name in (node["id"], node["address"], node["name"])}
    parts = word.strip().split(":")
    for place in range(1, len(parts)):
        first, second = by_name.get(":".join(parts[:place])), by_name.get(":".join(parts[place:]))
        if first is not None and second is not None:
            return Pair(first, second)
    raise UsageError(f"--pairs {word}", f"a pair is A:B, of the nodes {', '.join(node['name'] for node in nodes)}")


def _looked(conducting: Conducting, nodes: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    told = conducting.ask("look", _SETUP_SECONDS, nodes=[node["id"] for node in nodes])
    return {values.pop("id"): values for word, values in told if word == "node"}


def _rows(
    conducting: Conducting,
    request: Request,
    plugins: Mapping[str, TransportPlugin],
    pairs: Sequence[Pair],
    progress: Progress,
    looked: Mapping[str, Mapping[str, Any]],
) -> Iterator[tuple[Pair, Row]]:
    able = {name: plugin for name, plugin in plugins.items() if request.pattern in plugin.patterns}
    seconds = request.budget_seconds / max(1, len(pairs) * len(able) * len(request.sizes))
    each = min(max(seconds / 2, _ROW_SECONDS[0]), _ROW_SECONDS[1])
    transfers = [_transfer(request, size, each) for size in request.sizes]
    done, total = 0, len(pairs) * len(able) * len(transfers)
    for pair in pairs:
        sync = _sync(request, pair)
        names = tuple(node["name"] for node in pair.nodes)
        for name, plugin in plugins.items() if sync is not None else ():
            if name not in able:
                yield pair, Row(name, names, transfers[0], plugin.way, sync=sync, unavailable=_NO_LISTS)
        for name, plugin in able.items():
            progress(done, total, name)
            bare = Row(name, names, transfers[0], plugin.way, sync=sync)
            lacking = _lacking(pair, plugin, transfers, looked)
            held = [one for one in transfers if one.size_bytes not in lacking]
            taken, into = 0, request.destination
            for row in _measured(conducting, bare, pair, held) if held else ():
                taken += row.taken is not None
                into = (row.taken and row.taken.destination) or into
                progress(done + taken, total, name)
                yield pair, row
            for one in transfers:
                if one.size_bytes in lacking:
                    tried = replace(one, destination=into)
                    yield pair, bare._replace(transfer=tried, failed=lacking[one.size_bytes])
            done += len(transfers)
    progress(total, total, "")


def _lacking(
    pair: Pair, plugin: TransportPlugin, transfers: Sequence[Transfer], looked: Mapping[str, Mapping[str, Any]]
) -> dict[int, str]:
    """By size, why the nodes' memory cannot hold it; that of accelerators is not looked at."""
    found = {}
    for one in transfers:
        if pair.cast is not None:
            why = casting.lacking(pair.cast, one, looked)
        elif "cpu" in plugin.devices:
            why = room.lacking(one, pair.nodes, plugin.way, looked)
        else:
            why = None
        if why is not None:
            found[one.size_bytes] = why
    return found


def _measured(conducting: Conducting, bare: Row, pair: Pair, transfers: Sequence[Transfer]) -> Iterator[Row]:
    """A row a size; one alone where the transport is unavailable."""
    limit = _SETUP_SECONDS + sum(10 * one.seconds + one.least_seconds + 10.0 for one in transfers)
    if pair.cast is not None:
        limit += 2 * sum(patience(one.size_bytes, len(pair.cast.readers)) for one in transfers)
    question = {
        "transport": bare.transport,
        "nodes": [node["id"] for node in pair.nodes],
        "transfers": [asdict(one) for one in transfers],
        "seconds": limit,
        "trainers": len(pair.cast.trainers) if pair.cast is not None else None,
    }
    number, into = -1, bare.transfer.destination
    for word, told in conducting.ask("measure", limit + 30.0, **question):
        if word == "row":
            number = told["number"]
        elif word == "taken":
            taken = Taken(**told["taken"])
            into = taken.destination or into
            yield bare._replace(
                transfer=transfers[number],
                taken=taken,
                moved=told["moved"],
                seconds=told["seconds"],
            )
        elif word == "unavailable":
            yield bare._replace(unavailable=told["why"])
        elif word == "failed":
            # Into the memory that the transport's rows before it took, which may be another than what was asked for.
            tried = replace(transfers[max(number, 0)], destination=into)
            yield bare._replace(transfer=tried, failed=told["why"])


def _sync(request: Request, pair: Pair) -> Sync | None:
    if pair.cast is None or request.tensors is None:
        return None
    trainers, readers = (tuple(str(node["name"]) for node in nodes) for nodes in pair.cast)
    return Sync(request.tensors.name, len(request.tensors.sizes), trainers, readers)


def _transfer(request: Request, size: int, seconds: float) -> Transfer:
    most = next(count for limit, count in _SAMPLES if size <= limit)
    return Transfer(
        size_bytes=size,
        pattern=request.pattern,
        destination=request.destination,
        streams=request.streams,
        is_bidirectional=request.is_bidirectional,
        most_samples=most,
        seconds=seconds,
        least_seconds=request.least_seconds,
        sizes=request.tensors.sizes if request.tensors is not None else (),
        is_damaged=request.is_damaged,
    )


def _judged(rows: Iterator[tuple[Pair, Row]], looked: Mapping[str, Mapping[str, Any]]) -> list[Run]:
    runs: list[Run] = []
    copies: dict[tuple[str, int], float] = {}
    for pair, row in rows:
        target = pair.target["id"]
        ends = Ends(looked.get(pair.source["id"], {}), looked.get(target, {}), pair.source["id"] == target)
        run = judge.run(row, ends, {size: rate for (node, size), rate in copies.items() if node == target})
        if run.transport == "memcpy" and run.bandwidth_bytes_per_second is not None:
            copies[target, run.size_bytes] = run.bandwidth_bytes_per_second.median
        runs.append(run)
    return runs


def _store_bytes(request: Request) -> int:
    """Room for a few objects of the largest size, within what /dev/shm has."""
    try:
        told = os.statvfs("/dev/shm")  # noqa: S108 - it is asked how much is free
        free = int(told.f_bavail * told.f_frsize * _STORE_SHARE)
    except OSError:
        free = _LEAST_STORE
    return max(_LEAST_STORE // 2, min(max(_LEAST_STORE, 6 * max(request.sizes, default=LATENCY_SIZES[0])), free))
