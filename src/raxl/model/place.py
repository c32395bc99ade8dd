"""Which nodes fit a job, and how to say so to Ray."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterable, Iterator, Mapping

from raxl.model.link import PCIE_CLASSES

NODE, FABRIC, SLICE, RACK, BLOCK, ZONE, CLUSTER = "node", "fabric", "slice", "rack", "block", "zone", "cluster"
SCOPES = (NODE, FABRIC, SLICE, RACK, BLOCK, ZONE, CLUSTER)
"""What holds a set together, the narrowest first; `cluster`: nothing says how its nodes are joined."""
NEARNESS = (*PCIE_CLASSES, None)
"""Link classes by how near they join; None: not known."""


@dataclass(frozen=True)
class Wanted:
    """What was asked for."""

    accelerators: int
    type: str | None = None
    """As it was given; None: any, and no set mixes types."""
    within: str | None = None
    """node | fabric | rack | slice; None: wherever."""


@dataclass(frozen=True)
class Near:
    """What is nearest to an accelerator on its node. None: not known; a problem of the node says why."""

    id: str
    index: int | None = None
    numa_node: int | None = None
    cpus: str | None = None
    """A kernel list: the CPUs of its nearest NUMA nodes."""
    nic: str | None = None
    """Its nearest compute NIC."""
    nic_class: str | None = None


@dataclass(frozen=True)
class Seat:
    """A node of the set, and how many of its accelerators the set takes."""

    node: str
    accelerators: int
    ray_node_id: str | None = None
    devices: tuple[Near, ...] = ()
    """All of the type that work there, those first that are joined best. Ray chooses which of them a task gets."""


@dataclass(frozen=True)
class Alike:
    """Another set that fits as well."""

    nodes: tuple[str, ...]
    """In the order of the seats."""
    domain: str | None = None
    spare: tuple[str, ...] = ()


@dataclass(frozen=True)
class MissingLabel:
    """A label that the selectors want and that the raylet of a node was not started with."""

    node: str
    key: str
    value: str
    """What the selector wants."""
    has: str | None = None
    """What Ray has instead; None: nothing."""
    is_printed: bool = True
    """Whether `raxl labels` prints it; else it is Ray's own, which a raylet may be started with by hand."""


@dataclass(frozen=True)
class RayRequest:
    """The arguments of `ray.util.placement_group.placement_group`, and what Ray would make of them."""

    resource: str
    """What an accelerator of the type is called in Ray: `GPU`, `neuron_cores` …"""
    each: int
    """How many of the resource one accelerator is."""
    bundles: tuple[Mapping[str, int], ...]
    """One for each node of the set."""
    bundle_label_selector: tuple[Mapping[str, str], ...]
    topology_strategy: Mapping[str, str]
    missing_labels: tuple[MissingLabel, ...] = ()
    """None are told where Ray's view of the nodes was not read."""
    also_matches: int = 0
    """How many nodes the selectors fit too that could hold a bundle and are no part of this set nor of one alike."""
    also_matches_first: tuple[str, ...] = ()
    """Some of them by name."""


@dataclass(frozen=True)
class Candidate:
    """A set of nodes that holds what was asked for, the narrowest link inside it, and why it stands where it does."""

    rank: int
    scope: str
    """One of `SCOPES`: the narrowest that holds the whole set."""
    domain: str | None
    """The name of that fabric domain, slice, rack, block or zone; of a node, its name."""
    kind: str
    """gpu | tpu | npu …"""
    type: str | None
    """Ray's spelling; None where Ray's detection gives none."""
    model: str | None
    accelerators: int
    seats: tuple[Seat, ...]
    spare: tuple[str, ...] = ()
    """Nodes of the same domain that could take the place of one of these."""
    alike: tuple[Alike, ...] = ()
    link_class: str | None = None
    """The narrowest between two accelerators of one node of the set; None: not known, or there is but one."""
    link_kind: str | None = None
    """What the set's narrowest link is: a scale-up fabric (`nvlink` …), pcie, or network between nodes; None: not
    known, or there is but one accelerator."""
    bandwidth_bytes_per_second: int | None = None
    """Of `link_class`, one direction."""
    nic_class: str | None = None
    """The narrowest from an accelerator of the set to its nearest compute NIC."""
    nic_bits_per_second: int | None = None
    """Of the slowest of those NICs, one direction."""
    reason: str = ""
    caveats: tuple[str, ...] = ()
    request: RayRequest | None = None
    """None where Ray has no resource for the type; a caveat says so."""


@dataclass(frozen=True)
class LeftOut:
    """A node whose accelerators, or some of them, do not count, and why."""

    node: str
    accelerators: int
    reason: str


@dataclass(frozen=True)
class Unread:
    """A node of which it was not read what it holds, or whether that works, and why."""

    node: str
    reason: str
    """One of `raxl.model.problem.UNREAD`."""
    message: str
    most: int | None = None
    """How many accelerators a job could get there at most, by what Ray registered; None: not known."""


def not_read(found: Iterable[Unread]) -> Iterator[str]:
    """`tray-02 was not read: no answer within 20 s`: a line for each reason, with the nodes that share it."""
    causes: dict[str, list[str]] = {}
    for one in found:
        causes.setdefault(one.message, []).append(one.node)
    for message, names in causes.items():
        shown = names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]
        nodes = " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
        yield f"{nodes} {'was' if len(names) == 1 else 'were'} not read: {message}"


@dataclass(frozen=True)
class Nearest:
    """What comes nearest where nothing fits."""

    accelerators: int
    nodes: tuple[str, ...] = ()
    scope: str | None = None
    domain: str | None = None


@dataclass(frozen=True)
class PlaceDocument:
    """The root of `raxl.place/v1`."""

    schema: str
    raxl_version: str
    created: str
    """UTC, ISO 8601; a replay keeps the recording's."""
    wanted: Wanted
    candidates: tuple[Candidate, ...] = ()
    """The best first."""
    nearest: Nearest | None = None
    """Where nothing fits."""
    message: str = ""
    """Why nothing fits, in one sentence; empty where something does."""
    left_out: tuple[LeftOut, ...] = ()
    types: Mapping[str, int] = field(default_factory=dict)
    """How many accelerators work of each type that is here."""
    unread: tuple[Unread, ...] = ()
    is_open: bool = False
    """Nothing fits of what was read, and something might if all had been."""
