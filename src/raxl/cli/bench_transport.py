"""`raxl bench-transport`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import source

if TYPE_CHECKING:
    from raxl.bench.request import Request
    from raxl.cli.streams import Streams
    from raxl.model.measurement import Bench


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"
    csv = "csv"
    prometheus = "prometheus"


class Pattern(str, Enum):
    """What is moved between whom."""

    p2p = "p2p"
    all_reduce = "all-reduce"
    all_gather = "all-gather"
    reduce_scatter = "reduce-scatter"
    all_to_all = "all-to-all"
    broadcast = "broadcast"


class Destination(str, Enum):
    """Which memory the bytes arrive in."""

    fresh = "fresh"
    reused = "reused"


class Options(NamedTuple):
    """What is done with the result; what is measured is a `Request`."""

    request: Request
    format: Format = Format.text
    expand: bool = False
    output: Path | None = None


def command(
    transport: Annotated[
        str, typer.Option("--transport", metavar="NAME,…", help="Which: all, or their names.")
    ] = "all",
    pairs: Annotated[
        Optional[str],
        typer.Option(
            "--pairs",
            metavar="A:B,…",
            help="all, pairs of nodes by name, or screen: a few rounds of disjoint pairs that find slow nodes and "
            "links [default: screen with --cluster, else all].",
        ),
    ] = None,
    sizes: Annotated[
        Optional[str],
        typer.Option(
            "--sizes",
            metavar="A:B",
            help="1KiB:256MiB in steps of four, or 8,64KiB,1GiB [default: 8 B to 64 MiB].",
        ),
    ] = None,
    pattern: Annotated[Pattern, typer.Option("--pattern", help="Between two ends, or among all nodes.")] = Pattern.p2p,
    destination: Annotated[
        Destination,
        typer.Option("--destination", help="Reused memory, or fresh pages, which on hosts cost more than the wire."),
    ] = Destination.reused,
    streams: Annotated[int, typer.Option("--streams", min=1, max=64, help="Connections, of tcp.")] = 1,
    bidirectional: Annotated[bool, typer.Option("--bidirectional", help="Both directions at once, of tcp.")] = False,
    min_time: Annotated[
        str, typer.Option("--min-time", metavar="TIME", help="Measure each row for so long at least: 500ms, 10s.")
    ] = "0",
    budget: Annotated[
        str, typer.Option("--budget", metavar="TIME", help="For all rows together, more or less: 30s, 5m.")
    ] = "45s",
    expand: Annotated[bool, typer.Option("--expand", help="Show each pair, also where many are alike.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="How the result is written.")] = Format.text,
    output: source.Output = None,
    cluster: source.Cluster = False,
    address: source.Address = None,
    plugins: source.Plugins = None,
) -> None:
    """Measure transports between accelerators and nodes, and prove which way the bytes went.

    Without --cluster raxl starts a Ray of its own on this machine, measures between two of its processes, and leaves
    nothing behind.
    """
    from raxl.bench import request
    from raxl.cli.streams import Streams
    from raxl.collect import cluster as clusters
    from raxl.errors import UsageError
    from raxl.plugins import registry

    if address is not None and not cluster:
        raise UsageError("--address names a cluster, and --cluster is not given")
    known = tuple(registry.TRANSPORTS)
    named = None if transport == request.ALL else tuple(dict.fromkeys(word.strip() for word in transport.split(",")))
    unknown = [name for name in named or () if name not in known]
    if unknown:
        raise UsageError(f"no transport is called {unknown[0]!r}", f"known: {', '.join(known)}")
    wanted = request.Request(
        address=clusters.address_of(address) if cluster else None,
        transports=named,
        pairs=pairs or (request.SCREEN if cluster else request.ALL),
        sizes=request.sizes(sizes) if sizes else request.Request().sizes,
        pattern=pattern.value,
        destination=destination.value,
        streams=streams,
        is_bidirectional=bidirectional,
        least_seconds=request.seconds(min_time),
        budget_seconds=request.seconds(budget),
    )
    raise typer.Exit(run(Options(wanted, format_, expand, output), Streams()))


def run(options: Options, streams: Streams) -> int:
    """Measures, renders, and returns the exit code."""
    from raxl.bench import ending
    from raxl.bench import run as benches

    with streams.progress("transports") as told:
        document = benches.bench(options.request, lambda done, total, words: told(done, total))
    _write(document, options, streams)
    return ending.ending(document, options.request.transports or ()).code


def _write(document: Bench, options: Options, streams: Streams) -> None:
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document), options.output)
    elif options.format is Format.csv:
        from raxl.render import bench_csv

        streams.write(bench_csv.comma_separated(document), options.output)
    elif options.format is Format.prometheus:
        from raxl.render import bench_prometheus

        streams.write(bench_prometheus.exposition(document), options.output)
    else:
        from raxl.render import text_bench

        streams.print(
            text_bench.bench(document, streams.width, expand=options.expand, unicode=streams.unicode), options.output
        )
