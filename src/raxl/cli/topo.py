"""`raxl topo`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import bench_file, outcome, source

if TYPE_CHECKING:
    from raxl.cli.streams import Streams


class View(str, Enum):
    """What the text shows."""

    tree = "tree"
    matrix = "matrix"
    fabric = "fabric"


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"


class Options(NamedTuple):
    """The flags of `raxl topo`."""

    source: source.Source
    view: View = View.tree
    expand: bool = False
    format: Format = Format.text
    output: Path | None = None
    path: tuple[str, str] | None = None
    overlay: Path | None = None


def command(
    view: Annotated[
        View, typer.Option("--view", help="A tree, the matrix of link classes, or the scale-up domains over nodes.")
    ] = View.tree,
    path: Annotated[
        Optional[tuple[str, str]],
        typer.Option(
            "--path",
            metavar="A B",
            help="The way between two devices: each hop and its speed, what forbids a faster one, who would use it. "
            "A device is an index, an id, a PCI address, a UUID or its beginning, or a network device; of many nodes "
            "NODE:DEVICE.",
        ),
    ] = None,
    overlay: Annotated[
        Optional[Path],
        typer.Option(
            "--overlay",
            metavar="BENCH.json",
            help="With --path: what raxl bench-transport --format json measured there, the fastest transport by size.",
        ),
    ] = None,
    expand: Annotated[bool, typer.Option("--expand", help="Show each device, also where many are alike.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="How the result is written.")] = Format.text,
    output: source.Output = None,
    from_: source.From = None,
    as_node: source.AsNode = None,
    cluster: source.Cluster = False,
    address: source.Address = None,
    record: source.Record = None,
    timeout: source.Timeout = 20.0,
    plugins: source.Plugins = None,
) -> None:
    """Show how accelerators, CPUs and NICs are joined."""
    from raxl.cli.streams import Streams

    chosen = source.Source(tuple(from_ or ()), as_node, record, timeout, tuple(plugins or ()), cluster, address)
    raise typer.Exit(run(Options(chosen, view, expand, format_, output, path, overlay), Streams()))


def _renderer(options: Options) -> str:
    if options.format is Format.json:
        return "raxl.model.codec"
    if options.path is not None:
        return "raxl.render.text_path"
    return f"raxl.render.text_{options.view.value}"


def run(options: Options, streams: Streams) -> int:
    """Reads, renders, and returns the exit code."""
    if options.path is not None:
        return _path(options, options.path, streams)
    if options.overlay is not None:
        from raxl.errors import UsageError

        raise UsageError("--overlay is laid over a way, and --path names none")
    inventory = source.inventory(options.source, _renderer(options))
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(inventory), options.output)
        return outcome.of_inventory(inventory)
    from raxl.topology import overview

    if options.view is View.matrix:
        from raxl.render import text_matrix

        lines = text_matrix.matrix(inventory, streams.width, unicode=streams.unicode)
    elif options.view is View.fabric:
        from raxl.render import text_fabric
        from raxl.topology import rails

        view = overview.of(inventory)
        lines = text_fabric.fabric(view, rails.rails(view.read), streams.width, unicode=streams.unicode)
    elif not options.expand and overview.is_many(inventory):
        from raxl.render import text_cluster

        lines = text_cluster.cluster(overview.of(inventory), streams.width, unicode=streams.unicode)
    else:
        from raxl.render import text_tree

        lines = text_tree.tree(inventory, streams.width, expand=options.expand, unicode=streams.unicode)
    streams.print(lines, options.output)
    return outcome.of_inventory(inventory)


def _path(options: Options, ends: tuple[str, str], streams: Streams) -> int:
    from dataclasses import replace

    from raxl.collect import paths

    benchmark = bench_file.read(options.overlay) if options.overlay else None
    recordings, inventory = source.assembled(options.source, _renderer(options))
    document, nodes = paths.document(recordings, inventory, ends)
    if benchmark is not None:
        from raxl.bench import recommend

        a, b = paths.ends_of(document)
        document = replace(document, measured=recommend.between(benchmark.runs, a, b))
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document), options.output)
    else:
        from raxl.render import text_path

        lines = text_path.path(document.path, nodes, streams.width, unicode=streams.unicode)
        if benchmark is not None:
            lines += text_path.measured(document.measured, streams.width, unicode=streams.unicode)
        streams.print(lines, options.output)
    return outcome.of_inventory(replace(inventory, nodes=nodes))
