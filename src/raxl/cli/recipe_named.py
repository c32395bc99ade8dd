"""Recipes by their names: raxl's own, and those that were fetched below a root."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from raxl.cli.recipe_flags import default_root

if TYPE_CHECKING:
    from raxl.model.recipe import Shelved


def named(name: str, root: Path | None = None) -> Shelved:
    """The recipe of this name, or of the file that the name is a path of: then it ends in .yaml or has a slash. Raises
    RecipeError where there is none, or where it is broken."""
    from raxl.recipe import load

    return load.named(name, [_folder(root)])


def file_of(name: str, root: Path | None = None) -> Path:
    """The file of that recipe. Raises RecipeError where there is none."""
    from raxl.recipe import load

    return load.path_of(name, [_folder(root)])


def fetched(root: Path | None = None) -> list[Path]:
    """The files of those that were fetched, by name."""
    return sorted(_folder(root).glob("*.yaml"))


def every(root: Path | None = None) -> list[Shelved]:
    """raxl's own and all that were fetched: what a node's recipe is chosen from. Raises RecipeError where one is
    broken: it may be the one that fits."""
    from raxl.recipe import load

    return [*load.shipped(), *map(load.read, fetched(root))]


def _folder(root: Path | None) -> Path:
    from raxl.recipe.generations import RECIPES

    return (root or default_root()) / RECIPES
