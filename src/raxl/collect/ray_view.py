"""Ray's own view of a node, beside what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from raxl.collect.alike import Itself, Steps
from raxl.collect.bus import Bus
from raxl.model.accelerator import Accelerator
from raxl.model.cluster import RayNode
from raxl.model.problem import Problem
from raxl.model.ray_readings import RayReadings
from raxl.model.report import Silence
from raxl.sources import ray_view
from raxl.topology import ray_advice, ray_detection, ray_differs
from raxl.topology.ray_counts import Here

FIELD = "ray.would_register"


def seen(
    steps: Steps, bus: Bus, devices: Sequence[Accelerator], registered: RayNode | None
) -> tuple[tuple[Accelerator, ...], Mapping[str, Silence], tuple[Problem, ...]]:
    """The accelerators with what Ray would make of them, why that is not known by id, and the disagreements.

    `registered`: what Ray has made of them, on a node of a running cluster; then that is what is held against them.
    """
    readings = steps.ask("Ray's readings", ray_view.readings)
    here, known = steps.same("Ray's detection", (Itself(readings), Itself(bus)), partial(_detected, readings, bus))
    told = ray_detection.registered(known, devices)
    answers = {device: answer for device, answer in told.items() if isinstance(answer, bool)}
    silences = {device: answer for device, answer in told.items() if not isinstance(answer, bool)}
    viewed = tuple(
        replace(device, ray=replace(device.ray, would_register=answers.get(device.id))) for device in devices
    )
    if registered is not None:
        return viewed, silences, ray_differs.problems(registered, known, devices, here)
    return viewed, silences, ray_advice.problems(known, devices, here)


def _detected(readings: RayReadings, bus: Bus) -> tuple[Here, ray_detection.Detection]:
    here = Here(readings, bus.functions, _is_listed(bus))
    return here, ray_detection.detection(here)


def _is_listed(bus: Bus) -> bool:
    """Whether the kernel listed the bus, and each function told its vendor."""
    return bus.answers.listing.known and all(function.vendor_id for function in bus.functions.values())
