"""`raxl diagnose --recipe`: what a recipe that is not applied makes of a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raxl.checks.diagnosis import Wanted
    from raxl.cli.streams import Streams
    from raxl.model.facts import Facts
    from raxl.model.inventory import Inventory
    from raxl.model.recipe import Shelved


def named(name: str, wanted: Wanted) -> Shelved:
    """The recipe, as far as it can be held before anything is read."""
    from raxl.checks import diagnosis
    from raxl.cli import recipe_named
    from raxl.recipe import diagnosing

    shelved = recipe_named.named(name)
    diagnosis.held(diagnosing.wanted(shelved.recipe, wanted, diagnosing.literal(shelved.recipe)))
    return shelved


def narrowed(
    shelved: Shelved, inventory: Inventory, facts: Sequence[Facts], wanted: Wanted, streams: Streams
) -> tuple[Inventory, list[Facts], Wanted]:
    """The nodes that it is for, and what is to be checked there. Raises RecipeError where it is for none of them."""
    from raxl.checks import diagnosis
    from raxl.cli import recipe_nodes
    from raxl.recipe import diagnosing

    found = recipe_nodes.fitting(shelved, inventory, facts)
    for name, why in found.others.items():
        streams.note(f"{name} is not looked at: {why}")
    expected, unsaid = diagnosing.expected(shelved.recipe, found.fills(shelved))
    for name, why in unsaid.items():
        streams.note(f"what the recipe expects of {name} is not held: {why}")
    joined = diagnosing.wanted(shelved.recipe, wanted, expected)
    diagnosis.held(joined)
    return found.inventory, list(found.facts), joined
