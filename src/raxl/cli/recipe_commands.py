"""The commands of `raxl recipe`."""

from __future__ import annotations

import typer

from raxl.cli import recipe_apply, recipe_fetch, recipe_files, recipe_plan, recipe_verify

app = typer.Typer()
app.command("list")(recipe_files.list_)
app.command("show")(recipe_files.show)
app.command("validate")(recipe_files.validate)
app.command("plan")(recipe_plan.command)
app.command("apply")(recipe_apply.apply)
app.command("verify")(recipe_verify.verify)
app.command("rollback")(recipe_apply.rollback)
app.command("fetch")(recipe_fetch.fetch)
app.command("index")(recipe_fetch.index)
app.command("report")(recipe_verify.report)
