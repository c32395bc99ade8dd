"""Network adapters and their ports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from raxl.model.component import PciIdentity

_STATES = ("ok", "degraded", "down", "unknown")


@dataclass(frozen=True)
class Port:
    """One port of an adapter. Speed is one direction."""

    port: int
    netdev: str | None = None
    state: str = "unknown"
    """ok | degraded | down | unknown"""
    speed_bits_per_second: int | None = None


@dataclass(frozen=True)
class Nic:
    """A network adapter: one RDMA device, or one network device without RDMA."""

    id: str
    """The RDMA device (`mlx5_0`), else the network device."""
    netdev: str | None = None
    kind: str | None = None
    """infiniband | roce | iwarp | efa | omni-path | ethernet | rdma (an RDMA device whose link layer is not known)"""
    role: str | None = None
    """compute | storage | management"""
    model: str | None = None
    pci: PciIdentity | None = None
    """The nearest PCI function above it."""
    numa_node: int | None = None
    state: str = "unknown"
    """ok | degraded | down | unknown"""
    speed_bits_per_second: int | None = None
    """Of its fastest port, one direction."""
    ports: tuple[Port, ...] = ()
    evidence: tuple[str, ...] = ()


def best_state(states: Sequence[str]) -> str:
    """An adapter does as well as its best port: an unused second port is no fault."""
    return min(states, key=_STATES.index, default="unknown")
