"""`raxl recipe verify` and `raxl recipe report`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import json_or_null, outcome, recipe_flags, recipe_named, source

if TYPE_CHECKING:
    from raxl.cli.streams import Streams
    from raxl.model.recipe import Shelved
    from raxl.model.verification import Report
    from raxl.recipe.generations import State


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"
    markdown = "markdown"


class Options(NamedTuple):
    """The flags of `raxl recipe verify`."""

    source: source.Source
    name: str | None = None
    root: Path | None = None
    budget: float = 60.0
    no_bench: bool = False
    format: Format = Format.text
    output: Path | None = None


Name = Annotated[
    Optional[str],
    typer.Argument(metavar="[NAME|FILE]", help="The recipe [default: the one in force, else the one that fits]."),
]
Budget = Annotated[str, typer.Option("--budget", metavar="TIME", help="For the benchmarks, more or less: 30s, 5m.")]
NoBench = Annotated[bool, typer.Option("--no-bench", help="Measure nothing: the figures are skipped.")]
Saved = Annotated[
    Optional[Path],
    typer.Argument(metavar="[FILE]", help="A report of raxl recipe verify --format json [default: the last one]."),
]
Formats = Annotated[Format, typer.Option("--format", help="How the result is written.")]


def verify(
    name: Name = None,
    root: recipe_flags.Root = None,
    budget: Budget = "60s",
    no_bench: NoBench = False,
    format_: Formats = Format.text,
    output: source.Output = None,
    from_: source.From = None,
    as_node: source.AsNode = None,
    cluster: source.Cluster = False,
    address: source.Address = None,
    record: source.Record = None,
    timeout: source.Timeout = 20.0,
    plugins: source.Plugins = None,
) -> None:
    """Check the nodes by the recipe, measure its figures, and say which way the bytes went. Changes nothing but the
    machine's own baseline beside the receipt."""
    from raxl.bench import request
    from raxl.cli.streams import Streams

    chosen = source.Source(
        tuple(from_ or ()), as_node, record, timeout, tuple(plugins or ()), cluster, address, "checks"
    )
    seconds = request.seconds(budget, "--budget")
    streams = Streams()
    with json_or_null.told(format_ is Format.json, streams):
        raise typer.Exit(run(Options(chosen, name, root, seconds, no_bench, format_, output), streams))


def report(
    file: Saved = None, root: recipe_flags.Root = None, format_: Formats = Format.markdown, output: source.Output = None
) -> None:
    """Write what the last verification found: versions, settings and where they are set, checks, figures beside the
    recipe's, and what was not verified."""
    from raxl.cli.streams import Streams
    from raxl.errors import UsageError

    if file is not None and root is not None:
        raise UsageError("a report is that of FILE or the last one below --root, not both")
    streams = Streams()
    with json_or_null.told(format_ is Format.json, streams):
        raise typer.Exit(shown(file, root, format_, output, streams))


def run(options: Options, streams: Streams) -> int:
    """Reads, checks, measures, keeps, writes, and returns the exit code."""
    from raxl.checks import diagnosis
    from raxl.cli import recipe_nodes, recipe_verified
    from raxl.collect import facts, keeping
    from raxl.recipe import diagnosing

    if options.output is not None:
        keeping.check(options.output)
    state = _standing(options)
    shelved = _named(options.name, state)
    if shelved is not None:
        diagnosis.held(diagnosing.wanted(shelved.recipe, diagnosis.EVERYTHING, diagnosing.literal(shelved.recipe)))
    recordings, inventory = source.assembled(options.source, "raxl.checks.diagnosis")
    own = [facts.of(recording, node) for recording, node in zip(recordings, inventory.nodes, strict=True)]
    shelved = shelved or recipe_nodes.chosen(inventory, own, state.root)
    found = recipe_nodes.fitting(shelved, inventory, own)
    document = recipe_verified.verified(shelved, found, state, options, streams)
    _write(document, options.format, options.output, streams)
    return code(document)


def shown(file: Path | None, root: Path | None, format_: Format, output: Path | None, streams: Streams) -> int:
    """Writes a report that was kept or saved, and returns the exit code of what it says."""
    from raxl.errors import RecipeError
    from raxl.model import printable
    from raxl.recipe import generations, notes

    if file is not None:
        document: Report | None = notes.decoded_report(_text(file), str(file))
    else:
        state = generations.state(root or recipe_flags.default_root())
        document = notes.report(state)
        if document is None:
            raise RecipeError(f"nothing was verified below {state.root}", "", "Try raxl recipe verify")
    harmless: Report = printable.record(document)
    _write(harmless, format_, output, streams)
    return code(harmless)


def code(document: Report) -> int:
    """1 where something is wrong, 3 where something could not be verified that applies, else 0."""
    from raxl.model.verification import FAILED, INCOMPLETE

    return {FAILED: outcome.WRONG, INCOMPLETE: outcome.INCOMPLETE}.get(document.status, outcome.OK)


def _standing(options: Options) -> State:
    """What is in force below the root. Of recorded facts nothing, unless the root is named: they are another
    machine's."""
    from raxl.recipe import folder, generations

    if options.source.paths and options.root is None:
        return generations.State(folder.resolved(recipe_flags.default_root()))
    return generations.state(options.root or recipe_flags.default_root())


def _named(name: str | None, state: State) -> Shelved | None:
    """The recipe that is named, else the one in force; None without either."""
    from raxl.errors import RecipeError

    if name is not None:
        return recipe_named.named(name, state.root)
    if state.receipt is None:
        return None
    applied = state.receipt.recipe
    try:
        recipe_named.file_of(applied, state.root)
    except RecipeError as error:
        told = f"{applied} is in force, and no recipe of raxl's is called so"
        raise RecipeError(told, "", "Name its file: raxl recipe verify FILE") from error
    return recipe_named.named(applied, state.root)


def _text(path: Path) -> str:
    """Of a regular file of bounded size."""
    from raxl.errors import UnreadableInput
    from raxl.recipe.notes import LARGEST

    if path.exists() and not path.is_file():
        raise UnreadableInput(f"{path} cannot be read", "it is no regular file")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error
    if len(content) > LARGEST:
        raise UnreadableInput(f"{path} is no report", f"it is larger than {LARGEST >> 20} MiB")
    return content.decode("utf-8", "replace")


def _write(document: Report, format_: Format, output: Path | None, streams: Streams) -> None:
    if format_ is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document), output)
    elif format_ is Format.markdown:
        from raxl.render import recipe_report_markdown

        streams.write(recipe_report_markdown.markdown(document), output)
    else:
        from raxl.render import text_recipe_report

        streams.print(text_recipe_report.report(document, streams.width, unicode=streams.unicode), output)
