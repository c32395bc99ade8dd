"""The index of a folder of recipes: made for who publishes them, read by who fetches one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path

import raxl
from raxl.errors import RecipeError, UnreadableInput
from raxl.model import codec, printable
from raxl.model.recipe import MATURITIES
from raxl.model.recipe_index import RECIPE_INDEX, IndexedRecipe, RecipeIndex
from raxl.recipe import document, load
from raxl.recipe.fetch import LARGEST_INDEX, LARGEST_RECIPE

LAYERS = "layers"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
_SUM = re.compile(r"[0-9a-f]{64}", re.ASCII)
_MOST = 1000


def made(folder: Path, base: str | None = None, now: datetime | None = None) -> RecipeIndex:
    """The index of the recipes of a folder and their layers. Raises RecipeError, and what reading one raises, for the
    first that is not valid."""
    try:
        files = [*sorted(folder.glob("*.yaml")), *sorted((folder / LAYERS).glob("*.yaml"))]
        if not folder.is_dir():
            raise UnreadableInput(f"{folder}: no such folder")
    except OSError as error:
        raise UnreadableInput(f"{folder} cannot be read", error.strerror or str(error)) from error
    if not files:
        raise RecipeError(f"{folder} holds no recipe", "their files end in .yaml")
    now = (now or datetime.now(timezone.utc)).astimezone(timezone.utc)
    entries = [_entry(path, path.parent != folder, now.date()) for path in files]
    told = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    index = RecipeIndex(RECIPE_INDEX, raxl.__version__, told, tuple(entries), base)
    hold(index, str(folder))
    return index


def _entry(path: Path, is_layer: bool, today: date) -> IndexedRecipe:
    if path.is_symlink() or not path.is_file():
        raise RecipeError(f"{path} is no regular file", "an index lists files of its own folder")
    data = document.content(path)
    seen = load.examined(path, today)
    if seen.shelved is None:
        raise RecipeError(str(seen.faults[0]), f"and {len(seen.faults) - 1} more" if len(seen.faults) > 1 else "")
    recipe = seen.shelved.recipe
    if recipe.layer != is_layer:
        raise RecipeError(f"{path}: layer: {str(recipe.layer).lower()}", f"layers, and they alone, lie in {LAYERS}/")
    file = f"{LAYERS}/{path.name}" if is_layer else path.name
    digest = hashlib.sha256(data).hexdigest()
    extends = said(data, str(path), "extends")
    return IndexedRecipe(recipe.name, recipe.title, recipe.maturity, file, digest, len(data), is_layer, extends)


def said(data: bytes, origin: str, key: str) -> str | None:
    """What a recipe's file itself says under a key at its top, where that is text."""
    tree = document.of_bytes(data, origin).tree
    value = tree.entries[key].value if tree is not None and key in tree.entries else None
    return value if isinstance(value, str) else None


def encoded(index: RecipeIndex) -> bytes:
    """The file."""
    return codec.encode(index).encode()


def unchanged(index: RecipeIndex, old: bytes) -> bool:
    """Whether a file is this index, but for the time at which it was made: then it may stay, and its sum with it."""
    try:
        return replace(codec.decode(old.decode(), RecipeIndex), created=index.created) == index
    except (ValueError, UnicodeDecodeError):
        return False


def decoded(data: bytes, origin: str) -> RecipeIndex:
    """The index that a file holds. Raises RecipeError for what is none."""
    if len(data) > LARGEST_INDEX:
        raise RecipeError(f"{origin} is too large", f"an index has at most {LARGEST_INDEX >> 20} MiB")
    try:
        index = codec.decode(data.decode(), RecipeIndex)
    except (ValueError, UnicodeDecodeError) as error:
        raise RecipeError(
            f"{origin} is no index of recipes", " ".join(printable.clean(str(error)).split())[:120]
        ) from error
    if index.schema != RECIPE_INDEX:
        raise RecipeError(f"{origin} is no index of recipes", f"its schema is {printable.clean(index.schema)[:60]!r}")
    hold(index, origin)
    return printable.record(index)  # type: ignore[no-any-return]


def hold(index: RecipeIndex, origin: str) -> None:
    """Raises RecipeError where an entry is not what one may be."""
    for fault in _faults(index):
        raise RecipeError(f"{origin}: {printable.clean(fault)}")


def _faults(index: RecipeIndex) -> Iterator[str]:
    if len(index.recipes) > _MOST:
        yield f"it lists more than {_MOST} recipes"
    seen: dict[str, str] = {}
    for one in index.recipes:
        told = one.name[:80]
        if not NAME.fullmatch(one.name):
            yield f"{told!r} is no name of a recipe"
        if one.file != (f"{LAYERS}/{one.name}.yaml" if one.layer else f"{one.name}.yaml"):
            yield f"the file of {told} is {one.file[:120]!r}, not {'layers/' * one.layer}{told}.yaml"
        if one.name in seen:
            yield f"{told} is there twice"
        if not _SUM.fullmatch(one.sha256):
            yield f"{told} has no SHA-256: {one.sha256[:80]!r}"
        if not 0 < one.size_bytes <= LARGEST_RECIPE:
            yield f"{told} has {one.size_bytes} bytes: a recipe has at most {LARGEST_RECIPE >> 20} MiB"
        if one.maturity not in MATURITIES:
            yield f"{told} has the maturity {one.maturity[:40]!r}"
        if one.extends is not None and not NAME.fullmatch(one.extends):
            yield f"{told} extends {one.extends[:80]!r}"
        seen[one.name] = one.file
    if index.base is not None and not (index.base.startswith("https://") and index.base.endswith("/")):
        yield f"its base is {index.base[:120]!r}, and has to be https://…/"


def wanted(index: RecipeIndex, name: str, origin: str) -> list[IndexedRecipe]:
    """The recipe of this name, then what it extends as far as the index has it."""
    by_name: Mapping[str, IndexedRecipe] = {one.name: one for one in index.recipes}
    if name not in by_name or by_name[name].layer:
        known = [one.name for one in index.recipes if not one.layer]
        told = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
        raise RecipeError(f"{origin} has no recipe {name}", f"it has {told}" if known else "it has none")
    found: list[IndexedRecipe] = []
    following: str | None = name
    while following is not None and following in by_name and by_name[following] not in found:
        found.append(by_name[following])
        following = found[-1].extends
    return found
