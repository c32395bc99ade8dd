"""`raxl recipe fetch` and `raxl recipe index`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import outcome, recipe_flags

if TYPE_CHECKING:
    from raxl.cli.streams import Streams


class FetchOptions(NamedTuple):
    """The flags of `raxl recipe fetch`."""

    target: str
    listing: str | None = None
    sha256: str | None = None
    root: Path | None = None
    allow_loopback: bool = False


class IndexOptions(NamedTuple):
    """The flags of `raxl recipe index`."""

    folder: Path
    output: Path | None = None
    base_url: str | None = None


def fetch(
    target: Annotated[str, typer.Argument(metavar="URL|NAME", help="A recipe's address, or its name in an index.")],
    index: Annotated[
        Optional[str],
        typer.Option(
            "--index",
            metavar="URL|FILE",
            help="The index that lists NAME: a file, or an address as URL#sha256=SUM [default: the one used last].",
        ),
    ] = None,
    sha256: Annotated[
        Optional[str],
        typer.Option("--sha256", metavar="SUM", help="What the address has to hold; the same as URL#sha256=SUM."),
    ] = None,
    root: recipe_flags.Root = None,
    allow_loopback: Annotated[
        bool, typer.Option("--allow-loopback", help="Also from this machine itself: a mirror, or a tunnel to one.")
    ] = False,
) -> None:
    """Fetch a recipe over HTTPS, pinned by its SHA-256, check it, and keep it. Nothing of it is executed."""
    from raxl.cli.streams import Streams

    raise typer.Exit(run_fetch(FetchOptions(target, index, sha256, root, allow_loopback), Streams()))


def run_fetch(options: FetchOptions, streams: Streams) -> int:
    """Fetches, keeps, says what was kept, and returns the exit code."""
    from raxl.recipe import fetching
    from raxl.render import text_recipe_fetch

    request = fetching.Request(
        options.target,
        options.root or recipe_flags.default_root(),
        options.listing,
        options.sha256,
        options.allow_loopback,
    )
    found = fetching.fetched(request)
    named = None if options.root is None else str(options.root)
    kept = [(str(one.path), one.sha256, one.status) for one in found.files]
    streams.print(text_recipe_fetch.fetched(found.recipe, kept, named, streams.width, unicode=streams.unicode))
    return outcome.OK


def index(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The recipes, with their layers in its folder layers.")],
    output: Annotated[
        Optional[Path],
        typer.Option("--output", metavar="FILE", help="Where the index is written [default: DIR/index.json]."),
    ] = None,
    base_url: Annotated[
        Optional[str],
        typer.Option(
            "--base-url", metavar="URL", help="The folder that serves the files, where it is not the index's own."
        ),
    ] = None,
) -> None:
    """Check every recipe of a folder and write the index that its publisher serves, with each file's SHA-256."""
    from raxl.cli.streams import Streams

    raise typer.Exit(run_index(IndexOptions(folder, output, base_url), Streams()))


def run_index(options: IndexOptions, streams: Streams) -> int:
    """Makes the index, writes it where it differs from the one that is there, and returns the exit code."""
    import hashlib

    from raxl.collect import keeping
    from raxl.recipe import index as indexes
    from raxl.render import text_recipe_fetch

    made = indexes.made(options.folder, options.base_url)
    path = options.output or options.folder / "index.json"
    content = indexes.encoded(made)
    old = path.read_bytes() if path.is_file() else None
    if old is not None and indexes.unchanged(made, old):
        content = old
    else:
        keeping.save(content, path)
    digest = hashlib.sha256(content).hexdigest()
    lines = text_recipe_fetch.indexed(made, str(path), digest, content is old, streams.width, unicode=streams.unicode)
    streams.print(lines)
    return outcome.OK
