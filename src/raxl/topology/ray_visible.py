"""Lists of visible devices: what Ray takes from the variable, and what the vendor's runtime makes of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from raxl.model.accelerator import Accelerator

NO_DEVICES = "NoDevFiles"
MOST = 256
"""More entries than any node has devices: what comes after them is not looked at."""
CORES = {"7064": 4, "7065": 4, "7066": 4, "7067": 4, "7164": 2, "7264": 2}
"""NeuronCores of a device by PCI id; of later ones it depends on the logical core setting."""
_MIG = "MIG-"
_STRICT = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_CORES, _MODULES = "NEURON_RT_VISIBLE_CORES", "HABANA_VISIBLE_MODULES"
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


class Unit(NamedTuple):
    """What an entry names: a whole device, a partition of it, or one of its cores."""

    id: str
    device: Accelerator


def is_told(variable: str, devices: Sequence[Accelerator]) -> bool:
    """Whether it is known what the entries of the variable would name, so that one that names nothing is seen.

    Intel's lists name tiles and selectors; a container that was given some devices numbers them anew.
    """
    if variable == _MODULES:
        return all(_module(device) is not None for device in devices)
    if variable == _CORES:
        return all(cores(device) and device.index is not None for device in devices)
    if variable in _STRICT:
        return True
    numbers = {place if device.index is None else device.index for place, device in enumerate(devices)}
    return variable != "ZE_AFFINITY_MASK" and numbers == set(range(len(devices)))


def seen(variable: str, entries: Sequence[str] | None, devices: Sequence[Accelerator]) -> list[Accelerator]:
    """The devices that the runtime shows for such a list, those of which a part is named among them."""
    if entries is None or not is_told(variable, devices):
        return list(devices)
    found: list[Accelerator] = []
    for unit in units_seen(variable, entries, devices):
        if unit.device not in found:
            found.append(unit.device)
    return found


def registered(variable: str, entries: Sequence[str], devices: Sequence[Accelerator]) -> list[Accelerator]:
    """The devices of which Ray has an entry to hand out: it gives each worker its own, whatever stands before it."""
    found: list[Accelerator] = []
    for entry in entries[:MOST]:
        found += [unit.device for unit in named(variable, entry, devices) if unit.device not in found]
    return found


def units_seen(variable: str, entries: Sequence[str], devices: Sequence[Accelerator]) -> list[Unit]:
    """The devices and parts of devices that a list names.

    CUDA and HIP stop at the first entry that names nothing, and show nothing at all when one is named twice:
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#cuda-environment-variables
    Of the other runtimes that is not public: what is named and here is taken, once.
    """
    found: dict[str, Unit] = {}
    for entry in entries[:MOST]:
        units = named(variable, entry, devices)
        if not units and variable in _STRICT:
            break
        for unit in units:
            if unit.id in found and variable in _STRICT:
                return []
            found.setdefault(unit.id, unit)
    return list(found.values())


def named(variable: str, entry: str, devices: Sequence[Accelerator]) -> list[Unit]:
    """What an entry names: an index, a UUID or its beginning, a MIG device, a module, cores; nothing where it is not
    here."""
    entry = re.sub(r"^npu:([0-9]+)(:.*)?$", r"\1", entry.strip())
    if variable == _CORES:
        return _cores_named(entry, devices)
    for place, device in enumerate(devices):
        number = _module(device) if variable == _MODULES else device.index
        if re.fullmatch("[0-9]{1,6}", entry) and int(entry) == (place if number is None else number):
            return [Unit(device.id, device)]
        if variable == "TT_VISIBLE_DEVICES" and device.pci and device.pci.address == entry:
            return [Unit(device.id, device)]
        if device.uuid and len(entry) > 4 and device.uuid.startswith(entry):
            return [Unit(device.id, device)]
        parts = [one.id for one in device.partitions]
        if entry in parts or (entry.startswith(_MIG) and parts and not any(part.startswith(_MIG) for part in parts)):
            # Where nobody tells the UUIDs of MIG devices, one may be any of them.
            return [Unit(entry, device)]
    return []


def corrected(variable: str, entries: Sequence[str], devices: Sequence[Accelerator]) -> str:
    """The list without what is not here or was named before; ranges, which Ray takes for one, are written out. Empty
    where it would name nothing, or all there is: then none is needed."""
    kept: dict[str, str] = {}
    for entry in entries[:MOST]:
        for unit in named(variable, entry, devices):
            kept.setdefault(unit.id, unit.id if variable == _CORES else entry.strip())
    all_of_them = sum(cores(device) or 0 for device in devices) if variable == _CORES else len(devices)
    return "" if len(kept) == all_of_them else ",".join(kept.values())


def cores(device: Accelerator) -> int | None:
    """How many NeuronCores the runtime numbers on a device: what neuron-ls says, else by its PCI id."""
    told = device.attributes.get("neuron_cores")
    if isinstance(told, int) and not isinstance(told, bool):
        return told
    return CORES.get((device.pci.device_id if device.pci else None) or "")


def _cores_named(entry: str, devices: Sequence[Accelerator]) -> list[Unit]:
    """`5`, `4-7`: the runtime numbers the cores through, device after device.

    https://awsdocs-neuron.readthedocs-hosted.com/en/latest/neuron-runtime/nrt-configurable-parameters.html
    """
    range_ = re.fullmatch("([0-9]{1,6})(?:-([0-9]{1,6}))?", entry)
    if range_ is None:
        return []
    wanted = range(int(range_[1]), int(range_[2] or range_[1]) + 1)
    owners = [device for device in sorted(devices, key=lambda one: one.index or 0) for _ in range(cores(device) or 0)]
    here = wanted and wanted[-1] < len(owners)
    return [Unit(str(core), owners[core]) for core in wanted] if here else []


def _module(device: Accelerator) -> int | None:
    told = device.attributes.get("module_id")
    return told if isinstance(told, int) and not isinstance(told, bool) else None
