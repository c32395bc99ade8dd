"""The way from one device of a node to another."""

from __future__ import annotations

from dataclasses import dataclass

from raxl.model.component import PciLink
from raxl.model.measurement import Recommendation
from raxl.model.problem import NOT_ASKED, Problem

NETWORK = "network"
"""What lies between the NICs of two nodes: a component, and the kind of a hop to it and of a path through it."""
BLOCKS, SLOWS, CLEAR, UNKNOWN = "blocks", "slows", "clear", "unknown"
"""What a condition does to the way, the worst first but for what is not known."""


@dataclass(frozen=True)
class Component:
    """Something that the way passes: its two ends, and what lies between."""

    id: str
    """The device's id, a switch's or bridge's PCI address, `numa:0` for the processor there, else a host bridge's
    name."""
    kind: str
    """accelerator | nic | pcie-switch | pcie-bridge | root-port | cpu | nvswitch | network"""
    numa_node: int | None = None
    package: int | None = None
    """The processor, as the kernel numbers them; of a `cpu` alone."""
    speed_bits_per_second: int | None = None
    """Of a NIC's fastest port, one direction: what goes on from there."""


@dataclass(frozen=True)
class Hop:
    """One physical segment between two components that follow each other."""

    kind: str
    """pcie | cpu-internal | cpu-interconnect | network, or a scale-up fabric: nvlink | xgmi | …"""
    a: str
    b: str
    name: str | None = None
    """As people call it: `NVLink 4`, `UPI`; None for PCIe, whose generation is in `link`."""
    count: int | None = None
    """Links of a fabric, all of the pair."""
    link: PciLink | None = None
    """Of PCIe: speed and width, now and at most; the maximum is what both ends can do."""
    bandwidth_bytes_per_second: int | None = None
    """One direction: what the link can do at most, with the lanes that it has now. None: not known, and a problem of
    the path says why."""
    bandwidth_source: str | None = None
    """nominal (rate × lanes × coding, or the fabric's rating) | reported | measured"""
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Condition:
    """What may forbid a faster way, and what was read of it."""

    kind: str
    """acs | iommu | bar | gpudirect-rdma | p2p | mig | driver | lost | scale-up | width | distance"""
    status: str
    """blocks | slows | clear | unknown"""
    message: str
    """What was found; `whether …` where it is not known."""
    evidence: tuple[str, ...] = ()
    reason: str | None = None
    """Why it is not known, in the words of `raxl.model.problem`."""
    why: str | None = None
    """The same in the words of whoever did not say it."""


def unknown(kind: str, message: str, reason: str | None, why: str, evidence: tuple[str, ...] = ()) -> Condition:
    """A condition that is not known, and why; what was not asked, and a file that is not there, have no words."""
    reason = reason or NOT_ASKED
    wordless = "nobody read it" if reason == NOT_ASKED else "the machine has no such file"
    return Condition(kind, UNKNOWN, message, evidence, reason, why or wordless)


@dataclass(frozen=True)
class Use:
    """A way to move bytes between the two ends, and who goes it."""

    way: str
    """scale-up | pcie-p2p | gpudirect-rdma | host-memory"""
    transports: tuple[str, ...]
    caveat: str | None = None


@dataclass(frozen=True)
class Path:
    """The segments from A to B and the narrowest of them; None means not known, and a problem says why.

    Where the two are in different nodes, each id has its node's name and a colon before it.
    """

    a: str
    b: str
    link_class: str | None = None
    """As `raxl.model.link.Link` has it."""
    kind: str | None = None
    """pcie, the scale-up fabric, or network: from node to node."""
    path_trust: str | None = None
    """virtual: a hypervisor made the PCI tree up, and the hops are its, not the machine's."""
    bandwidth_bytes_per_second: int | None = None
    """Of the narrowest hop whose speed is known, one direction: no more than that gets through."""
    is_bound: bool = False
    """Whether less may get through: a hop's speed is not known, or the way leads through a processor."""
    narrowest: int | None = None
    """The place in `hops` of the first hop that is the narrowest."""
    components: tuple[Component, ...] = ()
    """In order, both ends included: hop n joins component n and n + 1."""
    hops: tuple[Hop, ...] = ()
    obstacles: tuple[Condition, ...] = ()
    """What forbids a faster way or slows this one; also what was found clear, and of what it is not known."""
    uses: tuple[Use, ...] = ()
    """The way that transports take first comes first."""
    nearest_nics: tuple[str, ...] = ()
    """Between an accelerator and a NIC: those that are nearest to the accelerator."""
    nearest_class: str | None = None
    """The class of the way to them."""
    problems: tuple[Problem, ...] = ()
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class PathDocument:
    """The root of `raxl.path/v1`."""

    schema: str
    raxl_version: str
    created: str
    """UTC, ISO 8601; a replay keeps the recording's."""
    node: str
    source: str
    path: Path
    other_node: str | None = None
    """Where B is in another node than A, that one."""
    other_source: str | None = None
    measured: tuple[Recommendation, ...] = ()
    """Where a benchmark was laid over it: the fastest verified transport by size, between these two devices, else
    between the host memories of their nodes."""
