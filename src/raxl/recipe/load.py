"""A recipe from its file: its layers joined, every word of it checked."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

import raxl
from raxl.errors import RecipeError
from raxl.model import codec
from raxl.model.recipe import DOCUMENTED, Recipe, Shelved
from raxl.recipe import compiled, document, layers, maturity, pinned, rules, shape
from raxl.recipe.document import Document, Fault, Keys, Node, Place
from raxl.recipe.rule import Wrong

_PACKED = Path(raxl.__file__).parent / "recipes"
SHIPPED = _PACKED if _PACKED.is_dir() else Path(raxl.__file__).parents[2] / "recipes"
"""The folder of raxl's own recipes: beside the package in a wheel, at the top of a checkout."""
OWN = "raxl"
"""The origin of those."""
SUFFIXES = (".yaml", ".yml")
_NEAR = 3
"""Names that are told of those that are like one that is none."""


class Examined(NamedTuple):
    """All that is to be said of a recipe's file."""

    path: Path
    shelved: Shelved | None
    """None where there are faults."""
    faults: Sequence[Fault]
    warnings: Sequence[Fault] = ()


def read(path: Path) -> Shelved:
    """The recipe of a file, with the maturity that it has earned. Raises RecipeError, which names the line and the key,
    or UnreadableInput."""
    return _shelved(*_read(path), str(path), path.parent)


def read_text(text: str, origin: str, folder: Path | None = None) -> Shelved:
    """The recipe that a text is. `origin` is what errors call it; what it extends lies in `folder` or is raxl's own."""
    folders = [SHIPPED] if folder is None else [folder, SHIPPED]
    return _shelved(*_loaded(document.of_text(text, origin), None, folders), origin, folder)


def faults(text: str, origin: str, folder: Path | None = None) -> Sequence[Fault]:
    """All that is wrong with the recipe that a text is, from its first line to its last."""
    folders = [SHIPPED] if folder is None else [folder, SHIPPED]
    return _in_order(_loaded(document.of_text(text, origin), None, folders)[1], origin)


def named(name: str, folders: Sequence[Path] = ()) -> Shelved:
    """The recipe of this name among raxl's own and those in `folders`, or of the file that the name is a path of.
    Raises RecipeError where there is none."""
    own = next((one for one in shipped() if one.recipe.name == name), None)
    return own or read(path_of(name, folders))


def path_of(name: str, folders: Sequence[Path] = ()) -> Path:
    """The file of the recipe that is called so."""
    if name.endswith(SUFFIXES) or "/" in name:
        return Path(name)
    for folder in (SHIPPED, *folders):
        path = folder / f"{name}.yaml"
        if layers.NAME.fullmatch(name) and path.is_file():
            return path
    known = [path.stem for folder in (SHIPPED, *folders) for path in sorted(folder.glob("*.yaml"))]
    near = [one for one in known if name and name in one] or difflib.get_close_matches(name, known, _NEAR)
    *others, last = near[:_NEAR] or [""]
    meant = f"{', '.join(others)} or {last}" if others else last
    step = f"Did you mean {meant}? raxl recipe list names all" if meant else "Try raxl recipe list"
    raise RecipeError(f"no recipe is called {name[:80]}", try_=step)


def shipped() -> list[Shelved]:
    """raxl's own recipes, by name, as they were compiled."""
    return list(compiled.read())


def of_files() -> list[Shelved]:
    """The same from their files, every word of them checked."""
    return [read(path) for path in sorted(SHIPPED.glob("*.yaml"))]


def shelved(recipe: Recipe, origin: str) -> Shelved:
    """With the hash by which reports and plans know it."""
    recipe = shape.whole(recipe)
    told = codec.encode(replace(recipe, maturity=DOCUMENTED, reports=()))
    return Shelved(recipe, origin, hashlib.sha256(told.encode()).hexdigest())


def checked(recipe: Recipe, origin: str) -> Shelved:
    """A recipe that came with a saved plan, held against the same rules as that of a file. Raises RecipeError."""
    faults = [Fault(Place(origin, 0), one.keys, one.what) for one in rules.wrong(recipe)]
    if faults:
        raise _error(faults)
    return shelved(recipe, origin)


def examined(path: Path, today: date) -> Examined:
    """All that is wrong with a recipe's file, that it claims without having earned it, and that should be looked at.
    Raises UnreadableInput."""
    recipe, faults, tree = _read(path)
    if recipe is None:
        return Examined(path, None, _in_order(faults, str(path)))
    own = shelved(recipe, str(path))
    unearned = _placed(maturity.wrong(own, path.parent), tree, str(path))
    warnings = _placed(rules.aged(recipe, today), tree, str(path))
    return Examined(path, None if unearned else own, unearned, warnings)


_Loaded = tuple[Recipe | None, Sequence[Fault], Node | None]


def _read(path: Path) -> _Loaded:
    data = document.content(path)
    if changed := pinned.fault(path, data):
        return None, [changed], None
    recipe, faults, tree = _loaded(document.of_bytes(data, str(path)), path, [SHIPPED])
    name = tree.entries.get("name") if tree else None
    if name is not None and isinstance(name.value, str) and name.value != path.stem:
        called = Fault(name.place, ("name",), f"is to be {path.stem}, as the file is called, not {name.value[:80]!r}")
        return None, [called, *(one for one in faults if one.keys != ("name",))], tree
    return recipe, faults, tree


def _loaded(read: Document, own: Path | None, folders: Sequence[Path]) -> _Loaded:
    """The recipe, else all that is wrong with it."""
    if read.tree is None:
        return None, read.faults, None
    tree, unjoined = layers.joined(read.tree, own, folders)
    held = shape.held(tree)
    faults = [*read.faults, *unjoined, *held.faults]
    if not held.plain:
        return None, faults, tree
    recipe: Recipe = codec.converted(held.plain, Recipe)
    told = [one for one in rules.wrong(recipe) if not _follows(one.keys, held.broken)]
    faults += _placed(told, tree, tree.place.origin)
    return None if faults else recipe, faults, tree


def _follows(keys: Keys, broken: Iterable[Keys]) -> bool:
    """Whether something stands there in place of what was not to be read."""
    return any(keys[: len(one)] == one or one[: len(keys)] == keys for one in broken)


def _placed(wrong: Iterable[Wrong], tree: Node | None, origin: str) -> list[Fault]:
    return [Fault(tree.place_of(one.keys) if tree else Place(origin, 0), one.keys, one.what) for one in wrong]


def _shelved(
    recipe: Recipe | None, faults: Sequence[Fault], tree: Node | None, origin: str, folder: Path | None
) -> Shelved:
    if recipe is None:
        raise _error(_in_order(faults, origin))
    own = shelved(recipe, OWN if Path(origin).parent == SHIPPED else origin)
    return replace(own, recipe=replace(own.recipe, maturity=maturity.earned(own, folder)))


def _in_order(faults: Sequence[Fault], origin: str) -> list[Fault]:
    """Those of the file itself first, each file's from its first line to its last."""
    return sorted(faults, key=lambda one: (one.place.origin != origin, one.place))


def _error(faults: Sequence[Fault]) -> RecipeError:
    more = f"and {len(faults) - 1} more" if len(faults) > 1 else ""
    file = faults[0].place.origin
    step = f"raxl recipe validate {file} lists them" if more and faults[0].place.line else ""
    return RecipeError(str(faults[0]), more, step)
