"""`raxl recipe apply` and `raxl recipe rollback`."""

from __future__ import annotations

import contextlib
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import json_or_null, outcome, recipe_flags, recipe_plan, source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raxl.cli.streams import Streams
    from raxl.model.plan import PlanDocument
    from raxl.model.receipt import Receipt
    from raxl.recipe.generations import State


class Format(str, Enum):
    """How the receipt is written."""

    text = "text"
    json = "json"


class Options(NamedTuple):
    """The flags of `raxl recipe apply`."""

    recipe: str | None = None
    root: Path | None = None
    yes: bool = False
    force: bool = False
    allow_code: bool = False
    dry_run: bool = False
    format: Format = Format.text
    timeout: float = 20.0
    plugins: tuple[str, ...] = ()


class BackOptions(NamedTuple):
    """The flags of `raxl recipe rollback`."""

    root: Path | None = None
    yes: bool = False
    force: bool = False
    format: Format = Format.text


Name = Annotated[
    Optional[str],
    typer.Argument(
        metavar="[NAME|FILE|PLAN]",
        help="A recipe of raxl's, a file with one, or a plan that raxl recipe plan --output saved; without it, the "
        "recipe that is for this node.",
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[bool, typer.Option("--force", help="Go on where somebody changed a file since it was applied.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan, as raxl recipe plan does, and change nothing.")]
FormatOption = Annotated[Format, typer.Option("--format", help="How the result is written: json is the receipt.")]


def apply(
    recipe: Name = None,
    root: recipe_flags.Root = None,
    yes: Yes = False,
    force: Force = False,
    allow_code: recipe_flags.AllowCode = False,
    dry_run: DryRun = False,
    format_: FormatOption = Format.text,
    timeout: source.Timeout = 20.0,
    plugins: source.Plugins = None,
) -> None:
    """Write a recipe's files for this node below one folder: all of them or none, and nothing else."""
    from raxl.cli.streams import Streams

    options = Options(recipe, root, yes, force, allow_code, dry_run, format_, timeout, tuple(plugins or ()))
    raise typer.Exit(run(options, Streams()))


def rollback(
    root: recipe_flags.Root = None,
    yes: Yes = False,
    force: Force = False,
    format_: FormatOption = Format.text,
) -> None:
    """Take back what was applied last: everything is then as it was before."""
    from raxl.cli.streams import Streams

    raise typer.Exit(take_back(BackOptions(root, yes, force, format_), Streams()))


def run(options: Options, streams: Streams) -> int:
    """Plans, shows, asks, applies, and returns the exit code."""
    if not options.dry_run:
        _can_ask(options.yes, options.format, "apply")
    made: list[PlanDocument] = []
    with _told(made, options, streams):
        return _run(options, made, streams)


def _run(options: Options, made: list[PlanDocument], streams: Streams) -> int:
    """The same; `made` holds the plan once there is one."""
    from raxl.recipe import apply as applying
    from raxl.recipe import generations
    from raxl.render import text_recipe_apply

    state = generations.state(options.root or recipe_flags.default_root())
    document = _planned(options, state, made)
    if options.dry_run:
        _show(document, options, streams)
        return recipe_plan.exit_code(document)
    (plan,) = document.plans
    is_needed = applying.is_needed(plan, state)
    if is_needed and options.format is Format.text:
        _show(document, options, streams, is_last=False)
    applying.check(plan, state, options.force, options.allow_code)
    if is_needed and not options.yes and not _asked(f"Write this below {state.root}?"):
        return outcome.WRONG
    receipt = applying.applied(plan, state, _now(), options.force, options.allow_code)
    if options.format is Format.json:
        _write(receipt, streams)
    elif receipt is None or not is_needed:
        streams.print(text_recipe_apply.unchanged(receipt, str(state.root), streams.width, unicode=streams.unicode))
    else:
        lines = text_recipe_apply.applied(receipt, plan.next_steps, streams.width, unicode=streams.unicode)
        streams.print([[], *lines])
    return outcome.OK


def take_back(options: BackOptions, streams: Streams) -> int:
    """Shows what would become of the files, asks, takes back, and returns the exit code."""
    _can_ask(options.yes, options.format, "rollback")
    with json_or_null.told(options.format is Format.json, streams):
        return _take_back(options, streams)


def _take_back(options: BackOptions, streams: Streams) -> int:
    from raxl.recipe import differences, generations
    from raxl.recipe import rollback as back
    from raxl.render import text_recipe_apply

    state = generations.state(options.root or recipe_flags.default_root())
    if state.receipt is not None:
        planned = differences.planned(back.before(state).contents, state)
        if options.format is Format.text:
            lines = text_recipe_apply.taking_back(planned, streams.width, unicode=streams.unicode)
            streams.print([*lines, []])
        back.check(state, options.force)
        if not options.yes and not _asked(f"Take {state.receipt.recipe} back below {state.root}?"):
            return outcome.WRONG
    receipt = back.rolled_back(state, options.force)
    if options.format is Format.json:
        _write(receipt, streams)
    else:
        foreign = generations.state(state.root).foreign
        streams.print(
            text_recipe_apply.taken_back(receipt, str(state.root), foreign, streams.width, unicode=streams.unicode)
        )
    return outcome.OK


def _planned(options: Options, state: State, made: list[PlanDocument]) -> PlanDocument:
    """The plan for this node, which `made` then holds. A saved one is made again, and refused where it would not be
    the same."""
    from raxl.recipe import saved

    path = Path(options.recipe) if options.recipe is not None else None
    was = saved.read(path) if path is not None and path.is_file() and saved.looks_like_plan(path) else None
    inventory, facts = recipe_plan.read(
        source.Source(timeout=options.timeout, plugins=options.plugins, questions="checks")
    )
    own = saved.of_node(was, inventory.nodes[0].name) if was else None
    asked = saved.recipe_of(own) if own else options.recipe
    document, refused = recipe_plan.planned(inventory, facts, state, asked, options.allow_code, options.force)
    made.append(document)
    if refused:
        raise refused[0]
    if own:
        saved.compare(own, document.plans[0])
    return document


def _show(document: PlanDocument, options: Options, streams: Streams, is_last: bool = True) -> None:
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document))
    else:
        from raxl.render import text_recipe_plan

        lines = text_recipe_plan.plans(document, streams.width, unicode=streams.unicode, is_last=is_last)
        streams.print(lines)


@contextlib.contextmanager
def _told(made: list[PlanDocument], options: Options, streams: Streams) -> Iterator[None]:
    """Where there is no receipt, JSON is the plan: it says what stands in the way; null where there is none either."""
    from raxl.errors import RaxlError

    with json_or_null.told(options.format is Format.json, streams, made):
        try:
            yield
        except RaxlError:
            if options.format is Format.json and made:
                _show(made[0], options, streams)
            raise


def _write(receipt: Receipt | None, streams: Streams) -> None:
    """As it is: of a receipt every byte counts. What it holds was cleaned before it was written."""
    from raxl.model import codec

    streams.write(codec.encode(receipt))


def _can_ask(yes: bool, format_: Format, command: str) -> None:
    if not yes and format_ is Format.json:
        from raxl.errors import UsageError

        raise UsageError(
            f"{command} shows what it would do before it asks, and JSON is its result alone", "", "Say --yes"
        )
    if not yes and (sys.stdin is None or not sys.stdin.isatty()):
        from raxl.errors import UsageError

        raise UsageError(f"{command} asks before it changes anything, and here is no terminal", "", "Say --yes")


def _asked(question: str) -> bool:
    from raxl.model.printable import clean

    return typer.confirm(clean(question), err=True)


def _now() -> str:
    from raxl.collect import clock

    return clock.now()
