"""`raxl discover`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import outcome, source

if TYPE_CHECKING:
    from raxl.cli.streams import Streams


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"


class Options(NamedTuple):
    """The flags of `raxl discover`."""

    source: source.Source
    nics: bool = False
    expect: tuple[str, ...] = ()
    expand: bool = False
    format: Format = Format.text
    output: Path | None = None


def command(
    nics: Annotated[bool, typer.Option("--nics", help="List the network adapters too.")] = False,
    expect: Annotated[
        Optional[list[str]],
        typer.Option("--expect", metavar="COUNTxTYPE", help="Exit 1 unless exactly these work: 8xH100. Repeatable."),
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
    """List the accelerators and NICs that are here, their state, and what Ray calls them."""
    from raxl.cli.streams import Streams

    chosen = source.Source(tuple(from_ or ()), as_node, record, timeout, tuple(plugins or ()), cluster, address)
    raise typer.Exit(run(Options(chosen, nics, tuple(expect or ()), expand, format_, output), Streams()))


def run(options: Options, streams: Streams) -> int:
    """Reads, compares with what is expected, renders, and returns the exit code."""
    from raxl.topology import expectation, overview

    expected = [expectation.parse(text) for text in options.expect]
    inventory = source.inventory(
        options.source, "raxl.model.codec" if options.format is Format.json else "raxl.render.text_table"
    )
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(inventory), options.output)
    elif not options.expand and overview.is_many(inventory):
        from raxl.render import text_nodes

        view = overview.of(inventory)
        streams.print(
            text_nodes.discover(view, streams.width, nics=options.nics, unicode=streams.unicode), options.output
        )
    else:
        from raxl.render import text_table

        lines = text_table.discover(
            inventory, streams.width, expand=options.expand, nics=options.nics, unicode=streams.unicode
        )
        streams.print(lines, options.output)
    differences = [line for node in inventory.nodes for line in expectation.differences(node, expected)]
    for line in differences:
        streams.note(line)
    return outcome.WRONG if differences else outcome.of_inventory(inventory)
