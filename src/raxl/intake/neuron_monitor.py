"""`neuron-monitor`: JSON, one document a period, of the instance, its Neuron hardware and each device's ECC counters.

https://awsdocs-neuron.readthedocs-hosted.com: Neuron Monitor User Guide. It names no PCI addresses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from raxl.intake.foreign import Foreign
from raxl.model.placement import Placement
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_ASKED, Problem
from raxl.model.report import Claim, Report, Silence
from raxl.sources import json_text, neuron_names
from raxl.sources.neuron_names import FAMILY
from raxl.sources.numbers import MOST_BYTES, MOST_COUNT, whole

FORM = "neuron-monitor"
_MARKS = ('"neuron_hardware_info"', '"neuron_hw_counters"', '"neuron_runtime_data"')
_NAMES = ("instance_info", "neuron_hardware_info", "neuron_hw_counters")
_MOST_DEVICES = 256
_NO_HEALTH = Silence(NOT_ASKED, f"{FORM} counts errors, and tells no health of a device")


def recognises(text: str) -> bool:
    """Whether one of its groups of metrics is in it."""
    return any(mark in text for mark in _MARKS)


def own(text: str) -> str:
    """The groups that are read, of the last period; what processes did is left out. What ends early stays open."""
    groups, damage = _groups(text)
    kept = json.dumps(groups)
    return f"{kept[:-1] if damage else kept}\n"


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """A claim for each device that the hardware group counts or the counters list; the last period counts."""
    groups, damage = _groups(text)
    hardware, counters = groups.get("neuron_hardware_info", {}), groups.get("neuron_hw_counters", {})
    count = _number(hardware.get("neuron_device_count"), _MOST_DEVICES)
    listed = _listed(counters)
    known: dict[int, dict[str, int]] = {**{index: {} for index in range(count or 0)}, **listed}
    problems = [
        Problem("accelerators", FAILED, f"{FORM}: {error}"[:500], (FORM,))
        for error in (str(group.get("error") or "").strip() for group in groups.values())
        if error
    ]
    if count is not None and listed and len(listed) != count:
        words = f"{FORM} counts {count} devices, its counters list {len(listed)}"
        problems.append(Problem("accelerators", DISAGREEMENT, words, (FORM,)))
    claims = tuple(_claim(index, said, hardware) for index, said in sorted(known.items()))
    report = Report(claims, placement=_placement(groups.get("instance_info", {})))
    return Foreign(FORM, report=report), (*damage, *problems)


def _claim(index: int, counters: dict[str, int], hardware: dict[str, Any]) -> Claim:
    """Uncorrected errors of memory make a device degraded. That there are none makes none well: the tool has no field
    of health."""
    version = str(hardware.get("neuroncore_version") or "")
    model = str(hardware.get("neuron_device_type") or "").strip()
    told = {
        "neuron_cores": _number(hardware.get("neuroncore_per_device_count"), 1024),
        "logical_neuroncore_config": _number(hardware.get("logical_neuroncore_config"), 64),
        **counters,
    }
    is_broken = any(count for name, count in counters.items() if name.endswith("uncorrected"))
    return Claim(
        vendor=FAMILY.vendor,
        kind=FAMILY.kind,
        evidence=FORM,
        index=index,
        model=model.capitalize() or None,
        architecture=f"NeuronCore-{version}" if version else None,
        memory_bytes=_number(hardware.get("neuron_device_memory_size"), MOST_BYTES) or None,
        state="degraded" if is_broken else None,
        ray=neuron_names.RAY,
        visible_env=FAMILY.visible_env,
        attributes={name: value for name, value in told.items() if value is not None},
        silent={} if is_broken else {"state": _NO_HEALTH},
    )


def _listed(counters: dict[str, Any]) -> dict[int, dict[str, int]]:
    """The counters of each device, by its number."""
    listed = {}
    rows = counters.get("neuron_devices")
    for row in rows if isinstance(rows, list) else []:
        index = _number(row.get("neuron_device_index"), _MOST_DEVICES - 1) if isinstance(row, dict) else None
        if index is not None:
            counts = {str(name): _number(said, MOST_COUNT) for name, said in row.items() if "_ecc_" in str(name)}
            listed[index] = {name: count for name, count in counts.items() if count is not None}
    return listed


def _placement(instance: dict[str, Any]) -> Placement:
    words = {name: str(instance.get(f"instance_{name}") or "") for name in ("type", "region", "availability_zone")}
    if not any(words.values()):
        return Placement()
    return Placement(
        provider="aws",
        instance_type=words["type"] or None,
        region=words["region"] or None,
        zone=words["availability_zone"] or None,
        evidence=(FORM,),
    )


def _groups(text: str) -> tuple[dict[str, dict[str, Any]], tuple[Problem, ...]]:
    """The groups of metrics by name, each of the last document that has it; of a damaged one where none is whole, and
    that it is damaged."""
    groups: dict[str, dict[str, Any]] = {}
    every = json_text.documents(text)
    told = [document for document in every if document.damage is None] or every
    for document in told:
        for found in _objects(document.value):
            if "neuron_device_index" in str(found.get("neuron_devices", ""))[:1000]:
                groups["neuron_hw_counters"] = found
            groups.update((name, said) for name, said in found.items() if name in _NAMES and isinstance(said, dict))
    if not told:
        return {}, (Problem("accelerators", FAILED, f"the JSON of {FORM} cannot be read", (FORM,)),)
    return groups, told[-1].problems(FORM, FORM)


def _objects(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The objects of a document that can hold a group: its own, and those of `system_data`."""
    if isinstance(value, dict) and depth < 3:
        yield value
        yield from _objects(value.get("system_data"), depth + 1)
    elif isinstance(value, list) and depth < 3:
        for said in value:
            yield from _objects(said, depth + 1)


def _number(said: Any, most: int) -> int | None:
    return None if isinstance(said, bool) else whole(str(said), most)
