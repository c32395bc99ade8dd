"""Recipes that were fetched: kept below a root, each beside the hash by which it was known.

`NAME.yaml.sha256` is what `sha256sum -c` takes. A file that does not fit it was changed by somebody: it stays.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from raxl.errors import CannotStart, RecipeError, UnreadableInput
from raxl.model.recipe import Recipe
from raxl.recipe import folder, generations, index, load
from raxl.recipe.fetch import LARGEST_INDEX
from raxl.recipe.folder import Folder

RECIPES = generations.RECIPES
INDEX, INDEX_URL = "index.json", "index.url"
NEW, REPLACED, SAME = "new", "replaced", "same"


class Fetched(NamedTuple):
    """A file as a publisher serves it."""

    file: str
    """`NAME.yaml`, of a layer `layers/NAME.yaml`."""
    content: bytes
    origin: str
    """Where it came from."""

    @property
    def sha256(self) -> str:
        """Of its bytes."""
        return hashlib.sha256(self.content).hexdigest()


class Kept(NamedTuple):
    """A file as it lies on the shelf now."""

    path: Path
    sha256: str
    status: str
    """new | replaced | same"""


class KeptIndex(NamedTuple):
    """The index that was used last."""

    content: bytes
    base: str
    """The folder that serves its files."""


def valid(files: Sequence[Fetched], root: Path) -> Recipe:
    """The recipe, which is the first of the files, joined with its layers: those that came with it, then those on the
    shelf, then raxl's own. Raises RecipeError where it is not valid, or would hide one of raxl's own."""
    recipe = files[0]
    if (load.SHIPPED / recipe.file).exists():
        name = recipe.file.removesuffix(".yaml")
        raise RecipeError(f"raxl has a recipe {name} of its own", f"the one from {recipe.origin} would hide it")
    with tempfile.TemporaryDirectory(prefix="raxl-") as staged:
        place = Path(staged)
        (place / index.LAYERS).mkdir()
        for file, content in {**_layers(root), **{one.file: one.content for one in files[1:]}}.items():
            (place / file).write_bytes(content)
        try:
            read = load.read_text(recipe.content.decode("utf-8-sig"), recipe.origin, place).recipe
        except UnicodeDecodeError as error:
            raise RecipeError(f"{recipe.origin} is no recipe", "it is no UTF-8 text") from error
    if read.layer:
        raise RecipeError(f"{recipe.origin} is a layer", "it is only there to be extended", "Fetch a recipe")
    return read


def keep(root: Path, files: Sequence[Fetched], used: KeptIndex | None = None) -> list[Kept]:
    """Puts the files on the shelf, the recipe last, each from one moment to the next; `used` is the index that they
    were found in. Raises RecipeError, and keeps nothing, where somebody changed one that is there."""
    try:
        with folder.opened(folder.resolved(root), []) as top, _within(top, RECIPES) as shelf:
            with _within(shelf, index.LAYERS) as layers:
                places = [(layers if "/" in one.file else shelf, one) for one in files]
                status = [_status(place, one) for place, one in places]
                for one, told in zip(files, status):
                    if told == REPLACED and "/" in one.file:
                        _hold_layer(shelf, one, files[0].file)
                for (place, one), told in reversed(list(zip(places, status))):
                    _write(place, one, told)
                layers.sync()
            if used is not None:
                _write_index(shelf, used)
            shelf.sync()
            return [Kept(shelf.path / one.file, one.sha256, told) for one, told in zip(files, status)]
    except OSError as error:
        raise CannotStart(f"{root} cannot be written", error.strerror or str(error)) from error


def kept_index(root: Path) -> KeptIndex:
    """The index that was used last. Raises RecipeError where somebody changed it, UnreadableInput where there is
    none."""
    try:
        with folder.opened(folder.resolved(root)) as top, top.folder(RECIPES) as shelf:
            content = shelf.read(INDEX, LARGEST_INDEX)
            base = shelf.read(INDEX_URL).decode("utf-8", "replace").strip()
            recorded = _recorded(shelf, INDEX)
    except FileNotFoundError as error:
        raise UnreadableInput("no index was used here yet", "", "Name one: --index URL#sha256=SUM") from error
    except OSError as error:
        raise UnreadableInput(f"{root} cannot be read", error.strerror or str(error)) from error
    found = hashlib.sha256(content).hexdigest()
    if recorded != found:
        path = Path(root) / RECIPES / INDEX
        raise RecipeError(
            f"{path} was changed: expected {recorded}, got {found}", "", "Name one: --index URL#sha256=SUM"
        )
    return KeptIndex(content, base)


def _within(top: Folder, name: str) -> Folder:
    with contextlib.suppress(FileExistsError):
        top.make(name)
        top.sync()
    return top.folder(name)


def _layers(root: Path) -> dict[str, bytes]:
    """Those on the shelf, as far as they can be read."""
    found: dict[str, bytes] = {}
    with (
        contextlib.suppress(OSError),
        folder.opened(folder.resolved(root)) as top,
        top.folder(RECIPES) as shelf,
        shelf.folder(index.LAYERS) as layers,
    ):
        for name in layers.names():
            if name.endswith(".yaml"):
                found[f"{index.LAYERS}/{name}"] = layers.read(name)
    return found


def _status(place: Folder, one: Fetched) -> str:
    name = one.file.rpartition("/")[2]
    try:
        old = hashlib.sha256(place.read(name)).hexdigest()
    except FileNotFoundError:
        return NEW
    recorded = _recorded(place, name)
    if old == one.sha256:
        return SAME
    if recorded == old:
        return REPLACED
    told = f"expected {recorded}, got {old}" if recorded else f"it has {old}, and no sum lies beside it"
    raise RecipeError(f"{place.path / name} was changed: {told}", "fetching would overwrite it", "Move it away")


def _recorded(place: Folder, name: str) -> str | None:
    try:
        return place.read(f"{name}.sha256").decode("ascii", "replace").split(" ")[0]
    except FileNotFoundError:
        return None


def _hold_layer(shelf: Folder, layer: Fetched, own: str) -> None:
    """Raises RecipeError where another recipe on the shelf extends the layer: it would become another recipe."""
    stem = layer.file.rpartition("/")[2].removesuffix(".yaml")
    for name in shelf.names():
        if name.endswith(".yaml") and name != own and index.said(shelf.read(name), name, "extends") == stem:
            raise RecipeError(
                f"{shelf.path / name} extends another layer {stem}",
                f"the one from {layer.origin} would change it",
                "Keep the two apart: --root",
            )


def _write(place: Folder, one: Fetched, status: str) -> None:
    name = one.file.rpartition("/")[2]
    if status != SAME:
        _put(place, name, one.content)
    # Last: a file without its sum is one that fetching it again mends.
    _put(place, f"{name}.sha256", f"{one.sha256}  {name}\n".encode())


def _write_index(shelf: Folder, used: KeptIndex) -> None:
    _put(shelf, f"{INDEX}.sha256", f"{hashlib.sha256(used.content).hexdigest()}  {INDEX}\n".encode())
    _put(shelf, INDEX_URL, f"{used.base}\n".encode())
    _put(shelf, INDEX, used.content)


def _put(place: Folder, name: str, content: bytes) -> None:
    staged = folder.staged_name()
    try:
        place.write(staged, content)
        place.rename(staged, name)
    except BaseException:
        with contextlib.suppress(OSError):
            place.remove(staged)
        raise
