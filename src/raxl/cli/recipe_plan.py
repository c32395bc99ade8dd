"""`raxl recipe plan`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import json_or_null, outcome, recipe_flags, recipe_named, source

if TYPE_CHECKING:
    from raxl.cli.streams import Streams
    from raxl.errors import RecipeError
    from raxl.model.facts import Facts
    from raxl.model.inventory import Inventory
    from raxl.model.plan import PlanDocument
    from raxl.model.recipe import Shelved
    from raxl.recipe.generations import State


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"


class Options(NamedTuple):
    """The flags of `raxl recipe plan`."""

    source: source.Source
    recipe: str | None = None
    root: Path | None = None
    allow_code: bool = False
    manifest: Path | None = None
    verbose: bool = False
    format: Format = Format.text
    output: Path | None = None


Name = Annotated[
    Optional[str],
    typer.Argument(
        metavar="[NAME|FILE]",
        help="A recipe of raxl's (raxl recipe list) or a file with one; without it, the one that is for this node.",
        show_default=False,
    ),
]


def command(
    recipe: Name = None,
    root: recipe_flags.Root = None,
    allow_code: recipe_flags.AllowCode = False,
    manifest: Annotated[
        Optional[Path],
        typer.Option(
            "--manifest", metavar="FILE", help="Check a KubeRay manifest, and print the recipe's patch of it."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Show what each value was read from, and the pages of settings.")
    ] = False,
    format_: Annotated[
        Format, typer.Option("--format", help="How the result is written; json with --output is the saved plan.")
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
    """Show what a recipe would do on this node, byte for byte; write nothing of it."""
    from raxl.cli.streams import Streams

    chosen = source.Source(
        tuple(from_ or ()), as_node, record, timeout, tuple(plugins or ()), cluster, address, "checks"
    )
    options = Options(chosen, recipe, root, allow_code, manifest, verbose, format_, output)
    raise typer.Exit(run(options, Streams()))


def run(options: Options, streams: Streams) -> int:
    """Reads, plans, writes, and returns the exit code."""
    made: list[PlanDocument] = []
    with json_or_null.told(options.format is Format.json, streams, made):
        if options.manifest is not None:
            from raxl.cli import recipe_manifest

            return recipe_manifest.run(options, options.manifest, streams)
        return _run(options, made, streams)


def _run(options: Options, made: list[PlanDocument], streams: Streams) -> int:
    """The same without a manifest; `made` holds the plans once there are some."""
    inventory, facts = read(options.source)
    root = options.root or recipe_flags.default_root()
    state = standing(root, options.source, options.root is not None, len(inventory.nodes))
    document, refused = planned(inventory, facts, state, options.recipe, options.allow_code)
    made.append(document)
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document), options.output)
    elif document.plans:
        from raxl.render import text_recipe_plan

        lines = text_recipe_plan.plans(document, streams.width, verbose=options.verbose, unicode=streams.unicode)
        streams.print(lines, options.output)
    if refused and not document.plans:
        raise refused[0]
    return exit_code(document, refused)


def read(chosen: source.Source) -> tuple[Inventory, list[Facts]]:
    """The nodes that the flags name, and what was read of each beside the inventory."""
    recordings, inventory = source.assembled(chosen, "raxl.recipe.plan")
    from raxl.collect import facts

    return inventory, [facts.of(recording, node) for recording, node in zip(recordings, inventory.nodes, strict=True)]


def standing(root: Path, chosen: source.Source, is_named: bool, nodes: int) -> State:
    """What is in force below the root. Of another machine's it is not known: then files are told as new ones."""
    from raxl.recipe import folder, generations

    is_own = not chosen.cluster and nodes == 1 and (is_named or not chosen.paths)
    return generations.state(root) if is_own else generations.State(folder.resolved(root))


def planned(
    inventory: Inventory,
    facts: Sequence[Facts],
    state: State,
    asked: str | Shelved | None,
    allow_code: bool,
    force: bool = False,
) -> tuple[PlanDocument, list[RecipeError]]:
    """A plan for each node, and why there is none for others. `asked` is a recipe, its name or its file; without it,
    each node has the one that is for it."""
    from raxl import __version__
    from raxl.errors import RecipeError
    from raxl.model.plan import PLAN, PlanDocument, Refusal
    from raxl.recipe import match, plan
    from raxl.recipe.node_facts import NodeFacts

    shelf, name = shelf_of(asked, state.root)
    plans, refusals, errors = [], [], []
    for node, own in zip(inventory.nodes, facts, strict=True):
        node_facts = NodeFacts(node, own, inventory.cluster)
        try:
            chosen, candidates = match.chosen(shelf, node_facts, name)
            plans.append(plan.plan(chosen, candidates, node, own, node_facts, state.root, state, allow_code, force))
        except RecipeError as error:
            errors.append(error)
            refusals.append(Refusal(node.name, str(error)))
    return PlanDocument(PLAN, __version__, inventory.created, tuple(plans), tuple(refusals)), errors


def shelf_of(asked: str | Shelved | None, root: Path) -> tuple[list[Shelved], str | None]:
    """raxl's own recipes and those that were fetched below the root, or the one that was asked for among raxl's own;
    and the name of that one."""
    from raxl.recipe import load

    if asked is None:
        return recipe_named.every(root), None
    given = recipe_named.named(asked, root) if isinstance(asked, str) else asked
    return [*(one for one in load.shipped() if one.recipe.name != given.recipe.name), given], given.recipe.name


def exit_code(document: PlanDocument, refused: Sequence[RecipeError] = ()) -> int:
    """1 where a plan may not be applied as things stand, 3 where that is not known, else 0."""
    from raxl.model.plan import BLOCKED, EDITED, INCOMPLETE, NEEDS_CODE

    statuses = {one.status for one in document.plans}
    codes = {one.exit_code for one in refused}
    if statuses & {BLOCKED, EDITED, NEEDS_CODE} or outcome.WRONG in codes:
        return outcome.WRONG
    return outcome.INCOMPLETE if INCOMPLETE in statuses or outcome.INCOMPLETE in codes else outcome.OK
