"""A recipe that was named, and the nodes that it is for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from raxl.cli import recipe_named
from raxl.errors import RecipeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from raxl.model.facts import Facts
    from raxl.model.inventory import Inventory
    from raxl.model.plan import Candidate
    from raxl.model.recipe import Shelved
    from raxl.recipe.node_facts import NodeFacts


class Fitting(NamedTuple):
    """The nodes that it is for."""

    inventory: Inventory
    facts: tuple[Facts, ...]
    """Of these nodes, in their order."""
    node_facts: tuple[NodeFacts, ...]
    candidates: tuple[Sequence[Candidate], ...]
    """The recipe as it was held against each."""
    others: Mapping[str, str]
    """By name, the nodes that it is not for, and why."""

    def fills(self, shelved: Shelved) -> dict[str, Callable[[str], str | None]]:
        """By node, how a text of the recipe is filled there."""
        return {node.name: _fill(shelved, own) for node, own in zip(self.inventory.nodes, self.node_facts, strict=True)}


def fitting(shelved: Shelved, inventory: Inventory, facts: Sequence[Facts]) -> Fitting:
    """The nodes that the recipe is for. Raises RecipeError where it is for none of them."""
    from raxl.recipe import match
    from raxl.recipe.node_facts import NodeFacts

    found, others, refusal = [], {}, None
    for node, own in zip(inventory.nodes, facts, strict=True):
        node_facts = NodeFacts(node, own, inventory.cluster)
        try:
            _, candidates = match.chosen([shelved], node_facts, shelved.recipe.name)
        except RecipeError as error:
            refusal, others[node.name] = error, str(error)
            continue
        found.append((node, own, node_facts, candidates))
    if not found:
        raise refusal or RecipeError("there is no node", "what was given holds none")
    nodes, kept, asked, held = zip(*found, strict=True)
    return Fitting(replace(inventory, nodes=nodes), kept, asked, held, others)


def chosen(inventory: Inventory, facts: Sequence[Facts], root: Path) -> Shelved:
    """The recipe for these nodes among raxl's own and those fetched below the root: the first of the nodes decides.
    Raises RecipeError where none fits."""
    from raxl.recipe import match
    from raxl.recipe.node_facts import NodeFacts

    if not inventory.nodes:
        raise RecipeError("there is no node", "what was given holds none")
    return match.chosen(recipe_named.every(root), NodeFacts(inventory.nodes[0], facts[0], inventory.cluster))[0]


def _fill(shelved: Shelved, node_facts: NodeFacts) -> Callable[[str], str | None]:
    from raxl.recipe import computed

    values = computed.values(shelved.recipe, node_facts)
    return lambda text: computed.filled(text, values, node_facts)
