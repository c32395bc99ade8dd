"""From what pairs measured to the node or the link that holds others up.

A figure is explained by whoever is named first: a node that is always slow, then a group of links, then one link, then
a node that is slow now and then. Nobody is named for what another explains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raxl.bench import intermittent, slow_links, slow_nodes
from raxl.bench.accused import Accused, unexplained
from raxl.bench.evidence import told
from raxl.bench.schedule import Place
from raxl.bench.scores import LEAST_FOR_OUTLIERS, Measured, ends, yardstick
from raxl.model.measurement import ALONE, TOGETHER, Slow


def slow(
    measured: Sequence[Measured],
    ceiling: float | None = None,
    places: Mapping[str, Place] | None = None,
    transport: str | None = None,
) -> tuple[Slow, ...]:
    """Every node and link that is slow, with what shows it.

    `ceiling` is what the transport is known to reach on such a line; it judges fewer than eight nodes alone. `places`
    say where nodes are in the fabric; without them no group of links is looked for.
    """
    if not measured:
        return ()
    few = yardstick(measured, ceiling) if len(ends(measured)) < LEAST_FOR_OUTLIERS else None
    nodes = slow_nodes.find(measured, few)
    groups = slow_links.groups(measured, places or {}, few, nodes)
    if groups:  # who met only partners behind a slow link was no slow node; and what a slow node did blames no link
        nodes = slow_nodes.find(unexplained(measured, groups), few)
        groups = slow_links.groups(measured, places or {}, few, nodes)
    links = slow_links.single(unexplained(measured, [*nodes, *groups]), few)
    steady = unexplained(measured, [*nodes, *groups, *links])
    found: list[Accused] = [*nodes, *intermittent.find(steady, few), *groups, *links]
    return told(found, measured, transport)


def slow_when(together: float, alone: float, peers: float) -> str | None:
    """What a slow group is when it is measured again, one pair at a time: slow `together`, or still when `alone`.

    Slow only together is a link that too many share; slow alone is a node or a cable. None: it is slow no more.
    """
    if alone < 0.9 * peers:
        return ALONE
    return TOGETHER if together < 0.9 * peers else None
