"""Where what Ray would call a node's devices misleads: their type, the resources of a TPU slice, masks that add up.

Ray takes the type from device 0 alone: https://github.com/ray-project/ray/tree/ray-2.60.0/python/ray/_private/accelerators
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.topology import ray_types, ray_usable
from raxl.topology.label_values import made_valid
from raxl.topology.ray_counts import AMD, GAUDI, TENSTORRENT, TPU, Here
from raxl.topology.ray_detection import Found

_ROCR, _HIP = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"
_CONSTANTS = {"AMD-Instinct-MI308X-OAM": "AMD-Instinct-MI308X"}
"""By the type that Ray's table gives, the one that its own constant has: a request by the constant waits for ever."""


def problems(one: Found, number: int, devices: Sequence[Accelerator], here: Here) -> Iterable[Problem]:
    """All of a resource of which so many are registered."""
    own = ray_usable.of_resource(one.family.resource, devices)
    if not number or not own or any(device.vendor != own[0].vendor for device in own):
        return ()
    subject = f"ray.{one.family.resource}"
    told = [
        *((f"{subject}.type", words) for words in _types(one, own)),
        *((f"{subject}.head", words) for words in (_head(own[0], here) if one.family is TPU else ())),
        *((f"{subject}.visible", words) for words in (_masks(here) if one.family is AMD else ())),
    ]
    return [Problem(name, DISAGREEMENT, words, ()) for name, words in told]


def _types(one: Found, own: Sequence[Accelerator]) -> Iterator[str]:
    first = own[0]
    if one.family in (GAUDI, TENSTORRENT) or (one.family is AMD and first.ray.type is None):
        name = ray_types.spelling(first)
        if name:
            why = "it has none for this PCI id" if one.family is AMD else "its detection never gives one here"
            label = f"--labels=ray.io/accelerator-type={made_valid(name)}"
            yield f"Ray would give no accelerator type ({why}): start it with {label}"
        return
    types: dict[str, list[Accelerator]] = {}
    for device in own:
        if device.ray.type and device.state != "lost":
            types.setdefault(device.ray.type, []).append(device)
    if len(types) > 1 and first.ray.type:
        others = {kind: len(found) for kind, found in types.items() if kind != first.ray.type}
        words = ", ".join(f"{count} {kind}" for kind, count in others.items())
        step = f"start it with --resources='{json.dumps(others)}' and ask for those"
        yield f"Ray would call all of them {first.ray.type}, after the first ({words} among them): {step}"
    for kind, alike in types.items():
        yield from _models(kind, alike)
        if kind in _CONSTANTS:
            yield f"Ray would call it {kind}, and its own constant says {_CONSTANTS[kind]}: ask for {kind}"


def _models(kind: str, alike: Sequence[Accelerator]) -> Iterator[str]:
    """Models that Ray calls the same."""
    counts: dict[str, int] = {}
    for device in alike:
        if name := ray_types.model(device):
            counts[made_valid(name)] = counts.get(made_valid(name), 0) + 1
    if len(counts) > 1:
        words = " and ".join(f"{count} {name}" for name, count in counts.items())
        step = f"start it with --resources='{json.dumps(counts)}' and ask for those"
        yield f"Ray would call them {kind} alike ({words}): {step}"


def _head(first: Accelerator, here: Here) -> Iterator[str]:
    """The resource by which a slice is reserved wants the slice's name and the worker's number."""
    environment = here.readings.environment.value or {}
    kind = environment.get("TPU_ACCELERATOR_TYPE")
    missing = [name for name in ("TPU_NAME", "TPU_WORKER_ID") if not environment.get(name)]
    if first.ray.type and kind and missing:
        names = " and ".join(missing)
        unless = f"unless Google's metadata server answers (no {names} in the environment)"
        yield f"Ray would give no TPU-{kind}-head and no slice labels {unless}: set {names}"


def _masks(here: Here) -> Iterator[str]:
    environment = here.readings.environment.value or {}
    if _ROCR in environment and _HIP in environment:
        yield f"{_HIP} counts among those that {_ROCR} leaves, and Ray counts by the former alone: unset {_ROCR}"
