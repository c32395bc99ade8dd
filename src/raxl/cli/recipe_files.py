"""`raxl recipe list`, `raxl recipe show`, `raxl recipe validate`."""

from __future__ import annotations

from datetime import date
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Optional

import typer

from raxl.cli import json_or_null, outcome, recipe_named, source
from raxl.cli.recipe_flags import Root

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from raxl.cli.streams import Streams
    from raxl.model.recipe import RecipeFault, RecipeRecord, RecipesDocument, Shelved
    from raxl.recipe.document import Fault
    from raxl.recipe.load import Examined


class Format(str, Enum):
    """How a list is written."""

    text = "text"
    json = "json"


class ShownFormat(str, Enum):
    """How a recipe is written."""

    text = "text"
    json = "json"
    yaml = "yaml"


class Options(NamedTuple):
    """Which recipes, and how they are written."""

    names: tuple[str, ...] = ()
    format: str = "text"
    output: Path | None = None
    root: Path | None = None


FormatOption = Annotated[Format, typer.Option("--format", help="How the result is written.")]


def list_(root: Root = None, format_: FormatOption = Format.text, output: source.Output = None) -> None:
    """List the recipes: raxl's own, and those that were fetched."""
    from raxl.cli.streams import Streams

    raise typer.Exit(listed(Options((), format_.value, output, root), Streams()))


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME|FILE", help="A recipe of the list, or a file that ends in .yaml.")
    ],
    root: Root = None,
    format_: Annotated[
        ShownFormat, typer.Option("--format", help="How it is written: yaml is one file, its layers joined.")
    ] = ShownFormat.text,
    output: source.Output = None,
) -> None:
    """Show what a recipe is for, asks, sets and expects, and where each of it comes from."""
    from raxl.cli.streams import Streams

    streams = Streams()
    with json_or_null.told(format_ is ShownFormat.json, streams):
        raise typer.Exit(shown(Options((name,), format_.value, output, root), streams))


def validate(
    names: Annotated[
        Optional[list[str]],
        typer.Argument(metavar="[NAME|FILE|DIR]...", help="Those to look at; all of raxl's own without."),
    ] = None,
    root: Root = None,
    format_: FormatOption = Format.text,
    output: source.Output = None,
) -> None:
    """Say everything that is wrong with recipes, with the line and the key; exit 1 where something is."""
    from raxl.cli.streams import Streams

    streams = Streams()
    with json_or_null.told(format_ is Format.json, streams):
        raise typer.Exit(validated(Options(tuple(names or ()), format_.value, output, root), date.today(), streams))


def listed(options: Options, streams: Streams) -> int:
    """Reads them all, and prints a row each. One that was fetched and is broken is told beside."""
    from raxl.errors import RaxlError
    from raxl.recipe import load

    found = load.shipped()
    for path in recipe_named.fetched(options.root):
        try:
            found.append(load.read(path))
        except RaxlError as error:
            streams.note(str(error))
    document = _document(_record(one) for one in found if not one.recipe.layer)
    if options.format == "json":
        _json(document, options, streams)
    else:
        from raxl.render import text_recipes

        lines = text_recipes.listed(document, streams.width, unicode=streams.unicode)
        streams.print(lines, options.output)
    return outcome.OK


def shown(options: Options, streams: Streams) -> int:
    """Reads one, and prints it."""
    from raxl.model import codec, printable

    one = recipe_named.named(options.names[0], options.root)
    recipe = printable.record(one.recipe)
    if options.format == "json":
        streams.write(codec.encode(recipe), options.output)
    elif options.format == "yaml":
        from raxl.recipe import document, shape

        streams.write(document.written(shape.said(recipe)), options.output)
    else:
        from raxl.render import text_recipe

        lines = text_recipe.shown(recipe, options.names[0], streams.width, unicode=streams.unicode)
        streams.print(lines, options.output)
    return outcome.OK


def validated(options: Options, today: date, streams: Streams) -> int:
    """Looks at each, prints what is wrong, and returns the exit code."""
    from raxl.recipe import load

    paths = [path for name in options.names for path in _named(name, options.root)] or _within(load.SHIPPED)
    document = _document(_examined(load.examined(path, today)) for path in paths)
    if options.format == "json":
        _json(document, options, streams)
    else:
        from raxl.render import text_recipes

        lines = text_recipes.validated(document, streams.width, unicode=streams.unicode)
        streams.print(lines, options.output)
    return outcome.WRONG if any(one.faults for one in document.recipes) else outcome.OK


def _named(name: str, root: Path | None) -> list[Path]:
    """The recipe's file, or all of the folder that has this name where no recipe has."""
    from raxl.errors import RecipeError, UnreadableInput

    try:
        path = recipe_named.file_of(name, root)
    except RecipeError:
        path = Path(name)
        if not path.is_dir():
            raise
    if not path.is_dir():
        return [path]
    found = _within(path)
    if not found:
        raise UnreadableInput(f"{path} holds no recipe", "no file there ends in .yaml")
    return found


def _within(folder: Path) -> list[Path]:
    """The folder's recipes, then its layers."""
    from raxl.recipe.layers import FOLDER

    return [path for place in (folder, folder / FOLDER) for path in sorted(place.glob("*.yaml"))]


def _document(records: Iterable[RecipeRecord]) -> RecipesDocument:
    from raxl import __version__
    from raxl.model import printable, schemas
    from raxl.model.recipe import RecipesDocument

    return RecipesDocument(schemas.RECIPES, __version__, tuple(printable.record(one) for one in records))


def _json(document: RecipesDocument, options: Options, streams: Streams) -> None:
    from raxl.model import codec

    streams.write(codec.encode(document), options.output)


def _record(one: Shelved, **more: Any) -> RecipeRecord:
    from raxl.model.recipe import RecipeRecord

    recipe = one.recipe
    newest = max((source.read for source in recipe.source), default=None)
    return RecipeRecord(
        recipe.name, recipe.title, recipe.maturity, one.origin, one.sha256, newest, recipe.layer, **more
    )


def _examined(one: Examined) -> RecipeRecord:
    from raxl.model.recipe import RecipeRecord

    if one.shelved is not None:
        return _record(one.shelved, warnings=_faults(one.warnings))
    return RecipeRecord(one.path.stem, "", "", str(one.path), None, faults=_faults(one.faults))


def _faults(faults: Sequence[Fault]) -> tuple[RecipeFault, ...]:
    from raxl.model.recipe import RecipeFault
    from raxl.recipe.document import spelled

    return tuple(RecipeFault(one.place.origin, one.place.line or None, spelled(one.keys), one.what) for one in faults)
