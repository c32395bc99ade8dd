"""Ray's own view of a node, beside what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from raxl.collect.bus import Bus
from raxl.host.replay import ReplayHost
from raxl.model.accelerator import Accelerator
from raxl.model.cluster import RayNode
from raxl.model.problem import Problem
from raxl.model.report import Silence
from raxl.sources import ray_view
from raxl.topology import ray_advice, ray_detection, ray_registered
from raxl.topology.ray_counts import Here

FIELD = "ray.would_register"


def seen(
    host: ReplayHost, bus: Bus, devices: Sequence[Accelerator], registered: RayNode | None
) -> tuple[tuple[Accelerator, ...], Mapping[str, Silence], tuple[Problem, ...]]:
    """The accelerators with what Ray would make of them, why that is not known by id, and the disagreements.

    `registered`: what Ray has made of them, on a node of a running cluster; then that is what is held against them.
    """
    here = Here(ray_view.readings(host), bus.functions, _is_listed(bus))
    known = ray_detection.detection(here)
    told = ray_detection.registered(known, devices)
    answers = {device: answer for device, answer in told.items() if isinstance(answer, bool)}
    silences = {device: answer for device, answer in told.items() if not isinstance(answer, bool)}
    viewed = tuple(
        replace(device, ray=replace(device.ray, would_register=answers.get(device.id))) for device in devices
    )
    if registered is not None:
        return viewed, silences, ray_registered.problems(registered, known, devices, here)
    return viewed, silences, ray_advice.problems(known, devices, here)


def _is_listed(bus: Bus) -> bool:
    """Whether the kernel listed the bus, and each function told its vendor."""
    return bus.answers.listing.known and all(function.vendor_id for function in bus.functions.values())
