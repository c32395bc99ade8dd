"""What Ray has registered on a node of a running cluster, held against what can be used there."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.cluster import DEAD, RayNode
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.topology import ray_usable
from raxl.topology.ray_advice import flags
from raxl.topology.ray_counts import OTHERS, Here
from raxl.topology.ray_detection import Detection

_LISTS = {"lspci", "lspci-tree"}
RESOURCES = ("GPU", *(family.resource for family in OTHERS))


def problems(view: RayNode, known: Detection, devices: Sequence[Accelerator], here: Here) -> tuple[Problem, ...]:
    """Each resource of which another number is registered than can be used, with what puts it right."""
    if view.state == DEAD or not view.resources:  # every raylet registers memory at least
        return ()
    found = []
    for resource in RESOURCES:
        number, usable = view.resources.get(resource, 0.0), _usable(resource, known, devices, here)
        if usable is not None and number != usable:
            registered = f"{number:g}" if number else "no"
            step = f"restart its raylet with {flags({resource: usable})}"
            words = f"Ray registered {registered} {resource}, {usable or 'none'} can be used here: {step}"
            found.append(Problem(f"ray.{resource}", DISAGREEMENT, words, ("ray", "sysfs")))
    return tuple(found)


def _usable(resource: str, known: Detection, devices: Sequence[Accelerator], here: Here) -> int | None:
    """How many of the resource work; None where that is not known, or where there is none to speak of."""
    own = ray_usable.of_resource(resource, devices)
    if own and all(_is_listed_alone(device) for device in own):
        return None
    one = known.found.get(resource)
    if one is not None and (own or here.is_absent(one.family)):
        return ray_usable.number(one, devices, here)
    if resource == "GPU" and own:
        return sum(map(ray_usable.units, ray_usable.answering(own)))
    return len([device for device in own if device.state != "lost"]) if own and resource != "neuron_cores" else None


def _is_listed_alone(device: Accelerator) -> bool:
    """Whether nothing tells more of it than that it is on the bus: neither its driver nor its number."""
    return device.index is None and "driver" not in device.attributes and set(device.evidence) <= _LISTS
