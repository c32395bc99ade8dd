"""`raxl`: the commands."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from raxl import __version__
from raxl.cli import bench_transport, diagnose, diff, discover, labels, place, plugins, recipe, schema, snapshot, topo

app = typer.Typer(
    name="raxl",
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="What accelerators are here, how they are joined, and what could not be known.",
    epilog="Exit codes: 0 done · 1 something is wrong · 2 command line · 3 incomplete · 4 could not start · "
    "130 interrupted.",
)
app.command("discover")(discover.command)
app.command("topo")(topo.command)
app.command("diff")(diff.command)
app.command("labels")(labels.command)
app.command("place")(place.command)
app.command("bench-transport")(bench_transport.command)
app.command("diagnose")(diagnose.command)
app.add_typer(snapshot.app, name="snapshot")
app.add_typer(recipe.app, name="recipe")
app.add_typer(plugins.app, name="plugins")
app.command("schema")(schema.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"raxl {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        Optional[bool], typer.Option("--version", callback=_print_version, is_eager=True, help="Print raxl's version.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
