"""How many devices each of Ray's accelerator managers would count, and by which rule.

The rules are those of Ray 2.60, `ray._private.accelerators`; `tests/test_ray_detection.py` runs them beside Ray's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from raxl.model.component import PciFunction
from raxl.model.facts import Reading
from raxl.model.problem import FAILED, NOT_ASKED, NOT_INSTALLED, TIMED_OUT
from raxl.model.ray_readings import RayReadings

GOOGLE = "1ae0"
NVML_COUNTING = "(it starts, and does not count its devices)"
"""How the words end of an error that NVML gave after it had started."""


class Family(NamedTuple):
    """One of Ray's managers."""

    name: str
    """For a person."""
    resource: str
    vendor: str
    """The first half of raxl's ids of its devices."""
    vendor_id: str
    """PCI vendor."""
    classes: tuple[str, ...]
    """Beginnings of the PCI classes that its devices have."""
    variable: str
    package: str | None = None
    """The Python package through which Ray counts; without it, it counts none, or files."""


NVIDIA = Family("NVIDIA", "GPU", "nvidia", "10de", ("03",), "CUDA_VISIBLE_DEVICES")
AMD = Family("AMD", "GPU", "amd", "1002", ("03", "12"), "HIP_VISIBLE_DEVICES", "amdsmi")
INTEL = Family("Intel", "GPU", "intel", "8086", ("03",), "ZE_AFFINITY_MASK", "dpctl")
METAX = Family("MetaX", "GPU", "metax", "9999", ("03", "12"), "CUDA_VISIBLE_DEVICES", "pymxsml")
TPU = Family("Google TPU", "TPU", "tpu", GOOGLE, ("12", "088", "ff", "00"), "TPU_VISIBLE_CHIPS")
NEURON = Family("AWS Neuron", "neuron_cores", "neuron", "1d0f", ("12", "088", "ff"), "NEURON_RT_VISIBLE_CORES")
GAUDI = Family("Intel Gaudi", "HPU", "gaudi", "1da3", ("12",), "HABANA_VISIBLE_MODULES", "habana_frameworks")
ASCEND = Family("Huawei Ascend", "NPU", "ascend", "19e5", ("12",), "ASCEND_RT_VISIBLE_DEVICES")
RBLN = Family("Rebellions", "RBLN", "rebellions", "1eff", ("12",), "RBLN_DEVICES", "rebel")
FURIOSA = Family("FuriosaAI", "FURIOSA", "furiosa", "1ed2", ("12",), "FURIOSA_DEVICES", "furiosa_smi_py")
MOBILINT = Family("Mobilint", "MBLT", "mobilint", "209f", ("",), "QBRUNTIME_VISIBLE_DEVICES")
TENSTORRENT = Family("Tenstorrent", "TTNPU", "tenstorrent", "1e52", ("12",), "TT_VISIBLE_DEVICES")
GPUS = (AMD, INTEL, METAX, NVIDIA)
"""Who owns `GPU`, in the order in which Ray tries them; the last one where none counts any. Apple's needs macOS."""
OTHERS = (TPU, NEURON, GAUDI, ASCEND, RBLN, FURIOSA, MOBILINT, TENSTORRENT)


class Count(NamedTuple):
    """What a manager would count; None with its reason where that cannot be told."""

    number: int | None
    rule: str
    """Why: `NVML lists 8`. In a sentence it stands in brackets."""
    evidence: str = ""
    reason: str = ""
    raises: bool = False
    """Whether Ray does not start at all."""
    files: tuple[str, ...] = ()
    """The device files that were counted."""


class Here(NamedTuple):
    """The readings, and the bus that says whose devices are what."""

    readings: RayReadings
    functions: Mapping[str, PciFunction]
    is_listed: bool
    """Whether the whole PCI tree was read."""

    def of(self, family: Family) -> list[PciFunction]:
        """The family's functions on the bus, virtual ones apart whose owner is here too."""
        own = [
            one
            for one in self.functions.values()
            if one.vendor_id == family.vendor_id and (one.class_id or "").startswith(family.classes)
        ]
        return [one for one in own if one.physical_function not in self.functions]

    def is_absent(self, family: Family) -> bool:
        """Whether no device of the family is on a bus that was read."""
        return self.is_listed and not self.of(family)


def count(family: Family, here: Here) -> Count:
    """What Ray's manager of the family would count here."""
    rule = _RULES.get(family.name)
    return rule(here) if rule else _by_package(family, here)


def _nvidia(here: Here) -> Count:
    told = here.readings.nvml
    if told.reason is None:
        return Count(told.value, f"NVML lists {told.value}", told.source)
    if told.reason == TIMED_OUT:
        return Count(None, f"NVML does not answer, and Ray would wait for it: {told.message}", told.source, TIMED_OUT)
    if here.is_absent(NVIDIA):
        return Count(0, "no NVIDIA GPU is on the bus", "sysfs")
    if told.reason == NOT_ASKED or told.message.startswith("pynvml"):
        return _unknown(told, "how many GPUs NVML lists")
    if told.message.endswith(NVML_COUNTING):
        return Count(0, f"Ray does not catch an NVML that does not count: {told.message}", told.source, raises=True)
    return Count(0, f"Ray takes an NVML that does not start for no GPU: {told.message}", told.source)


def _amd(here: Here) -> Count:
    packaged, told = _packaged("amdsmi", here), here.readings.amdsmi
    own = [one for one in here.of(AMD) if one.driver == "amdgpu"]
    if packaged is False:
        return _without(AMD, "amdsmi")
    if here.is_absent(AMD) and told.reason is not None and packaged is None:
        return Count(0, "no AMD GPU is on the bus", "sysfs")
    if packaged is None:
        return Count(None, "whether the Python package amdsmi is beside Ray was not asked", reason=NOT_ASKED)
    if told.reason is None:
        return Count(told.value, f"amdsmi lists {told.value}", told.source)
    if told.reason == NOT_ASKED and here.is_listed:
        places = ", ".join(one.address for one in own)
        return Count(len(own), f"amdsmi lists what amdgpu drives: {places}" if own else "no AMD GPU is driven", "sysfs")
    if told.reason == TIMED_OUT:
        return Count(None, f"amdsmi does not answer, and Ray would wait for it: {told.message}", told.source, TIMED_OUT)
    if told.reason == NOT_INSTALLED:
        return Count(0, "import ray fails where the package amdsmi has no library", told.source, raises=True)
    return Count(0, f"Ray takes an amdsmi that does not start for no GPU: {told.message}", told.source)


def _tpu(here: Here) -> Count:
    told = here.readings
    if told.device_files.reason is not None:
        return _unknown(told.device_files, "the files /dev/accel*")
    files = [name for name in told.device_files.value if name.startswith("accel") and name not in told.accel_folders]
    if files:
        return Count(len(files), f"Ray counts {_files(files)}", "/dev", files=tuple(files))
    if told.vfio.reason is not None:
        return _unknown(told.vfio, "the groups in /dev/vfio")
    groups = [
        group
        for group, addresses in told.vfio.value.items()
        if any((one := here.functions.get(place)) is not None and one.vendor_id == GOOGLE for place in addresses)
    ]
    return Count(len(groups), f"{len(groups)} VFIO groups hold a device of Google's", "/dev/vfio")


def _neuron(here: Here) -> Count:
    tools, cores = here.readings.neuron_tools, here.readings.neuron_cores
    if tools.reason is not None:
        return _unknown(tools, f"what is in {tools.source}")
    if not tools.value:
        return Count(0, f"Ray runs {tools.source}/neuron-ls, which is not here", tools.source)
    if "neuron-ls" not in tools.value:
        return Count(0, f"{tools.source} is here without neuron-ls, and Ray does not catch that", raises=True)
    if cores.reason == FAILED:
        return Count(0, f"Ray does not catch that {cores.message}", cores.source, raises=True)
    if cores.reason is not None:
        return _unknown(cores, "what neuron-ls prints")
    return Count(cores.value, f"neuron-ls lists {cores.value} NeuronCores", cores.source)


def _ascend(here: Here) -> Count:
    return _by_files(ASCEND, "acl", r"davinci[0-9].*", here)


def _mobilint(here: Here) -> Count:
    return _by_files(MOBILINT, "qbruntime", r"aries[0-9].*|regulus-npu.*", here)


def _tenstorrent(here: Here) -> Count:
    told = here.readings.tenstorrent
    if told.reason is not None:
        return _unknown(told, "what is in /dev/tenstorrent")
    names = [name for name in told.value if not name.startswith(".")]
    other = [name for name in names if not name.isdigit()]
    rule = f"Ray counts all that is in /dev/tenstorrent{', ' + ', '.join(other) + ' too' if other else ''}"
    return Count(len(names), rule, told.source, files=tuple(names))


def _by_package(family: Family, here: Here) -> Count:
    """Families that are counted through a package alone. What it would say was not asked where it is there."""
    package = family.package or ""
    packaged = _packaged(package, here)
    if packaged is False:
        return _without(family, package)
    if here.is_absent(family):
        return Count(0, f"no {family.name} device is on the bus", "sysfs")
    return Count(None, f"what the Python package {package} counts was not asked", reason=NOT_ASKED)


def _by_files(family: Family, package: str, pattern: str, here: Here) -> Count:
    told = here.readings.device_files
    if told.reason is not None:
        return _unknown(told, "the names in /dev")
    files = tuple(name for name in told.value if re.fullmatch(pattern, name))
    if _packaged(package, here) and files:
        return Count(None, f"what the Python package {package} counts was not asked", reason=NOT_ASKED)
    return Count(len(files), f"Ray counts {_files(files)}" if files else "no device file", "/dev", files=files)


def _without(family: Family, package: str) -> Count:
    return Count(0, f"Ray counts {family.name} devices by the Python package {package}, which is not beside it")


def _packaged(package: str, here: Here) -> bool | None:
    """Whether the package lies beside Ray; None where that was not asked."""
    told = here.readings.packages
    return None if told.reason is not None else package in told.value


def _unknown(told: Reading, what: str) -> Count:
    return Count(None, f"{what} could not be told: {told.message or told.reason}", told.source, told.reason or FAILED)


def _files(names: Sequence[str]) -> str:
    shown = ", ".join(f"/dev/{name}" for name in names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown


_RULES = {
    "NVIDIA": _nvidia,
    "AMD": _amd,
    "Google TPU": _tpu,
    "AWS Neuron": _neuron,
    "Huawei Ascend": _ascend,
    "Mobilint": _mobilint,
    "Tenstorrent": _tenstorrent,
}
