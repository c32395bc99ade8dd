"""What one source says, before several are merged into a node."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from raxl.model.accelerator import Fabric, Partition, RayView
from raxl.model.component import PciLink, Switch
from raxl.model.nic import Nic
from raxl.model.node import Software
from raxl.model.placement import Placement
from raxl.model.problem import Problem


@dataclass(frozen=True)
class Silence:
    """Why a source does not say a value: one of the model's reasons, and its words."""

    reason: str
    message: str
    evidence: str = ""


@dataclass(frozen=True)
class Claim:
    """What one source says of one accelerator. None where it is silent; `silent` says why, by field name.

    Claims of several sources are merged by PCI address, then UUID, then index (`raxl.collect.merge`).
    """

    vendor: str
    kind: str
    evidence: str
    """`sysfs`, `kfd`, `nvidia-smi -q -x` …"""
    address: str | None = None
    uuid: str | None = None
    unit: str | None = None
    """What tells devices of one address apart (an AMD unique id); None where the address is enough."""
    index: int | None = None
    model: str | None = None
    """As driver, firmware or tool name it."""
    model_by_id: str | None = None
    """As the list of PCI ids names it: used where nobody else names it."""
    architecture: str | None = None
    serial: str | None = None
    vendor_id: str | None = None
    device_id: str | None = None
    subsystem_id: str | None = None
    link: PciLink | None = None
    host_bridge: str | None = None
    numa_node: int | None = None
    local_numa_nodes: tuple[int, ...] = ()
    memory_bytes: int | None = None
    memory_numa_node: int | None = None
    """The NUMA node that this device's own memory is."""
    state: str | None = None
    partitions: tuple[Partition, ...] = ()
    fabric: Fabric | None = None
    ray: RayView | None = None
    visible_env: str | None = None
    attributes: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    silent: Mapping[str, Silence] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that a link may use for this device, the strongest first."""
        index = None if self.index is None else f"{self.vendor}#{self.index}"
        return tuple(name for name in (self.unit, self.uuid, self.address, index) if name)


@dataclass(frozen=True)
class LinkClaim:
    """A link that a source states between two devices, each by one of its `Claim.names` or a NIC's id."""

    a: str
    b: str
    link_class: str | None
    kind: str | None
    """None: a fabric may join them, and nobody says whether it does."""
    count: int | None = None
    bandwidth_bytes_per_second: int | None = None
    bandwidth_source: str | None = None
    state: str | None = None
    evidence: str = ""


@dataclass(frozen=True)
class Report:
    """All that one plug-in or one foreign document says of a node's devices."""

    claims: tuple[Claim, ...] = ()
    links: tuple[LinkClaim, ...] = ()
    switches: tuple[Switch, ...] = ()
    nics: tuple[Nic, ...] = ()
    software: tuple[Software, ...] = ()
    problems: tuple[Problem, ...] = ()
    placement: Placement = Placement()
    """Where the node stands, as far as this source says it."""


@dataclass(frozen=True)
class Witness:
    """All that one who knows a family's driver says, its library or its tool, and why it says no more."""

    silence: Silence
    """Why it says nothing of a device that it does not list."""
    unseen: Silence
    """Why it does not say how a device is joined."""
    claims: tuple[Claim, ...] = ()
    links: tuple[LinkClaim, ...] = ()
    nics: tuple[Nic, ...] = ()
    problems: tuple[Problem, ...] = ()
    software: tuple[Software, ...] = ()
    listing: int | None = None
    """How many devices it lists; None where it could not be asked."""
    listed: frozenset[str] = frozenset()
    """The PCI addresses of the devices that it lists."""
    joined: frozenset[str] = frozenset()
    """The addresses of the devices whose links it tells."""


@dataclass(frozen=True)
class Placed:
    """All that one platform says of where a node stands."""

    placements: tuple[Placement, ...] = ()
    """One a source; the first one is believed first."""
    silence: Silence | None = None
    """Why it says no more; None where it was not this platform's to say."""
    problems: tuple[Problem, ...] = ()
