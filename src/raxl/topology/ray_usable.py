"""How much of a resource can truly be used on a node: what Ray's count is held against."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.accelerator import Accelerator
from raxl.topology import ray_given, ray_visible
from raxl.topology.ray_counts import AMD, GOOGLE, GPUS, METAX, NEURON, NVIDIA, TENSTORRENT, TPU, Here
from raxl.topology.ray_detection import Found


def of_resource(resource: str, devices: Sequence[Accelerator]) -> list[Accelerator]:
    """The devices that Ray would call so, whoever makes them."""
    return [device for device in devices if device.ray.resource == resource]


def is_cut(device: Accelerator) -> bool:
    """Whether a GPU is in MIG mode: then its MIG devices alone can be used."""
    told = str(device.attributes.get("mig_mode") or "")
    return device.vendor == NVIDIA.vendor and (told.startswith("Enabled") or (not told and bool(device.partitions)))


def units(device: Accelerator) -> int:
    """How many of it a runtime shows: its partitions where it is cut."""
    if is_cut(device):
        return len(device.partitions)
    return max(1, len(device.partitions)) if device.vendor == AMD.vendor else 1


def answering(devices: Sequence[Accelerator]) -> list[Accelerator]:
    """Those that a job could use: not lost, and with the number that their runtime gives; else with its driver."""
    alive = [device for device in devices if device.state != "lost"]
    numbered = [device for device in alive if device.index is not None]
    if numbered:
        return numbered
    return [
        device for device in alive if device.attributes.get("driver") in ("nvidia", "amdgpu", "metax", "i915", "xe")
    ]


def number(one: Found, devices: Sequence[Accelerator], here: Here) -> int | None:
    """How many of the resource there are to use under the node's variables; None where that is not known."""
    own = of_resource(one.family.resource, devices)
    if one.family in GPUS:
        return _gpus(one, own, here) if own or one.family is not METAX else len(here.of(METAX))
    whole, own = _whole(one, own, here), ray_given.openable(one.family, own, here)
    if whole is None or one.visible is None:
        return whole
    if not own or not ray_visible.is_told(one.family.variable, own):
        return min(whole, len(one.visible))
    return min(whole, len(ray_visible.units_seen(one.family.variable, one.visible, own)) * one.each)


def _gpus(one: Found, own: Sequence[Accelerator], here: Here) -> int:
    usable, variable = ray_given.openable(one.family, answering(own), here), one.family.variable
    if one.visible is None or not any(device.vendor == one.family.vendor for device in own):
        return sum(map(units, usable))
    if any(is_cut(device) for device in usable):
        entries = [entry for entry in one.visible if not entry.strip().isdigit()]
        named = len(ray_visible.units_seen(variable, one.visible, usable)) if entries else 0
        # A board in MIG mode that is named by its number shows its first MIG device.
        return named if entries else len(ray_visible.seen(variable, one.visible, usable))
    if any(units(device) > 1 for device in usable):
        return min(len(one.visible), sum(map(units, usable)))
    lost = {device.id for device in own} - {device.id for device in usable}
    return sum(device.id not in lost for device in ray_visible.seen(variable, one.visible, own))


def _whole(one: Found, own: Sequence[Accelerator], here: Here) -> int | None:
    family = one.family
    if own:
        sound = [device for device in own if device.state != "lost" and not _is_given_away(device, one)]
        alive = ray_given.openable(family, sound, here)
        if family is not NEURON:
            return len(alive) * one.each
        if one.count.number:
            return one.count.number
        cores = [ray_visible.cores(device) for device in alive]
        return None if None in cores else sum(core or 0 for core in cores)
    if family is TENSTORRENT and one.count.files:
        return sum(name.isdigit() for name in one.count.files)
    if family is TPU and one.count.files:
        return len(one.count.files) - len(phantoms(one, here))
    if one.count.number and not (family is TPU and here.is_listed):  # Ray counts any of Google's that VFIO holds
        return one.count.number
    if not here.is_listed:
        return None
    if family is NEURON:
        each = [ray_visible.CORES.get(function.device_id or "") for function in here.of(family)]
        return None if None in each else sum(core or 0 for core in each)
    known = [function for function in here.of(family) if family is not TPU or function.device_id in TPUS]
    return len(known)


def _is_given_away(device: Accelerator, one: Found) -> bool:
    """Whether VFIO holds it, for a virtual machine; TPUs are driven through it."""
    return device.attributes.get("driver") == "vfio-pci" and one.family is not TPU


TPUS = ("0027", "005e", "0063", "0062", "006f", "0076")
"""Google's other functions are network adapters and disks."""


def phantoms(one: Found, here: Here) -> dict[str, str]:
    """The files that Ray counts as TPUs and that are another maker's, by name with the device and its vendor."""
    owners = here.readings.accel_owners
    found = {}
    for name in one.count.files:
        function = here.functions.get(owners.get(name, ""))
        if function is not None and function.vendor_id not in (None, GOOGLE):
            found[name] = f"{function.address} of vendor {function.vendor_id}"
        elif function is None and here.is_listed and not here.of(TPU):
            found[name] = "no device of Google's is on the bus"
    return found
