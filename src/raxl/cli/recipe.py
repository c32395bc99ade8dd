"""`raxl recipe`: its commands are loaded when one of them is asked for, since no other command needs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup


class _Commands(TyperGroup):
    """The commands of `recipe_commands`."""

    def _loaded(self) -> Mapping[str, Any]:
        if not self.commands:
            from raxl.cli import recipe_commands

            self.commands.update(typer.main.get_group(recipe_commands.app).commands)
        return self.commands

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return list(self._loaded())

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        return self._loaded().get(cmd_name)


app = typer.Typer(
    cls=_Commands,
    help="Deployment recipes: settings, versions, checks and figures for a platform, applied below one folder.",
    invoke_without_command=True,
    add_completion=False,
)


@app.callback()
def _help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
