"""What Ray says of its cluster: Ray's own view, held against what the nodes say of themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

ALIVE, DRAINING, DEAD = "alive", "draining", "dead"
TERMINATED, UNEXPECTED = "EXPECTED_TERMINATION", "UNEXPECTED_TERMINATION"
PREEMPTED, IDLE = "AUTOSCALER_DRAIN_PREEMPTED", "AUTOSCALER_DRAIN_IDLE"
DEATHS = ("UNSPECIFIED", TERMINATED, UNEXPECTED, PREEMPTED, IDLE)
"""`ray.rpc.NodeDeathInfo.Reason`, by number."""
_WANTED = (TERMINATED, PREEMPTED, IDLE)


@dataclass(frozen=True)
class RayNode:
    """A node as Ray knows it. Its id is new at every start of its raylet: it addresses, and is no identity."""

    node_id: str
    state: str
    """alive | draining | dead"""
    name: str | None = None
    """The host name or the name that the raylet was given."""
    address: str | None = None
    """Its IP address in the cluster."""
    is_head: bool | None = None
    reason: str | None = None
    """Why it is dead or drained, in Ray's words."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """What its raylet registered: `GPU`, `CPU`, `object_store_memory` in bytes …"""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What its raylet was started with, and what Ray adds."""
    death: str | None = None
    """Of a dead one, Ray's name for the sort of its death: one of `DEATHS`."""

    @property
    def has_left(self) -> bool:
        """Whether it is dead because somebody wanted so: it was stopped, or drained and taken away."""
        return self.state == DEAD and self.death in _WANTED


@dataclass(frozen=True)
class Cluster:
    """What Ray says of the cluster as a whole. None: it was not told."""

    ray_version: str | None = None
    python_version: str | None = None
    nodes_alive: int | None = None
    nodes_dead: int | None = None
    nodes: tuple[RayNode, ...] = ()
    """By node id; `raxl.inventory/v1` joins them to its nodes by `ray_node_id`."""
