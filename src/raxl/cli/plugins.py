"""`raxl plugins list`, `raxl plugins check`, `raxl plugins new`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from raxl.cli import outcome, source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raxl.cli.streams import Streams
    from raxl.host.record import Recording
    from raxl.model.plugin import Plugin

app = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="Plug-ins: what is installed, and how mature it is."
)


@app.callback()
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"


class Options(NamedTuple):
    """What is shown of which plug-ins."""

    plugins: tuple[str, ...] = ()
    timeout: float = 20.0
    format: Format = Format.text
    output: Path | None = None


FormatOption = Annotated[Format, typer.Option("--format", help="How the result is written.")]


@app.command("list")
def list_(
    plugins: source.Plugins = None,
    timeout: source.Timeout = 20.0,
    format_: FormatOption = Format.text,
    output: source.Output = None,
) -> None:
    """List the plug-ins that are installed: package, maturity tier, real captures, and what each finds here."""
    from raxl.cli.streams import Streams

    listed(Options(tuple(plugins or ()), timeout, format_, output), Streams())


def listed(options: Options, streams: Streams) -> None:
    """Looks, and prints."""
    from raxl.collect import plugin_list
    from raxl.model import printable
    from raxl.render import text_plugins

    found = [printable.record(one) for one in plugin_list.listed(source.foreign(options.plugins), options.timeout)]
    source.tell_damaged()
    if options.format is Format.text:
        streams.print(text_plugins.table(found), options.output)
    else:
        _json(found, options, streams)


@app.command("check")
def check(
    name: Annotated[str, typer.Argument(metavar="NAME", help="One of raxl's own, or of another package.")],
    live: Annotated[bool, typer.Option("--live", help="Try it on this machine too.")] = False,
    timeout: source.Timeout = 20.0,
    format_: FormatOption = Format.text,
    output: source.Output = None,
) -> None:
    """Try a plug-in on its recordings and say how mature it is: experimental, beta or stable, with the evidence."""
    from raxl.cli.streams import Streams

    raise typer.Exit(checked(Options((name,), timeout, format_, output), live, Streams()))


def checked(options: Options, live: bool, streams: Streams) -> int:
    """Tries it, or each that its package brings, prints, and returns the exit code: 1 where one of them does not reach
    the lowest tier."""
    from raxl.collect import plugin_list
    from raxl.model import printable
    from raxl.plugins import registry
    from raxl.render import text_plugins

    name = options.plugins[0]
    guests = source.loaded(options.plugins)
    here = None
    if live:
        (here,) = source.recordings(source.Source(timeout=options.timeout, plugins=options.plugins))
    every = [_checked_own(name, here)] if name in registry.BUILT_IN else plugin_list.checked(guests, here)
    for guest in guests:
        for words in guest.manners:
            streams.note(f"the plug-in {guest.installed.name} of {guest.installed.package} {words}")
    found: list[Plugin] = [printable.record(one) for one in every]
    if options.format is Format.text:
        streams.print([line for one in found for line in text_plugins.criteria(one)], options.output)
    else:
        _json(found, options, streams)
    return outcome.WRONG if any(one.tier is None for one in found) else outcome.OK


def _checked_own(name: str, here: Recording | None) -> Plugin:
    from raxl.collect import plugin_list, plugin_recordings
    from raxl.errors import CannotStart

    folder = plugin_recordings.own_folder()
    if folder is None:
        why = "raxl was installed without its sources"
        raise CannotStart(f"the recordings of {name} are not here", why, "raxl plugins list tells its tier")
    return plugin_list.checked_own(name, plugin_recordings.read(folder), here)


def _json(plugins: Sequence[Plugin], options: Options, streams: Streams) -> None:
    from raxl.collect import plugin_list
    from raxl.model import codec

    streams.write(codec.encode(plugin_list.document(plugins)), options.output)


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The family: lower case letters, digits, underscores.")],
    folder: Annotated[
        Path, typer.Option("--folder", metavar="DIR", help="Where the package's folder is made.")
    ] = Path(),
) -> None:
    """Write the skeleton of a plug-in's package: the plug-in, a recording, and a test that runs."""
    from raxl.cli.streams import Streams
    from raxl.plugins import scaffold

    for path in scaffold.write(name, folder):
        Streams().note(str(path))
