"""Which accelerators of each node a job can count on, and by which domains the node stands.

raxl says what is there, never what is busy. Only devices that are known to work count: `ok`, and `degraded` ones after
them; not lost ones, and not those whose state nobody told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from raxl.model.accelerator import Accelerator
from raxl.model.cluster import ALIVE, RayNode
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.place import BLOCK, CLUSTER, FABRIC, RACK, SLICE, ZONE, LeftOut
from raxl.topology import place_inside, ray_usable, ray_visible
from raxl.topology.expectation import Expectation
from raxl.topology.place_inside import Chosen, Shape

_WORKING = ("ok", "degraded")
_NO_FABRIC = "00000000-0000-0000-0000-000000000000"
"""What NVML gives for a cluster UUID where there is no domain over several nodes."""


Domain = tuple[Optional[str], ...]
"""What tells a domain from all others, its name last."""


class Kind(NamedTuple):
    """What a job must not mix."""

    type: str | None
    """Ray's spelling."""
    model: str | None
    vendor: str
    resource: str | None
    each: int | None
    """How many of the resource Ray makes of one accelerator; None: not known."""

    @property
    def name(self) -> str:
        """As people call it."""
        return self.type or self.model or f"{self.vendor} of unknown model"


class Stand(NamedTuple):
    """The working accelerators of one kind on a node."""

    node: Node
    kind: Kind
    devices: tuple[Accelerator, ...]
    shape: Shape
    number: int
    """Of its shape: equal for nodes that are the same for a job."""
    capacity: int
    """How many of them a job can get: no more than Ray registered, where that is known."""
    counted: int
    """How many Ray would give out, working or not."""
    ray: RayNode | None


class Stands(NamedTuple):
    """All of them in the order of the nodes' names, and what does not count."""

    found: tuple[Stand, ...]
    left_out: tuple[LeftOut, ...]
    types: Mapping[str, int]
    """How many work of each type, whatever was wanted."""


class Taken(NamedTuple):
    """A node of a set, and how many it gives."""

    stand: Stand
    share: int

    @property
    def chosen(self) -> Chosen:
        """Which of its devices belong together."""
        return self.stand.shape.choice(self.share)


class Found(NamedTuple):
    """A set of nodes that fits."""

    scope: str
    domain: Domain
    taken: tuple[Taken, ...]
    spare: tuple[Stand, ...]
    """Others of the domain that could take the place of one of them."""

    @property
    def likeness(self) -> tuple[object, ...]:
        """Equal for sets that fit equally well."""
        return self.scope, self.taken[0].stand.kind, tuple((one.stand.number, one.share) for one in self.taken)


def stands(inventory: Inventory, wanted: str | None) -> Stands:
    """The nodes that hold accelerators of the wanted type; None is any."""
    known = {one.node_id: one for one in inventory.cluster.nodes} if inventory.cluster else {}
    shapes: dict[Any, tuple[int, Shape]] = {}
    found: list[Stand] = []
    left: list[LeftOut] = []
    types: dict[str, int] = {}
    for node in sorted(inventory.nodes, key=lambda one: (one.name, one.source)):
        fitting = [device for device in node.accelerators if wanted is None or Expectation(1, wanted).fits(device)]
        left += _idle(node, fitting)
        nameless = [device for device in node.accelerators if device.model is None and device.ray.type is None]
        if wanted is not None and nameless:
            left.append(LeftOut(node.name, len(nameless), "model not known"))
        for kind, devices in _by_kind(node, _working(node.accelerators)).items():
            types[kind.name] = types.get(kind.name, 0) + len(devices)
            if devices[0] not in fitting:
                continue
            view = known.get(node.ray_node_id or "")
            refusal = _refusal(node, kind, view, bool(known))
            if refusal:
                left.append(LeftOut(node.name, len(devices), refusal))
                continue
            found.append(_stand(node, kind, devices, view, shapes))
    return Stands(tuple(found), tuple(left), dict(sorted(types.items())))


def domain(node: Node, devices: Sequence[Accelerator], scope: str) -> Domain | None:
    """What tells a domain from all others, its name last; None where the node is in none that is known.

    Names of racks and slices are unique only where they were given: what stands around them tells them apart.
    """
    place = node.placement
    around = (place.region, place.zone)
    if scope == CLUSTER:
        return ()
    if scope == FABRIC:
        return _fabric(node, devices)
    name = {SLICE: place.slice, RACK: place.rack, BLOCK: place.block, ZONE: place.zone}[scope]
    if not name:
        return None
    return (place.region, name) if scope == ZONE else (*around, *([place.block] if scope == RACK else []), name)


def _fabric(node: Node, devices: Sequence[Accelerator]) -> Domain | None:
    """What NVIDIA's devices tell, else what the placement does. An XGMI hive ends at its node, and its id may be any
    other's too."""
    if devices[0].vendor != "nvidia" or all(device.fabric is None for device in devices):
        place = node.placement
        return (place.region, place.zone, place.fabric_domain) if place.fabric_domain else None
    told = {_nvidia_domain(device) for device in devices}
    return (told.pop(),) if len(told) == 1 and None not in told else None


def _nvidia_domain(device: Accelerator) -> str | None:
    fabric = device.fabric
    if fabric is None or fabric.state != "completed" or fabric.domain in (None, "", _NO_FABRIC) or not fabric.clique:
        return None
    return f"{fabric.domain}.{fabric.clique}"


def _working(devices: Sequence[Accelerator]) -> list[Accelerator]:
    return [device for device in devices if device.state in _WORKING and not ray_usable.is_cut(device)]


def _idle(node: Node, devices: Sequence[Accelerator]) -> Iterator[LeftOut]:
    """What does not count, by its reason."""
    reasons: dict[str, int] = {}
    for device in devices:
        if device.state == "lost":
            reason = "lost"
        elif device.state not in _WORKING:
            reason = "state not known"
        elif ray_usable.is_cut(device):
            reason = "in MIG mode: a task gets slices of it, not the whole"
        else:
            continue
        reasons[reason] = reasons.get(reason, 0) + 1
    return (LeftOut(node.name, count, reason) for reason, count in reasons.items())


def _by_kind(node: Node, devices: Sequence[Accelerator]) -> dict[Kind, list[Accelerator]]:
    kinds: dict[Kind, list[Accelerator]] = {}
    for device in devices:
        kinds.setdefault(_kind(device), []).append(device)
    return kinds


def _kind(device: Accelerator) -> Kind:
    each = ray_visible.cores(device) if device.ray.resource == "neuron_cores" else ray_usable.units(device)
    return Kind(device.ray.type, device.model, device.vendor, device.ray.resource, each)


def _refusal(node: Node, kind: Kind, view: RayNode | None, is_told: bool) -> str:
    """Why Ray gives out none of them there, as far as it is known."""
    others = {
        device.ray.type or device.model or device.vendor
        for device in _working(node.accelerators)
        if device.ray.resource == kind.resource and _kind(device) != kind and device.ray.would_register is not False
    }
    if kind.resource is not None and others:
        return f"mixed with {', '.join(sorted(others))}, which Ray cannot tell apart: all are {kind.resource}"
    if not is_told:
        return ""
    if view is None:
        return "no raylet of the cluster runs there"
    if view.state != ALIVE:
        return f"Ray says {view.state}{f': {view.reason}' if view.reason else ''}"
    if kind.resource is not None and view.resources.get(kind.resource, 0) < (kind.each or 1):
        return f"Ray registered no {kind.resource} there"
    return ""


def _stand(
    node: Node, kind: Kind, devices: Sequence[Accelerator], view: RayNode | None, shapes: dict[Any, tuple[int, Shape]]
) -> Stand:
    counted = [one for one in node.accelerators if one.ray.resource == kind.resource and one.ray.would_register]
    number = len(counted)
    capacity = len(devices)
    if view is not None and kind.resource is not None:
        number = int(view.resources.get(kind.resource, 0) // (kind.each or 1))
        capacity = min(capacity, number)
    key = (kind, capacity, number, tuple(one.ray.would_register for one in devices), place_inside.key(node, devices))
    if key not in shapes:
        shapes[key] = (len(shapes), Shape(node, devices))
    place, shape = shapes[key]
    return Stand(node, kind, tuple(devices), shape, place, capacity, number, view)
