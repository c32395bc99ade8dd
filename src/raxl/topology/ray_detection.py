"""What Ray 2.60 would register on a node if it were started there with this environment and no flags.

Ray asks one family after the other, in an order that differs from start to start, and stops at the first that counts
any: https://github.com/ray-project/ray/blob/ray-2.60.0/python/ray/_private/resource_and_label_spec.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from raxl.model.accelerator import Accelerator
from raxl.model.problem import DISAGREEMENT, NOT_ASKED, NOT_SUPPORTED
from raxl.model.report import Silence
from raxl.topology import ray_visible
from raxl.topology.ray_counts import AMD, GPUS, NVIDIA, OTHERS, TPU, Count, Family, Here, count

OVERRIDE = "RAY_OVERRIDE_RESOURCES"


@dataclass(frozen=True)
class Found:
    """What Ray's manager of one resource finds."""

    family: Family
    count: Count
    visible: tuple[str, ...] | None
    """The entries of the variable; None where it is not set."""
    override: int | None
    """What the environment says instead of counting."""
    each: int = 1
    """How many of the resource a device is told to be; the entries stand that often in `visible`."""

    @property
    def number(self) -> int | None:
        """What Ray would register of it if no other family came first."""
        if self.override is not None:
            return self.override
        if self.count.number is None or self.visible is None:
            return 0 if self.visible == () else self.count.number
        return min(self.count.number, len(self.visible))


@dataclass(frozen=True)
class Detection:
    """The whole answer. `registers` holds what is certain, by resource; a resource in neither is not registered."""

    found: Mapping[str, Found] = field(default_factory=dict)
    registers: Mapping[str, int] = field(default_factory=dict)
    random: tuple[str, ...] = ()
    """The resources of which one a start is registered."""
    unknown: Silence | None = None
    """Why it cannot be told."""
    refusal: str = ""
    """Why Ray does not start."""


def detection(here: Here) -> Detection:
    """What Ray would register, as far as the readings tell."""
    environment = here.readings.environment
    if environment.reason is not None:
        told = environment.message or "the environment that Ray starts in is not in what was given"
        return Detection(unknown=Silence(environment.reason, f"what limits Ray's view is not known: {told}"))
    overrides = _overrides(environment.value)
    if overrides is None:
        return Detection(refusal=f"{OVERRIDE} is no JSON object of whole numbers")
    owner, owned = _owner(here)
    counts = {owner.resource: (owner, owned), **{family.resource: (family, count(family, here)) for family in OTHERS}}
    found = {
        resource: Found(
            family, told, _visible(environment.value, family), overrides.get(resource), _each(environment.value, family)
        )
        for resource, (family, told) in counts.items()
    }
    refusal = _refusal(found, environment.value)
    if refusal:
        return Detection(found=found, refusal=refusal)
    return _chosen(Detection(found=found), overrides)


def _visible(environment: Mapping[str, str], family: Family) -> tuple[str, ...] | None:
    entries = ray_visible.ids(environment, family.variable)
    return None if entries is None else tuple(entries)


def _each(environment: Mapping[str, str], family: Family) -> int:
    return ray_visible.chips(environment) if family is TPU else 1


def _owner(here: Here) -> tuple[Family, Count]:
    """Which family has the resource `GPU`, by Ray's order. Where none counts any, one whose devices are here."""
    counts = [(family, count(family, here)) for family in GPUS]
    first = next((pair for pair in counts if pair[1].number != 0 or pair[1].raises), None)
    here_too = next((pair for pair in reversed(counts) if here.of(pair[0])), None)
    return first or here_too or counts[-1]


def _overrides(environment: Mapping[str, str]) -> dict[str, int] | None:
    """The resources that the environment gives; None for what Ray does not take."""
    text = environment.get(OVERRIDE)
    if not text:
        return {}
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict):
        return None
    numbers = {name: value for name, value in given.items() if isinstance(value, int | float)}
    whole = {name: int(value) for name, value in numbers.items() if 0 <= value < 1 << 40 and int(value) == value}
    return whole if len(whole) == len(given) else None


def _refusal(found: Mapping[str, Found], environment: Mapping[str, str]) -> str:
    """The error that ends Ray's start, whichever family it asks first; none where another may come before."""
    for one in found.values():
        if one.count.raises and one.override is None:
            return one.count.rule
    gpus = found["GPU"]
    rocr = "ROCR_VISIBLE_DEVICES" in environment and "HIP_VISIBLE_DEVICES" not in environment
    if gpus.family is AMD and gpus.count.number and rocr and gpus.override != 0:
        return "Ray refuses ROCR_VISIBLE_DEVICES without HIP_VISIBLE_DEVICES where it counts AMD GPUs"
    for one in found.values():
        if one.override and one.visible is not None and one.override > len(one.visible):
            return f"{OVERRIDE} gives {one.override} {one.family.resource}, {one.family.variable} lists fewer"
    return ""


def _chosen(known: Detection, overrides: Mapping[str, int]) -> Detection:
    """Given numbers are registered whatever is picked; of counted ones, the first family that has any."""
    found = known.found
    given = {name: value for name, value in overrides.items() if value and (name in found or name == "GPU")}
    counted = [name for name, one in found.items() if one.override is None and one.number]
    open_ = [one for one in found.values() if one.number is None]
    if open_:
        first = open_[0].count
        return replace(known, registers=given, unknown=Silence(first.reason or NOT_ASKED, first.rule, first.evidence))
    candidates = (*given, *counted)
    if len(candidates) == 1 and counted:
        number = found[counted[0]].number or 0
        return replace(known, registers={counted[0]: number})
    return replace(known, registers=given, random=candidates if counted else ())


def registered(known: Detection, devices: Sequence[Accelerator]) -> dict[str, bool | Silence]:
    """By id, whether Ray would count the device; why not known."""
    told: dict[str, bool | Silence] = {}
    for device in devices:
        told[device.id] = _one(known, device)
    for resource, number in known.registers.items():
        one = known.found.get(resource)
        if one is not None:
            told.update(_of(one, number, [device for device in devices if _is_of(one, device)]))
    return told


def _one(known: Detection, device: Accelerator) -> bool | Silence:
    resource = device.ray.resource
    if known.refusal:
        return False
    if known.unknown is not None and not known.found:
        return known.unknown
    one = known.found.get(resource or "")
    if one is None or not _is_of(one, device):
        # Another vendor's manager may own the resource only where it is certain which one does.
        return known.unknown if one is not None and one.count.number is None and known.unknown is not None else False
    if resource in known.random:
        others = " or ".join(known.random)
        return Silence(DISAGREEMENT, f"Ray registers the resource of one family a start, at random: {others}")
    if known.unknown is not None and one.number != 0:
        return known.unknown
    return False


def _is_of(one: Found, device: Accelerator) -> bool:
    """Whether the manager that has the resource counts devices of this vendor."""
    return device.ray.resource == one.family.resource and (device.vendor == one.family.vendor or one.family not in GPUS)


def _of(one: Found, number: int, devices: Sequence[Accelerator]) -> dict[str, bool | Silence]:
    """The devices of one resource of which Ray registers so many."""
    if one.family is NVIDIA and any(device.index is not None for device in devices):
        listed = [device for device in devices if device.index is not None]
    else:
        listed = list(devices)
    shown = listed
    if number and len(listed) > 1 and (one.visible is not None or number < len(listed)):
        if any(device.index is None for device in listed):
            words = f"Ray counts {number} of them, and nothing says which: they have no numbers here"
            return dict.fromkeys((device.id for device in devices), Silence(NOT_SUPPORTED, words))
        if one.visible is None:
            shown = [device for device in listed if (device.index or 0) < number]
    if one.visible is not None:
        shown = ray_visible.registered(one.family.variable, one.visible, listed)
    return {device.id: number > 0 and device in shown for device in devices}
