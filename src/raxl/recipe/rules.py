"""What a recipe says, held against the rules of its content: of a recipe from a file, and of one from a saved plan.

Its shape is known to be right. Each rule yields where it is broken, and how.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import chain

from raxl.model.recipe import MATURITIES, RECIPE, Recipe
from raxl.recipe import rules_of_facts, rules_of_figures, rules_of_settings, rules_of_texts
from raxl.recipe.layers import NAME
from raxl.recipe.rule import Wrong, first_day

OLDEST_DAYS = 180
"""A source that was read longer ago may speak of other versions than those of today."""


def wrong(recipe: Recipe) -> Iterator[Wrong]:
    """Everything that is wrong."""
    yield from chain(
        _itself(recipe),
        rules_of_texts.wrong(recipe),
        rules_of_facts.wrong(recipe),
        rules_of_settings.wrong(recipe),
        rules_of_figures.wrong(recipe),
    )


def aged(recipe: Recipe, today: date) -> Iterator[Wrong]:
    """What is not wrong and should be looked at."""
    read = [(day, place) for place, one in enumerate(recipe.source) if (day := first_day(one.read))]
    if read and (age := (today - max(read)[0]).days) > OLDEST_DAYS:
        what = f"is the newest source, and was read {age} days ago: look whether it still holds"
        yield Wrong(("source", max(read)[1], "read"), what)


def _itself(recipe: Recipe) -> Iterator[Wrong]:
    if recipe.schema != RECIPE:
        yield Wrong(("schema",), f"is to be {RECIPE}")
    if not NAME.fullmatch(recipe.name):
        yield Wrong(("name",), f"is to be of a-z, 0-9 and -, 63 at most, not {recipe.name[:80]!r}")
    if not recipe.title:
        yield Wrong(("title",), "says nothing")
    if recipe.maturity not in MATURITIES:
        yield Wrong(("maturity",), f"is to be one of {', '.join(MATURITIES)}, not {recipe.maturity[:40]!r}")
    if recipe.layer:
        return
    if not recipe.match.all and not recipe.match.by_name:
        yield Wrong(("match",), "is for no node: it has neither all nor by_name")
    if not recipe.source and not recipe.match.by_name:
        yield Wrong(("source",), "is missing: it rests on nothing that anybody could read")
