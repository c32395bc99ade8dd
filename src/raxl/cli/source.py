"""Where the facts come from: the flags that every reading command shares, and what they read."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

if TYPE_CHECKING:
    from raxl.host.record import Recording
    from raxl.model.inventory import Inventory

From = Annotated[
    Optional[list[str]],
    typer.Option(
        "--from",
        metavar="PATH",
        help="Read recorded facts instead of this machine: a snapshot, a sysfs tree or a tar of one, or another tool's "
        "output. Repeatable; - is standard input, which is waited for.",
        rich_help_panel="Source",
    ),
]
AsNode = Annotated[
    Optional[str],
    typer.Option("--as-node", metavar="NAME", help="All --from files describe one machine.", rich_help_panel="Source"),
]
Record = Annotated[
    Optional[Path],
    typer.Option(
        "--record",
        metavar="FILE",
        help="Also write the snapshot of exactly what this run read.",
        rich_help_panel="Source",
    ),
]
Timeout = Annotated[
    float,
    typer.Option("--timeout", metavar="SECONDS", min=0.1, help="The whole budget of a node.", rich_help_panel="Source"),
]
Output = Annotated[
    Optional[Path],
    typer.Option("--output", metavar="FILE", help="Write there, atomically, instead of standard output."),
]


_LONGEST = 10.0**6


class Source(NamedTuple):
    """The flags, as given."""

    paths: tuple[str, ...] = ()
    as_node: str | None = None
    record: Path | None = None
    timeout: float = 20.0


def recordings(source: Source, *needed: str) -> list[Recording]:
    """The recordings that the flags name: this machine's where they name none.

    `needed` names modules that the command will need: they are loaded while the machine answers.
    """
    if not source.timeout < _LONGEST:  # nan is no less than anything
        from raxl.errors import UsageError

        raise UsageError(f"--timeout {source.timeout} is no number of seconds")
    if source.paths:
        from raxl.collect import inputs

        return inputs.opened(source.paths, source.as_node)
    from raxl.cli.streams import Streams
    from raxl.collect import live

    with live.asker(source.timeout) as begun:
        for module in needed:
            import_module(module)
        from raxl.collect import machines

        waiting = Streams().note if sys.stderr.isatty() else None
        return machines.together([live.recorded(begun, waiting)], source.as_node)


def keep(source: Source, read: list[Recording]) -> None:
    """Writes what was read, where `--record` says so."""
    if source.record is not None:
        from raxl.collect import keeping

        keeping.write(read, source.record)


def read_through(recording: Recording) -> None:
    """Has a recording that reads only what it is asked (a sysfs tree) asked everything that a snapshot holds."""
    from raxl.host.child import asking_half
    from raxl.host.replay import ReplayHost
    from raxl.plugins import registry

    for task in registry.ask_tasks():
        asking_half(task)(ReplayHost(recording))


def inventory(source: Source, renderer: str) -> Inventory:
    """What the flags name, read and assembled; recorded where `--record` says so."""
    return assembled(source, renderer)[1]


def assembled(source: Source, renderer: str) -> tuple[list[Recording], Inventory]:
    """The same with the recordings that it was assembled from, one a node and in their order."""
    read = recordings(source, "raxl.collect.assemble", renderer)
    from raxl.collect import assemble

    result = assemble.inventory(read)
    keep(source, read)
    return read, result
