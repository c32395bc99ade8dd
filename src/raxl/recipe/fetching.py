"""A recipe by its address, or by its name in an index: fetched, checked, and put on the shelf. Never executed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import urljoin

from raxl.errors import RecipeError, UnreadableInput, UsageError
from raxl.model.recipe import Recipe
from raxl.model.recipe_index import IndexedRecipe, RecipeIndex
from raxl.recipe import fetch, fetch_addresses, index, shelf
from raxl.recipe.fetch import LARGEST_INDEX, LARGEST_RECIPE, Pinned, Way
from raxl.recipe.fetch_addresses import Resolver
from raxl.recipe.shelf import Fetched, Kept, KeptIndex

_Result = TypeVar("_Result")


class Request(NamedTuple):
    """What is wanted."""

    target: str
    """An address, or the name of a recipe."""
    root: Path
    listing: str | None = None
    """The index: an address or a file; None means the one that was used last."""
    sha256: str | None = None
    """Of the recipe where the target is an address, else of the index."""
    allow_loopback: bool = False
    seconds: float = fetch.SECONDS
    resolver: Resolver = fetch_addresses.system


class Outcome(NamedTuple):
    """What came of it."""

    recipe: Recipe
    files: tuple[Kept, ...]
    """The recipe first, then its layers."""


class _Source(NamedTuple):
    """An index, and where its files lie."""

    found: RecipeIndex
    content: bytes
    origin: str
    base: str | None
    """An address; None where they lie in `folder`."""
    folder: Path


def fetched(request: Request) -> Outcome:
    """Fetches it. Raises RecipeError for what is refused and UnreadableInput for what cannot be reached; then nothing
    was kept."""
    if fetch.is_url(request.target):
        return _direct(request)
    if not index.NAME.fullmatch(request.target):
        raise UsageError(f"{request.target[:80]!r} is neither an address nor the name of a recipe")
    if request.sha256 is not None and (request.listing is None or not fetch.is_url(request.listing)):
        raise UsageError("--sha256 is the sum of an address, and none is given")
    files, used = _fetch(request, lambda way: _named(request, way))
    return _kept(request, files, used)


def _direct(request: Request) -> Outcome:
    if request.listing is not None:
        raise UsageError("--index is for names, and an address is given")
    pinned = fetch.pinned(request.target, request.sha256)
    data = _fetch(request, lambda way: fetch.content(pinned, LARGEST_RECIPE, "recipe", way))
    name = index.said(data, pinned.url, "name")
    if name is None or not index.NAME.fullmatch(name):
        raise RecipeError(f"{pinned.url} is no recipe", "it has no name of one")
    return _kept(request, [Fetched(f"{name}.yaml", data, pinned.url)], None)


def _fetch(request: Request, work: Callable[[Way], _Result]) -> _Result:
    return fetch.within(request.seconds, request.target, work, request.resolver, request.allow_loopback)


def _kept(request: Request, files: Sequence[Fetched], used: KeptIndex | None) -> Outcome:
    recipe = shelf.valid(files, request.root)
    return Outcome(recipe, tuple(shelf.keep(request.root, files, used)))


def _named(request: Request, way: Way) -> tuple[list[Fetched], KeptIndex | None]:
    """The recipe of an index and what it extends; and the index, where it says by itself who serves them."""
    source = _source(request, way)
    files = [_file(source, one, way) for one in index.wanted(source.found, request.target, source.origin)]
    return files, KeptIndex(source.content, source.base) if source.base is not None else None


def _source(request: Request, way: Way) -> _Source:
    if request.listing is None:
        kept = shelf.kept_index(request.root)
        return _Source(
            index.decoded(kept.content, "the index used last"),
            kept.content,
            "the index used last",
            kept.base,
            request.root,
        )
    if fetch.is_url(request.listing):
        pinned = fetch.pinned(request.listing, request.sha256)
        content = fetch.content(pinned, LARGEST_INDEX, "index", way)
        found = index.decoded(content, pinned.url)
        return _Source(found, content, pinned.url, found.base or urljoin(pinned.url, "."), request.root)
    path = Path(request.listing)
    content = _local(path, LARGEST_INDEX)
    found = index.decoded(content, str(path))
    return _Source(found, content, str(path), found.base, path.parent)


def _file(source: _Source, one: IndexedRecipe, way: Way) -> Fetched:
    if source.base is not None:
        url = urljoin(source.base, one.file)
        return Fetched(one.file, fetch.content(Pinned(url, one.sha256), LARGEST_RECIPE, "recipe", way), url)
    path = source.folder / one.file
    content = _local(path, LARGEST_RECIPE)
    fetch.hold(content, one.sha256, str(path), "recipe")
    return Fetched(one.file, content, str(path))


def _local(path: Path, largest: int) -> bytes:
    """All of a regular file: a pipe or a device may never end."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableInput(f"{path} is no regular file")
            content = file.read(largest + 1)
    except FileNotFoundError as error:
        raise UnreadableInput(f"{path}: no such file") from error
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{path} cannot be read", getattr(error, "strerror", None) or str(error)) from error
    if len(content) > largest:
        raise RecipeError(f"{path} is too large", f"at most {largest >> 20} MiB are read")
    return content
