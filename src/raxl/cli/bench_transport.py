"""`raxl bench-transport`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from raxl.cli import bench_file, source
from raxl.cli import bench_flags as flags

if TYPE_CHECKING:
    from raxl.bench.request import Request
    from raxl.cli.streams import Streams
    from raxl.model.measurement import Bench


class Options(NamedTuple):
    """What is done with the result; what is measured is a `Request`."""

    request: Request
    format: flags.Format = flags.Format.text
    expand: bool = False
    output: Path | None = None


def command(
    transport: flags.Transports = "all",
    pairs: flags.Pairs = None,
    sizes: flags.Sizes = None,
    pattern: flags.Patterns = flags.Pattern.p2p,
    tensors: flags.Tensors = None,
    actors: flags.Actors = None,
    destination: flags.Destinations = flags.Destination.reused,
    streams: flags.Streams = 1,
    bidirectional: flags.Bidirectional = False,
    min_time: flags.LeastTime = "0",
    budget: flags.Budget = "45s",
    baseline: flags.Baseline = None,
    tolerance: flags.Tolerance = "10%",
    fault: flags.Faults = None,
    recommend: flags.Recommend = False,
    expand: flags.Expand = False,
    format_: flags.Formats = flags.Format.text,
    output: source.Output = None,
    cluster: source.Cluster = False,
    address: source.Address = None,
    plugins: source.Plugins = None,
) -> None:
    """Measure transports between accelerators and nodes, and prove which way the bytes went.

    Without --cluster raxl starts a Ray of its own on this machine, measures between two of its processes, and leaves
    nothing behind. UCX_, NCCL_, RCCL_, GLOO_ and FI_ variables of this command are set at both ends.
    """
    from raxl.bench import applicable, compare, plugged, request
    from raxl.cli.streams import Streams
    from raxl.collect import keeping
    from raxl.errors import UsageError

    chosen = _cluster(address, is_asked=cluster)
    others = tuple(plugins or ())
    is_sync = pattern is flags.Pattern.weight_sync
    if (tensors or actors) and not is_sync:
        raise UsageError("--tensors and --actors are of --pattern weight-sync")
    if is_sync and (sizes or fault or streams > 1 or bidirectional or pairs == request.SCREEN):
        refused = "--sizes, --fault, --streams, --bidirectional and --pairs screen"
        raise UsageError(f"{refused} are not of --pattern weight-sync", "--tensors says how much is moved")
    wanted = request.Request(
        address=chosen,
        transports=_named(transport, others),
        plugins=others,
        pairs=pairs or (request.SCREEN if cluster and fault is None and pattern is flags.Pattern.p2p else request.ALL),
        sizes=request.sizes(sizes) if sizes else request.Request().sizes,
        pattern=pattern.value,
        destination=destination.value,
        streams=streams,
        is_bidirectional=bidirectional,
        least_seconds=request.seconds(min_time),
        budget_seconds=request.seconds(budget, "--budget"),
        baseline=bench_file.read(baseline) if baseline else None,
        tolerance=compare.tolerance(tolerance),
        wants_recommendations=recommend,
        fault=fault.value if fault else None,
    )
    if is_sync:
        wanted = _synced(wanted, tensors, actors)
    applicable.check(wanted, plugged.loaded(plugged.entries(wanted)))
    if recommend and format_ is flags.Format.csv:
        raise UsageError("--recommend has no place in csv", "its lines are what was measured", "--format json has both")
    if output is not None:
        keeping.check(output)
    raise typer.Exit(run(Options(wanted, format_, expand, output), Streams()))


def _cluster(address: str | None, *, is_asked: bool) -> str | None:
    """The cluster's address; None without one. Raises UsageError for one that cannot be measured on."""
    from raxl.collect import cluster as clusters
    from raxl.errors import UsageError

    if address is not None and not is_asked:
        raise UsageError("--address names a cluster, and --cluster is not given")
    chosen = clusters.address_of(address) if is_asked else None
    if chosen is not None and chosen.startswith(("http://", "https://")):
        raise UsageError(
            f"--address {chosen}",
            "Ray's job API carries no actors, and they are what measures",
            "On a node of the cluster: --address host:6379",
        )
    return chosen


def _named(text: str, plugins: tuple[str, ...]) -> tuple[str, ...] | None:
    """The transports that are named, each once; None for all. Raises UsageError for one that nobody has."""
    from raxl.bench import request
    from raxl.errors import UsageError
    from raxl.plugins import discovery

    known = tuple(discovery.transports(plugins))
    named = None if text == request.ALL else tuple(dict.fromkeys(word.strip() for word in text.split(",")))
    unknown = [name for name in named or () if name not in known]
    if unknown:
        raise UsageError(f"no transport is called {unknown[0]!r}", f"known: {', '.join(known)}")
    return named


def _synced(wanted: Request, tensors: str | None, actors: str | None) -> Request:
    """With the tensors, and who sends them to whom. Raises UsageError, UnreadableInput."""
    from raxl.bench import tensor_list
    from raxl.errors import UsageError

    found = tensor_list.tensors(tensors or tensor_list.DEFAULT)
    trainers, readers = tensor_list.actors(actors or "1x1")
    if trainers > len(found.sizes):
        raise UsageError(f"--actors {actors}", f"{found.name} has {len(found.sizes)} tensors, too few to deal out")
    return wanted._replace(tensors=found, actors=(trainers, readers), sizes=(found.size_bytes,))


def run(options: Options, streams: Streams) -> int:
    """Measures, renders, and returns the exit code."""
    from raxl.bench import ending
    from raxl.bench import run as benches

    with streams.progress("transports") as told:
        document = benches.bench(options.request, lambda done, total, words: told(done, total))
    _write(document, options, streams)
    asked = options.request
    return ending.ending(document, asked.transports or (), has_baseline=asked.baseline is not None).code


def _write(document: Bench, options: Options, streams: Streams) -> None:
    if options.format is flags.Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document), options.output)
    elif options.format is flags.Format.csv:
        from raxl.render import bench_csv

        streams.write(bench_csv.comma_separated(document), options.output)
    elif options.format is flags.Format.prometheus:
        from raxl.render import bench_prometheus

        streams.write(bench_prometheus.exposition(document), options.output)
    else:
        from raxl.render import text_bench

        streams.print(
            text_bench.bench(document, streams.width, expand=options.expand, unicode=streams.unicode), options.output
        )
