"""A list of visible devices that names what is not there: what is wrong with it, and the list that is right."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.accelerator import Accelerator
from raxl.topology import ray_usable, ray_visible
from raxl.topology.ray_detection import Found

_LONGEST, _MOST_FAULTS = 80, 4


def wrong(one: Found, own: Sequence[Accelerator]) -> str:
    """What the list names that is not there, or twice, or what Ray counts otherwise; empty where it is sound."""
    variable = one.family.variable
    if one.visible is None or not own or any(ray_usable.units(device) > 1 for device in own):
        return ""
    if not ray_visible.is_told(variable, own):
        return ""
    seen: set[str] = set()
    faults: list[str] = []
    entries = one.visible[: len(one.visible) // one.each]
    for entry in entries[: ray_visible.MOST]:
        units = {unit.id for unit in ray_visible.named(variable, entry, own)}
        fault = _fault(entry, units, seen)
        faults += [fault] if fault and fault not in faults else []
        seen |= units or {entry}
    given = ",".join(entries)
    shown = given if len(given) <= _LONGEST else f"{given[:_LONGEST]}…"
    more = [f"{len(faults) - _MOST_FAULTS} more"] if len(faults) > _MOST_FAULTS else []
    return f"{variable}={shown} {' and '.join([*faults[:_MOST_FAULTS], *more])}" if faults else ""


def _fault(entry: str, units: set[str], seen: set[str]) -> str:
    if not entry.strip():
        return "has an empty entry"
    if entry in seen or units & seen:
        return f"names {entry} twice"
    if not units:
        return f"names {entry}, which is not here"
    return f"names {entry}, which Ray takes for one" if len(units) > 1 else ""


def working(one: Found, devices: Sequence[Accelerator]) -> str:
    """The list of those that work: Ray hands out the first numbers else, a lost one's among them. Empty where their
    numbers are not known, or none is left."""
    if any(device.index is None for device in devices):
        return ""
    if one.visible is not None:
        here = [unit.device for entry in one.visible for unit in ray_visible.named(one.family.variable, entry, devices)]
        devices = [device for place, device in enumerate(here) if device not in here[:place]]
    return ",".join(str(device.index) for device in sorted(devices, key=lambda device: device.index or 0))


def corrected(one: Found, devices: Sequence[Accelerator]) -> str:
    """How the environment is set right."""
    right = ray_visible.corrected(one.family.variable, one.visible or (), devices)
    return f"set {one.family.variable}={right}" if right else f"unset {one.family.variable}"
