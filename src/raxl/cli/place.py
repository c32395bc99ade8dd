"""`raxl place`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import outcome, source

if TYPE_CHECKING:
    from raxl.cli.streams import Streams
    from raxl.model.place import PlaceDocument

MOST = 10**6
"""More accelerators than any cluster has."""


class Within(str, Enum):
    """What a set must not cross."""

    node = "node"
    fabric = "fabric"
    rack = "rack"
    slice = "slice"


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"
    python = "python"


class Options(NamedTuple):
    """The flags of `raxl place`."""

    source: source.Source
    accelerators: int
    type: str | None = None
    within: Within | None = None
    format: Format = Format.text
    output: Path | None = None


def command(
    accelerators: Annotated[
        int, typer.Option("--accelerators", metavar="N", min=1, max=MOST, help="How many the job takes in all.")
    ],
    type_: Annotated[
        Optional[str],
        typer.Option(
            "--type",
            metavar="T",
            help="Of which type: as Ray spells it (H100, AMD-Instinct-MI300X-OAM) or the model's name. Without it, "
            "any; no set mixes types.",
        ),
    ] = None,
    within: Annotated[
        Optional[Within],
        typer.Option(
            "--within", help="What a set must not cross: a node, a scale-up fabric's domain, a rack or a slice."
        ),
    ] = None,
    format_: Annotated[
        Format,
        typer.Option("--format", help="How it is written; python: a program that asks Ray for the best."),
    ] = Format.text,
    output: source.Output = None,
    from_: source.From = None,
    as_node: source.AsNode = None,
    cluster: source.Cluster = False,
    address: source.Address = None,
    record: source.Record = None,
    timeout: source.Timeout = 20.0,
    plugins: source.Plugins = None,
) -> None:
    """Show which nodes fit a job, the best joined first, and what says so to Ray.

    Only accelerators that are known to work count. What is busy is not known here: Ray Core decides.
    """
    from raxl.cli.streams import Streams

    chosen = source.Source(tuple(from_ or ()), as_node, record, timeout, tuple(plugins or ()), cluster, address)
    raise typer.Exit(run(Options(chosen, accelerators, type_, within, format_, output), Streams()))


def run(options: Options, streams: Streams) -> int:
    """Reads, finds the sets that fit, renders, and returns the exit code.

    WRONG where nothing fits; INCOMPLETE where something might, had all been read.
    """
    from raxl.model import printable
    from raxl.model.place import Wanted

    if options.type is not None and not printable.clean(options.type).strip():
        from raxl.errors import UsageError

        raise UsageError("--type names no type")
    inventory = source.inventory(options.source, "raxl.topology.placing")
    from raxl.topology import placing

    wanted = Wanted(options.accelerators, options.type, options.within.value if options.within else None)
    document: PlaceDocument = printable.record(placing.document(inventory, wanted))
    is_told = _write(document, options, streams)
    if document.is_open:
        return outcome.INCOMPLETE
    return outcome.of_inventory(inventory) if document.candidates and is_told else outcome.WRONG


def _write(document: PlaceDocument, options: Options, streams: Streams) -> bool:
    """False where there is nothing that Python could say to Ray; standard error then tells why."""
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document), options.output)
        return True
    from raxl.render import text_place

    if options.format is Format.text:
        streams.print(text_place.place(document, streams.width, unicode=streams.unicode), options.output)
        return True
    from raxl.render import ray_python

    best = document.candidates[0] if document.candidates else None
    if best is None or best.request is None:
        streams.note(f"{best.caveats[0]}." if best else text_place.nothing(document))
        return False
    streams.write(ray_python.program(best, best.request, document.unread), options.output)
    return True
