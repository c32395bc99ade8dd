"""The benchmarks that a recipe's expectations ask for."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from raxl.errors import RaxlError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from raxl.cli.source import Source
    from raxl.cli.streams import Streams
    from raxl.model.inventory import Inventory
    from raxl.model.recipe import Recipe
    from raxl.recipe.measurable import Measured, Place, Wish


def refusal(source: Source, *, no_bench: bool) -> str | None:
    """Why nothing is measured at all; None where it is."""
    from raxl.collect import cluster

    if source.paths:
        return "it was not measured: recorded facts run no benchmark"
    if no_bench:
        return "it was not measured: --no-bench"
    address = cluster.address_of(source.address) if source.cluster else ""
    if address.startswith(("http://", "https://")):
        return "it was not measured: Ray's job API carries no actors. On a node of the cluster: --address host:6379"
    return None


def measured(
    recipe: Recipe, contents: Mapping[str, str], source: Source, inventory: Inventory, budget: float, streams: Streams
) -> tuple[list[Measured], dict[str, str]]:
    """What was measured with the variables of the files in force, and by expectation's id why it was not."""
    from raxl.recipe import measurable

    variables, unset = in_force(recipe, contents)
    wishes, refused = measurable.wishes(recipe.expect, _place(source, inventory, variables))
    share = budget / max(1, len(wishes))
    return [_one(wish, source, variables, unset, share, streams) for wish in wishes], refused


def in_force(recipe: Recipe, contents: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables that the files set, and those of this environment that they unset."""
    from raxl.recipe import files, shell_text

    rules = {one.name: one for one in recipe.env.unset}
    told: dict[str, str | None] = {}
    for path in sorted(contents):
        if path.endswith(".env"):
            told.update(files.variables_in(contents[path]))
    unset = [
        name
        for name, value in told.items()
        if value is None
        and name in os.environ
        and (name not in rules or shell_text.is_stale(rules[name], os.environ[name]))
    ]
    return {name: value for name, value in told.items() if value is not None}, tuple(unset)


def _place(source: Source, inventory: Inventory, variables: Mapping[str, str]) -> Place:
    from raxl.model.cluster import ALIVE
    from raxl.plugins import registry
    from raxl.recipe.measurable import Place

    patterns = {name: tuple(registry.transport(entry).patterns) for name, entry in registry.TRANSPORTS.items()}
    fitting = {node.ray_node_id for node in inventory.nodes}
    every = inventory.cluster.nodes if inventory.cluster else ()
    alive = tuple(one.node_id for one in every if one.state == ALIVE and one.node_id in fitting)
    nodes = alive if source.cluster else (socket.gethostname(),)
    return Place(nodes, source.cluster, patterns, variables)


def _one(
    wish: Wish, source: Source, variables: Mapping[str, str], unset: Sequence[str], budget: float, streams: Streams
) -> Measured:
    from raxl.bench import run as benches
    from raxl.bench.request import Request
    from raxl.collect import cluster
    from raxl.recipe.measurable import Measured

    request = Request(
        address=cluster.address_of(source.address) if source.cluster else None,
        transports=wish.transports,
        pairs=wish.pairs,
        sizes=wish.sizes,
        pattern=wish.pattern,
        budget_seconds=budget,
        variables=dict(variables),
        unset=tuple(unset),
    )
    try:
        with streams.progress("figures") as told:
            document = benches.bench(request, lambda done, total, words: told(done, total))
    except RaxlError as error:
        return Measured(wish, failed=str(error))
    return Measured(wish, tuple(document.runs))
