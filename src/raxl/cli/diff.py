"""`raxl diff`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from raxl.cli import outcome, source

if TYPE_CHECKING:
    from raxl.cli.streams import Streams
    from raxl.model.inventory import Inventory

NOW, NODE = "now", "node:"


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"


class Options(NamedTuple):
    """The arguments and flags of `raxl diff`."""

    source: source.Source
    a: str
    b: str
    everything: bool = False
    format: Format = Format.text
    output: Path | None = None


def command(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A",
            help="What was: a PATH (anything that --from takes), node:NAME (a node of what the source flags name), or "
            "now (all that they name: this machine, where they name nothing).",
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="What is: the same.")],
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Compare volatile values too: counters, clocks, temperatures, idle link speeds, ids of a boot. Of two "
            "machines also UUIDs, serial numbers and addresses.",
        ),
    ] = False,
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
    """Show what changed: hardware gone or new, links down or narrowed, versions, placement, Ray's view.

    One machine's devices are matched by UUID or serial number, then PCI address, then id; two machines are compared as
    to shape. Exit 1 when anything differs.
    """
    from raxl.cli.streams import Streams

    chosen = source.Source(tuple(from_ or ()), as_node, record, timeout, tuple(plugins or ()), cluster, address)
    raise typer.Exit(run(Options(chosen, a, b, everything, format_, output), Streams()))


def run(options: Options, streams: Streams) -> int:
    """Reads both, compares, renders, and returns the exit code: WRONG when anything differs."""
    before, after = _read(options)
    from raxl.collect import differences

    document = differences.document(
        (options.a, options.b),
        before,
        after,
        by_shape=options.a.startswith(NODE) and options.b.startswith(NODE) and options.a != options.b,
        everything=options.everything,
    )
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document), options.output)
    else:
        from raxl.render import text_diff

        lines = text_diff.diff(document, before, after, streams.width, unicode=streams.unicode)
        streams.print(lines, options.output)
    if document.differences:
        return outcome.WRONG
    return outcome.INCOMPLETE if any(map(_is_unread, (*before.nodes, *after.nodes))) else outcome.OK


def _is_unread(node: object) -> bool:
    """A node of which nothing could be read differs from none; but nobody knows."""
    from raxl.topology.diff_nodes import unread

    return unread(node) is not None  # type: ignore[arg-type]


def _read(options: Options) -> tuple[Inventory, Inventory]:
    """Both sides; where one is a node by name and the other holds several, that node of it."""
    operands = (options.a, options.b)
    _check(options, operands)
    renderer = "raxl.model.codec" if options.format is Format.json else "raxl.render.text_diff"
    paths = {operand: _of_path(options.source, operand, renderer) for operand in operands if not _is_named(operand)}
    named = source.inventory(options.source, renderer) if any(map(_is_named, operands)) else None
    from raxl.collect import differences

    sides = []
    for operand in operands:
        found = named if _is_named(operand) else paths[operand]
        assert found is not None
        one = operand.startswith(NODE)
        sides.append(differences.picked(found, operand.removeprefix(NODE)) if one else found)
    for place, operand in enumerate(operands):
        if operands[1 - place].startswith(NODE) and not operand.startswith(NODE):
            sides[place] = differences.beside(sides[place], sides[1 - place], operand)
    return sides[0], sides[1]


def _is_named(operand: str) -> bool:
    return operand == NOW or operand.startswith(NODE)


def _of_path(flags: source.Source, path: str, renderer: str) -> Inventory:
    return source.inventory(source.Source((path,), flags.as_node, None, flags.timeout, flags.plugins), renderer)


def _check(options: Options, operands: tuple[str, str]) -> None:
    from raxl.errors import UsageError

    if operands == ("-", "-"):
        raise UsageError("A and B cannot both be standard input")
    if not any(map(_is_named, operands)):
        for flag, given in (
            ("--from", options.source.paths),
            ("--cluster", options.source.cluster),
            ("--record", options.source.record),
        ):
            if given:
                raise UsageError(f"{flag} is of no use here", "A and B are both recordings", "write now or node:NAME")
