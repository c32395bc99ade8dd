"""The facts of the project's machines, as recipes are held against them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diagnosing import variant
from raxl.collect import assemble, facts, inputs
from raxl.host.record import Recording
from raxl.model.cluster import Cluster
from raxl.recipe.node_facts import NodeFacts


def facts_of(name: str, *changes: str | tuple[str, Any], cluster: Cluster | None = None) -> NodeFacts:
    """Those of the machine of that name, with some answers changed as `diagnosing.variant` tells."""
    return of_recording(variant(name, *changes), cluster)


def of_capture(path: Path) -> NodeFacts:
    """Those of a capture of another tool's."""
    (recording,) = inputs.opened([str(path)], None)
    return of_recording(recording)


def of_recording(recording: Recording, cluster: Cluster | None = None) -> NodeFacts:
    """Those of a recording."""
    inventory = assemble.inventory([recording])
    (node,) = inventory.nodes
    return NodeFacts(node, facts.of(recording, node), cluster or inventory.cluster)
