"""Lists of visible devices: what Ray takes from the variable, and what the vendor's runtime makes of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from raxl.model.accelerator import Accelerator

NO_DEVICES = "NoDevFiles"
MOST = 256
"""More entries than any node has devices: what comes after them is not looked at."""
_MIG = "MIG-"
_LEVEL_ZERO = "level_zero:"


def ids(environment: Mapping[str, str], variable: str | None) -> list[str] | None:
    """The entries that Ray 2.60 counts, whatever they name; None where the variable does not limit it.

    https://github.com/ray-project/ray/tree/ray-2.60.0/python/ray/_private/accelerators
    """
    value = None if variable is None else environment.get(variable)
    if variable == "ZE_AFFINITY_MASK" and value is None:
        value = environment.get("ONEAPI_DEVICE_SELECTOR")
        value = value.split(_LEVEL_ZERO)[1] if value and _LEVEL_ZERO in value else value
    if value is None:
        return None
    if value == "" or (value == NO_DEVICES and variable in _KNOW_NO_DEVICES):
        return []
    entries = value.split(",")
    if variable == "FURIOSA_DEVICES":
        entries = [entry for entry in entries if entry.strip()]
    per_chip = chips(environment) if variable == "TPU_VISIBLE_CHIPS" else 1
    return [entry for entry in entries if entry.strip()] * per_chip if per_chip > 1 else entries


_KNOW_NO_DEVICES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "TT_VISIBLE_DEVICES")


def chips(environment: Mapping[str, str]) -> int:
    """How many resources Ray counts a TPU chip as in the list of visible ones."""
    told = environment.get("RAY_TPU_RESOURCE_PER_CHIP", "")
    return int(told) if re.fullmatch("[0-9]{1,4}", told) and int(told) else 1


def seen(entries: Sequence[str] | None, devices: Sequence[Accelerator]) -> list[Accelerator]:
    """The devices that the runtime shows for such a list, those of which a partition is named among them.

    CUDA and HIP stop at the first entry that names nothing, and show nothing at all when one is named twice.
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    """
    if entries is None:
        return list(devices)
    found: list[Accelerator] = []
    named: set[str] = set()
    for entry in entries[:MOST]:
        match = _named(entry.strip(), devices)
        if match is None:
            break
        unit, device = match
        if unit in named:
            return []
        named.add(unit)
        if device not in found:
            found.append(device)
    return found


def units_seen(entries: Sequence[str], devices: Sequence[Accelerator]) -> int:
    """How many devices or partitions of devices a list names before the first entry that names nothing."""
    named: set[str] = set()
    for entry in entries[:MOST]:
        match = _named(entry.strip(), devices)
        if match is None:
            break
        if match[0] in named:
            return 0
        named.add(match[0])
    return min(len(named), sum(max(1, len(device.partitions)) for device in devices))


def _named(entry: str, devices: Sequence[Accelerator]) -> tuple[str, Accelerator] | None:
    """The unit that an entry names, by its id, and its device: an index, a UUID or its beginning, a MIG device."""
    entry = re.sub(r"^npu:([0-9]+)(:.*)?$", r"\1", entry)
    for place, device in enumerate(devices):
        index = device.index if device.index is not None else place
        if re.fullmatch("[0-9]{1,6}", entry) and int(entry) == index:
            return device.id, device
        if device.uuid and len(entry) > 4 and device.uuid.startswith(entry):
            return device.id, device
        parts = [one.id for one in device.partitions]
        if entry in parts or (entry.startswith(_MIG) and parts and not any(part.startswith(_MIG) for part in parts)):
            return entry, device  # where nobody tells the UUIDs of MIG devices, one may be any of them
    return None
