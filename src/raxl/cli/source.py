"""Where the facts come from: the flags that every reading command shares, and what they read."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

if TYPE_CHECKING:
    from raxl.host.record import Recording
    from raxl.model.inventory import Inventory
    from raxl.plugins.guest import Guest

VARIABLE = "RAXL_PLUGINS"
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
Cluster = Annotated[
    bool,
    typer.Option("--cluster", help="Read every node of a running Ray cluster instead.", rich_help_panel="Source"),
]
Address = Annotated[
    Optional[str],
    typer.Option(
        "--address",
        metavar="ADDR",
        help="The cluster's, with --cluster: host:6379 on one of its nodes, from elsewhere ray://host:10001 or "
        "http://host:8265 [default: RAY_ADDRESS, then auto].",
        rich_help_panel="Source",
    ),
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
Plugins = Annotated[
    Optional[list[str]],
    typer.Option(
        "--plugins",
        metavar="NAME",
        help="Also use this plug-in of another package (raxl plugins list). Repeatable; RAXL_PLUGINS names some for "
        "all commands, but not for root.",
        rich_help_panel="Source",
    ),
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
    plugins: tuple[str, ...] = ()
    cluster: bool = False
    address: str | None = None
    questions: str = "common"
    """Which are put to a machine, in the words of `raxl.plugins.registry`."""


@cache
def foreign(names: tuple[str, ...]) -> tuple[Guest, ...]:
    """The plug-ins of others that `--plugins` and RAXL_PLUGINS name. Root's environment may be another's: it names
    none there."""
    told = [name for name in re.split(r"[,\s]+", os.environ.get(VARIABLE, "")) if name]
    if told and os.geteuid() == 0:
        from raxl.cli.streams import Streams

        Streams().note(f"{VARIABLE} is not followed for root: name plug-ins with --plugins")
        told = []
    return loaded((*names, *told))


@cache
def loaded(names: tuple[str, ...]) -> tuple[Guest, ...]:
    """The plug-ins of others that these names mean, and no more."""
    if not names:
        return ()
    from raxl.plugins import discovery, registry
    from raxl.plugins.guest import Guest

    tell_damaged()
    return tuple(Guest(one) for one in discovery.chosen(names, tuple(registry.BUILT_IN)))


@cache
def tell_damaged() -> None:
    """Says once which packages have a list of entry points that is not to be read: a plug-in may be missing."""
    from raxl.cli.streams import Streams
    from raxl.plugins import discovery

    for one in discovery.look().damaged:
        Streams().note(
            f"entry_points.txt of the package {one.package} is damaged, plug-ins may be missing: {one.message}"
        )


def recordings(source: Source, *needed: str) -> list[Recording]:
    """The recordings that the flags name: this machine's where they name none.

    `needed` names modules that the command will need: they are loaded while the machine answers.
    """
    if not source.timeout < _LONGEST:  # nan is no less than anything
        from raxl.errors import UsageError

        raise UsageError(f"--timeout {source.timeout} is no number of seconds")
    if source.address is not None and not source.cluster:
        from raxl.errors import UsageError

        raise UsageError("--address names a cluster, and --cluster is not given")
    if source.cluster:
        return _of_cluster(source, needed)
    if source.paths:
        from raxl.collect import inputs

        return inputs.opened(source.paths, source.as_node)
    from raxl.cli.streams import Streams
    from raxl.collect import live

    plugins = [plugin.installed for plugin in foreign(source.plugins)]
    with live.asker(source.timeout, plugins, source.questions) as begun:
        for module in needed:
            import_module(module)
        from raxl.collect import machines

        waiting = Streams().note if sys.stderr.isatty() else None
        return machines.together([live.recorded(begun, waiting)], source.as_node)


def _of_cluster(source: Source, needed: tuple[str, ...]) -> list[Recording]:
    from raxl.errors import UsageError

    if source.paths:
        raise UsageError("--cluster and --from are two sources: give one")
    if source.as_node is not None:
        raise UsageError("--as-node is for --from: a cluster's nodes are known apart")
    from raxl.collect import cluster

    plugins = [plugin.installed for plugin in foreign(source.plugins)]
    with cluster.asker(cluster.address_of(source.address), source.timeout, plugins, source.questions) as begun:
        for module in needed:
            import_module(module)
        from raxl.cli.streams import Streams

        with Streams().progress("nodes") as told:
            return begun.recordings(told)


def keep(source: Source, read: list[Recording]) -> None:
    """Writes what was read, where `--record` says so."""
    if source.record is not None:
        from raxl.collect import keeping

        keeping.write(read, source.record)


def read_through(recording: Recording, plugins: tuple[str, ...] = ()) -> None:
    """Has a recording that reads only what it is asked (a sysfs tree) asked everything that a snapshot holds."""
    from raxl.collect import questions

    questions.read_through(recording, foreign(plugins))


def inventory(source: Source, renderer: str) -> Inventory:
    """What the flags name, read and assembled; recorded where `--record` says so."""
    if _is_plain(source):
        from raxl.collect import many

        return many.inventory(source.paths)
    return assembled(source, renderer)[1]


def _is_plain(source: Source) -> bool:
    """Whether nothing but `--from` is given."""
    others = source.as_node is not None or source.record is not None or source.cluster or source.address is not None
    return bool(source.paths) and not others and not foreign(source.plugins)


def assembled(source: Source, renderer: str) -> tuple[list[Recording], Inventory]:
    """The same with the recordings that it was assembled from, one a node and in their order."""
    plugins = foreign(source.plugins)
    read = recordings(source, "raxl.collect.assemble", renderer)
    from raxl.collect import assemble, ray_nodes

    result = assemble.inventory(read, plugins)
    keep(source, read)
    return ray_nodes.present(read), result
