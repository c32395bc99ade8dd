"""The list of recipes that a publisher serves: `raxl.recipe-index/v1`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

RECIPE_INDEX = "raxl.recipe-index/v1"


@dataclass(frozen=True)
class IndexedRecipe:
    """One recipe or layer, known by the hash of its file."""

    name: str
    title: str
    maturity: str
    """documented | observed | validated"""
    file: str
    """Relative to the index, or to its `base`: `NAME.yaml`, of a layer `layers/NAME.yaml`."""
    sha256: str
    """Of the file's bytes."""
    size_bytes: int
    layer: bool = False
    """Whether it is only there to be extended."""
    extends: Optional[str] = None
    """The recipe or layer that it needs."""


@dataclass(frozen=True)
class RecipeIndex:
    """The root of `raxl.recipe-index/v1`."""

    schema: str
    raxl_version: str
    created: str
    recipes: Tuple[IndexedRecipe, ...] = ()
    """By name, the layers after the others."""
    base: Optional[str] = None
    """The folder that serves the files, `https://…/`, where that is not the index's own."""
