"""The root of `raxl.inventory/v1`."""

from __future__ import annotations

from dataclasses import dataclass

from raxl.model.cluster import Cluster
from raxl.model.node import Node


@dataclass(frozen=True)
class Inventory:
    """Every node that was read, in a stable order."""

    schema: str
    raxl_version: str
    created: str
    """UTC, ISO 8601; a replay keeps the recording's."""
    nodes: tuple[Node, ...] = ()
    cluster: Cluster | None = None
