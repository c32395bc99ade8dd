"""Where Ray's view and the hardware differ: one problem each, with the rule, the evidence and the exact correction."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.topology import ray_given, ray_lists, ray_naming, ray_usable
from raxl.topology.ray_counts import GPUS, NEURON, NVIDIA, TENSTORRENT, TPU, Here
from raxl.topology.ray_detection import OVERRIDE, Detection, Found

_LISTED = " to the UUIDs of MIG devices that nvidia-smi -L lists"
_ROCR, _HIP = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"


def problems(known: Detection, devices: Sequence[Accelerator], here: Here) -> tuple[Problem, ...]:
    """All disagreements of a node, the one that keeps Ray from starting first."""
    if known.refusal:
        return (_problem("ray", f"Ray would not start ({known.refusal}): {_remedy(known, devices, here)}"),)
    found: list[Problem] = []
    if known.random:
        found.append(_problem("ray", _at_random(known, devices, here)))
    for resource, one in known.found.items():
        if resource not in known.random and (known.unknown is None or resource in known.registers):
            words = _miscounted(one, known.registers.get(resource, 0), devices, here)
            found += [_problem(f"ray.{resource}", words, one.count.evidence)] if words else []
            found += ray_naming.problems(one, known.registers.get(resource, 0), devices, here)
    return tuple(found)


def flags(numbers: Mapping[str, int]) -> str:
    """What `ray start` is given to register these: `--num-gpus 7`, `--resources='{"TPU": 0}'`."""
    others = {name: number for name, number in numbers.items() if name != "GPU"}
    words = [f"--num-gpus {numbers['GPU']}"] if "GPU" in numbers else []
    return " ".join([*words, *([f"--resources='{json.dumps(others)}'"] if others else [])])


def _problem(subject: str, message: str, evidence: str = "") -> Problem:
    return Problem(subject, DISAGREEMENT, message, (evidence,) if evidence else ())


def _remedy(known: Detection, devices: Sequence[Accelerator], here: Here) -> str:
    """What lets Ray start."""
    environment = here.readings.environment.value or {}
    if OVERRIDE in known.refusal:
        return f"correct {OVERRIDE} or unset it"
    if _ROCR in known.refusal:
        return f"unset {_ROCR} and set {_HIP}={environment.get(_ROCR, '')}"
    if known.found[NEURON.resource].count.raises:
        number = ray_usable.number(known.found[NEURON.resource], devices, here)
        given = f", or start it with {flags({NEURON.resource: number})}" if number is not None else ""
        return f"install aws-neuronx-tools{given}"
    if known.found["GPU"].family is NVIDIA:
        return "repair the driver first"
    return "install AMD SMI's library, or uninstall the Python package amdsmi beside Ray"


def _at_random(known: Detection, devices: Sequence[Accelerator], here: Here) -> str:
    """Several families count some: each can be registered when its number is given."""
    usable = {name: ray_usable.number(known.found[name], devices, here) for name in known.random}
    wanted = {name: known.found[name].number or 0 if number is None else number for name, number in usable.items()}
    counts = " or ".join(f"{known.found[name].number} {name}" for name in known.random)
    false = [_phantoms(one, here) for name, one in known.found.items() if name in known.random]
    why = f" ({'; '.join(words for words in false if words)})" if any(false) else ""
    given = [name for name in known.random if name in known.registers]
    if given:
        always, some = (
            " and ".join(f"{known.found[name].number} {name}" for name in names)
            for names in (given, [name for name in known.random if name not in given])
        )
        right = json.dumps({name: number for name, number in wanted.items() if number})
        words = f"Ray would register {always} ({OVERRIDE} says so), and at random {some} or none"
        return f"{words}: set {OVERRIDE}='{right}'"
    return f"Ray would register one family a start, at random: {counts}{why}: start it with {flags(wanted)}"


def _phantoms(one: Found, here: Here) -> str:
    if one.family is not TPU:
        return _by_id(one)
    return ", ".join(
        f"/dev/{name} is {what}" if "of vendor" in what else f"/dev/{name}, but {what}"
        for name, what in ray_usable.phantoms(one, here).items()
    )


def _by_id(one: Found) -> str:
    other = [name for name in one.count.files if one.family is TENSTORRENT and not name.isdigit()]
    return f"/dev/tenstorrent/{other[0]} is no device" if other else ""


def _miscounted(one: Found, number: int, devices: Sequence[Accelerator], here: Here) -> str:
    """Why another number than Ray's can be used, and what gives it; empty where they agree."""
    usable = ray_usable.number(one, devices, here)
    own = ray_usable.of_resource(one.family.resource, devices)
    if usable is None:
        there = number == 0 and (own or here.of(one.family))
        return f"{_would(one, 0, one.count.rule)}: {_step(one, None)}" if there else ""
    if (
        one.family is not NVIDIA
        and one.family in GPUS
        and number
        and own
        and all(d.vendor != one.family.vendor for d in own)
    ):
        return _claimed(one, number)
    if one.override is not None and number != usable:
        right = json.dumps({one.family.resource: usable})
        return f"{_would(one, number, f'{OVERRIDE} says so')}: set {OVERRIDE}='{right}'"
    wanted = ray_given.WANTED.get(one.family.name)
    mine = [device for device in own if device.state != "lost" and device.vendor == one.family.vendor]
    if wanted and mine and usable == 0 and not ray_given.openable(one.family, mine, here) and one.visible != ():
        if _is_driverless(mine):
            return f"{_would(one, number, 'no driver is bound to what is on the bus')}: load the driver"
        return f"{_would(one, number, 'no file of these devices is in /dev')}: give the container {wanted}"
    if number == usable == 0 and one.family in GPUS and _is_driverless(mine):
        return f"{_would(one, 0, 'no driver is bound to what is on the bus')}: load the driver"
    if one.family not in GPUS and (wrong := ray_lists.wrong(one, ray_given.openable(one.family, own, here))):
        return _mislisted(one, number, wrong, own, here)
    unlisted = one.family in GPUS and one.visible is None and 0 < number < usable
    if number == usable or (unlisted and not any(map(ray_usable.is_cut, own))):
        return ""  # a device that the library does not list is told as such, and is none to be registered
    return _gpus(one, number, usable, own) if one.family in GPUS else _others(one, number, usable, here)


def _is_driverless(devices: Sequence[Accelerator]) -> bool:
    """Whether the kernel lists all of them, and no driver for any."""
    return bool(devices) and all("sysfs" in one.evidence and "driver" not in one.attributes for one in devices)


def _mislisted(one: Found, number: int, wrong: str, own: Sequence[Accelerator], here: Here) -> str:
    """The list is to be set right, whatever else is wrong."""
    step = ray_lists.corrected(one, ray_given.openable(one.family, own, here))
    if number == 0 and one.count.number == 0:
        return f"{_would(one, 0, f'{one.count.rule}, and {wrong}')}: {_step(one, None)}, and {step}"
    return f"{_would(one, number, wrong)}: {step}"


def _would(one: Found, number: int, why: str) -> str:
    return f"Ray would register {number or 'no'} {one.family.resource} ({why})"


def _claimed(one: Found, number: int) -> str:
    why = f"it takes the node for one of {one.family.name}'s: {one.count.rule}"
    return f"{_would(one, number, why)}: uninstall the Python package {one.family.package} beside Ray"


def _gpus(one: Found, number: int, usable: int, own: Sequence[Accelerator]) -> str:
    alive = ray_usable.answering(own)
    mine = [device for device in alive if device.vendor == one.family.vendor] or alive
    if number == 0 and one.count.number == 0:
        return f"{_would(one, 0, one.count.rule)}: {_step(one, usable)}"
    if any(ray_usable.is_cut(device) for device in mine):
        return _cut(one, number, usable, mine)
    wrong = ray_lists.wrong(one, own)
    if wrong:
        return f"{_would(one, number, wrong)}: {ray_lists.corrected(one, mine)}"
    lost = [str(d.index) if d.index is not None else d.id for d in own if d.state == "lost"]
    if not lost:
        return f"{_would(one, number, one.count.rule)}: start it with {flags({'GPU': usable})}"
    why = f"{one.count.rule}, {'GPU' if len(lost) == 1 else 'GPUs'} {', '.join(lost)} lost"
    listed = ray_lists.working(one, mine)
    shown = f"set {one.family.variable}={listed} and " if listed else ""
    return f"{_would(one, number, why)}: {shown}start it with {flags({'GPU': usable})}"


def _cut(one: Found, number: int, usable: int, devices: Sequence[Accelerator]) -> str:
    """Boards in MIG mode: Ray counts boards, and takes the smaller of that and the list."""
    parts = [part.id for device in devices if ray_usable.is_cut(device) for part in device.partitions]
    wholes = [device.id for device in devices if not ray_usable.is_cut(device)]
    if one.visible is not None and any(not entry.isdigit() for entry in one.visible):
        why = f"it counts boards, and {one.family.variable} names {usable} MIG devices"
        return f"{_would(one, number, why)}: start it with {flags({'GPU': usable})}"
    names = [*wholes, *parts]
    listed = f"={names[0]}" if len(names) == 1 and names[0].startswith("MIG-") else _LISTED
    why = f"it counts boards, not the {len(parts)} MIG devices on them"
    total = sum(map(ray_usable.units, devices))
    if not parts:
        why = "it counts boards, and in MIG mode without MIG devices they are of no use"
        return f"{_would(one, number, why)}: create MIG devices, or start it with {flags({'GPU': total})}"
    return f"{_would(one, number, why)}: set {one.family.variable}{listed} and start it with {flags({'GPU': total})}"


def _others(one: Found, number: int, usable: int, here: Here) -> str:
    if number == 0:
        return f"{_would(one, 0, one.count.rule)}: {_step(one, usable)}"
    phantoms = _phantoms(one, here) if one.family is TPU else ""
    given = flags({one.family.resource: usable})
    return f"{_would(one, number, phantoms or one.count.rule)}: start it with {given}"


def _step(one: Found, usable: int | None) -> str:
    """What helps where Ray counts none."""
    given = f"start it with {flags({one.family.resource: usable})}" if usable else ""
    if one.family is NVIDIA:
        if re.search(r"NVML error 12\b", one.count.rule):
            return f"give the container NVIDIA_DRIVER_CAPABILITIES=compute,utility{', or ' + given if given else ''}"
        warning = f", {flags({'GPU': usable})} would register what does not answer" if usable else ""
        return f"repair the driver first{warning}"
    if one.family is NEURON:
        return f"install aws-neuronx-tools{', or ' + given if given else ''}"
    package = one.family.package
    if one.count.evidence == package:
        install = f"let {package} start"
    else:
        install = f"install {package} beside Ray" if package else "make the device files visible here"
    return f"{install}{', or ' + given if given else ''}"
