"""Ray's own view of a cluster held against its nodes: what is registered and works, and which domain Ray is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from raxl.model.accelerator import Accelerator
from raxl.model.cluster import ALIVE, DRAINING, RayNode
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.topology import domains
from raxl.topology.domains import DomainName
from raxl.topology.ray_differs import RESOURCES
from raxl.topology.reasons import unread

GPU_DOMAIN = "ray.io/gpu-domain"
_BY_CORE = ("neuron_cores",)
"""Resources of which Ray does not count one for each accelerator."""


class Registered(NamedTuple):
    """One resource of one node."""

    node: str
    resource: str
    registered: float
    working: int
    """Devices that are known to work."""
    unknown: int = 0
    """Devices of which nobody knows whether they work."""
    is_by_device: bool = True
    """Whether one of the resource is one device; else it is a core or a partition."""

    @property
    def is_right(self) -> bool:
        """Whether as many are registered as may work; of cores and partitions, whether any are where any may."""
        if not self.is_by_device:
            return self.working == 0 < self.unknown or (self.registered > 0) == (self.working > 0)
        return self.working <= self.registered <= self.working + self.unknown


class RayHeld(NamedTuple):
    """What differs between Ray's view and the hardware, of nodes that were read: of the others nobody knows it."""

    resources: tuple[Registered, ...]
    views: Mapping[str, RayNode]
    """Ray's view by the node's `ray_node_id`."""
    lacking: tuple[Node, ...]
    """Nodes of a fabric domain that Ray is not told."""
    wrong: tuple[Node, ...]
    """Nodes of which Ray is told another domain than theirs."""
    is_told_none: bool
    """Whether no node at all has a label of its domain."""


class Pair(NamedTuple):
    """A node of the inventory, and Ray's view of it."""

    node: Node
    ray: RayNode


def held(inventory: Inventory) -> RayHeld:
    """Ray's view of every node that it knows as alive and that was read, beside the node."""
    found = [pair for pair in pairs(inventory) if unread(pair.node, "node") is None]
    return RayHeld(
        resources=tuple(one for pair in found for one in registered(pair)),
        views={pair.ray.node_id: pair.ray for pair in found},
        lacking=tuple(without_domain(found)),
        wrong=tuple(wrong_domain(found)),
        is_told_none=not any(GPU_DOMAIN in ray.labels for _, ray in found),
    )


def pairs(inventory: Inventory) -> list[Pair]:
    """The nodes that Ray knows as alive, in the inventory's order."""
    known = {one.node_id: one for one in inventory.cluster.nodes} if inventory.cluster else {}
    found = [(node, known.get(node.ray_node_id or "")) for node in inventory.nodes]
    return [Pair(node, ray) for node, ray in found if ray is not None and ray.state in (ALIVE, DRAINING)]


def registered(pair: Pair) -> list[Registered]:
    """Each accelerator resource that Ray registered there or should have; none where it is not told what it did."""
    found: list[Registered] = []
    if not pair.ray.resources:
        return found
    for name in RESOURCES:
        own = _once([device for device in pair.node.accelerators if device.ray.resource == name])
        if own or name in pair.ray.resources:
            unknown = sum(device.state == "unknown" for device in own)
            if not own and pair.node.looked_for.pci_functions is None:
                unknown = int(pair.ray.resources[name])  # nobody looked for them
            working = sum(device.state not in ("lost", "unknown") for device in own)
            whole = name not in _BY_CORE and not any(device.partitions for device in own)
            found.append(Registered(pair.node.name, name, pair.ray.resources.get(name, 0), working, unknown, whole))
    return found


def _once(devices: list[Accelerator]) -> list[Accelerator]:
    """Each device once: where one source tells numbers without addresses and another addresses without numbers, the
    fewer of the two may be among the more."""
    by_number = [device for device in devices if device.pci is None]
    by_address = [device for device in devices if device.pci is not None and device.index is None]
    fewer = min(by_number, by_address, key=len)
    return [device for device in devices if device not in fewer]


def gpu_domain(name: DomainName) -> str:
    """The value of `ray.io/gpu-domain` for a domain: cluster UUID and clique, the slice's or UltraServer's name."""
    return f"{name.name}.{name.clique}" if name.clique is not None else name.name


def without_domain(found: Sequence[Pair]) -> list[Node]:
    """Nodes of a fabric domain for which Ray has no label of it."""
    return [node for node, ray in found if domains.of_node(node) is not None and GPU_DOMAIN not in ray.labels]


def wrong_domain(found: Sequence[Pair]) -> list[Node]:
    """Nodes for which Ray's label names another domain than theirs."""
    wrong = []
    for node, ray in found:
        own, told = domains.of_node(node), ray.labels.get(GPU_DOMAIN)
        if told is not None and (own is None or told != gpu_domain(own)):
            wrong.append(node)
    return wrong
