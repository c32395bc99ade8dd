"""`raxl recipe fetch` and `raxl recipe index`: what was kept, what is to be published."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from raxl.model.recipe import Recipe
from raxl.model.recipe_index import RecipeIndex
from raxl.render.columns import Column, Row, lay_out
from raxl.render.text import Line, Page, parted

_RECIPES = (Column("RECIPE"), Column("MATURITY", rank=1), Column("TITLE", rank=2, least=12), Column("SHA-256"))


def fetched(
    recipe: Recipe, files: Sequence[tuple[str, str, str]], root: str | None, width: int, *, unicode: bool = True
) -> list[Line]:
    """The files that were kept, each with its sum and status, and what to type next; `root` is the one that was
    named."""
    page = Page(width, unicode)
    title = page.fold(f"{recipe.name}  {recipe.title} ({recipe.maturity})", hang=2, style="bold")
    # What is copied from here is neither cut nor folded.
    kept: list[Line] = []
    for path, digest, status in files:
        kept += [[(f"{status:<8}  ", "dim"), (page.spell(path), "")], [(f"{'':8}  sha256 {digest}", "dim")]]
    is_same = all(status == "same" for _, _, status in files)
    done = "was here already" if is_same else "is kept, and nothing of it was executed"
    where = f" --root {shlex.quote(root)}" if root is not None else ""
    step: Line = [(page.spell(f"raxl recipe plan {recipe.name}{where}"), "")]
    return parted([title, kept, [*page.fold(f"{recipe.name} {done}. What it would do here:"), step]])


def indexed(
    index: RecipeIndex, path: str, sha256: str, was_there: bool, width: int, *, unicode: bool = True
) -> list[Line]:
    """The recipes of an index, and its own sum, by which others pin it."""
    page = Page(width, unicode)
    rows: list[Row] = [
        [
            (one.name, ""),
            ("layer" if one.layer else one.maturity, "dim" if one.layer else ""),
            (one.title, "dim"),
            (f"{one.sha256[:16]}…", "dim"),
        ]
        for one in index.recipes
    ]
    layers = sum(one.layer for one in index.recipes)
    count = len(index.recipes) - layers
    what = f"{count} recipe{'s' * (count != 1)}" + (f" and {layers} layer{'s' * (layers != 1)}" if layers else "")
    done = "has them already" if was_there else "is written"
    file = page.spell(path.rpartition("/")[2])
    steps: list[Line] = [
        [(f"raxl recipe fetch NAME --index https://HOST/{file} \\", "")],
        [("  --sha256 ", ""), (sha256, "bold")],
    ]
    words = f"{what}, each valid: {path} {done}. Serve it beside them, and publish its sum elsewhere."
    return parted([lay_out(page, _RECIPES, rows), steps, page.fold(words)])
