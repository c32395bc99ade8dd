"""Accelerators: what a job can own whole, and what it is cut into."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from raxl.model.component import PciIdentity

KINDS = ("gpu", "tpu", "npu", "lpu", "neuron", "hpu", "ipu", "xpu")
STATES = ("ok", "degraded", "lost", "unknown")


@dataclass(frozen=True)
class RayView:
    """How Ray names this accelerator."""

    resource: str | None = None
    """`GPU`, `TPU`, `neuron_cores` …"""
    type: str | None = None
    """Ray's own spelling of `ray.io/accelerator-type`; None when Ray's detection would give none."""
    would_register: bool | None = None
    """Whether Ray's detection would count this device."""


@dataclass(frozen=True)
class Partition:
    """A slice of an accelerator: a MIG device, a compute partition of an MI300X."""

    id: str
    profile: str | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Fabric:
    """The scale-up fabric that this accelerator belongs to."""

    domain: str | None = None
    """The cluster UUID or hive id; None when it belongs to none."""
    clique: str | None = None
    state: str | None = None


@dataclass(frozen=True)
class Accelerator:
    """One device that a job can use. None means not known; a problem of the node says why."""

    id: str
    vendor: str
    kind: str
    """One of `KINDS`."""
    model: str | None = None
    architecture: str | None = None
    index: int | None = None
    """The vendor runtime's number. It addresses, and moves when a device drops off the bus."""
    uuid: str | None = None
    serial: str | None = None
    ray: RayView = RayView()
    pci: PciIdentity | None = None
    numa_node: int | None = None
    """The NUMA node nearest to it; its own memory's node is `NumaNode.accelerator`."""
    local_numa_nodes: tuple[int, ...] = ()
    pcie_root: str | None = None
    """Its host bridge: `pci0000:16`."""
    memory_bytes: int | None = None
    state: str = "unknown"
    """One of `STATES`."""
    partitions: tuple[Partition, ...] = ()
    fabric: Fabric | None = None
    visible_env: str | None = None
    """The variable that hides devices from a process."""
    evidence: tuple[str, ...] = ()
    attributes: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    """The vendor's own extras."""
