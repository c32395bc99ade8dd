"""What the OS devices of an hwloc XML document say of NVIDIA's and AMD's accelerators.

hwloc's documentation, "Object attributes": the NVML, RSMI, CUDA, OpenCL and oneAPI backends and their infos.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from raxl.intake.hwloc_objects import HwlocObject, Topology
from raxl.intake.hwloc_pci import FORM, PciTree
from raxl.model.accelerator import Fabric, Partition
from raxl.model.component import PciFunction
from raxl.model.report import Claim

VENDORS = {"10de": "nvidia", "1002": "amd"}
_MAKERS = {"nvidia": re.compile("nvidia", re.IGNORECASE), "amd": re.compile("amd|advanced micro|ati ", re.IGNORECASE)}
_RUNTIMES = {"nvml": "nvidia", "rsmi": "amd"}
"""Backends of the vendors' management libraries. Their numbers are the runtime's, and each device is a real one."""
_BACKENDS = (*_RUNTIMES, "cuda", "opencl", "")
"""From the most to the least trusted, by the beginning of an OS device's name. CUDA and OpenCL count their own way."""
_SIZES = ("RSMIVRAMSize", "CUDAGlobalMemorySize", "OpenCLGlobalMemorySize")
"""Kibibytes; v3 says so (`11796032KiB`), v2 leaves it out."""
_LARGEST = 1 << 50
_Reading = Callable[[HwlocObject], "str | int | None"]


def claims(topology: Topology, tree: PciTree) -> tuple[Claim, ...]:
    """One claim for each accelerator of which an OS device says anything, by PCI address.

    An OS device counts only below a function that can be the device it speaks of. On some virtual machines hwloc hangs
    the OpenCL devices of all GPUs below the console's VGA function, or below none.
    """
    groups: dict[tuple[str, str], list[HwlocObject]] = {}
    for osdev in topology.of_type("OSDev"):
        vendor = vendor_of(osdev, tree)
        if vendor is not None and _made_by(osdev, vendor):
            groups.setdefault((vendor, osdev.address or osdev.name), []).append(osdev)
    found = (_claim(vendor, osdevs) for (vendor, _), osdevs in groups.items())
    return tuple(claim for claim in found if claim is not None)


def vendor_of(osdev: HwlocObject, tree: PciTree) -> str | None:
    """The vendor of the accelerator that an OS device is, by the function above it; None when it is none.

    In a document without any PCI function the runtime's own devices are all there is, and count by their number.
    """
    if not tree.functions:
        return _RUNTIMES.get(_backend(osdev))
    function = tree.above(osdev)
    return accelerator_vendor(function) if function else None


def accelerator_vendor(function: PciFunction) -> str | None:
    """The vendor of an accelerator, by the id and class of its function; None for every other function."""
    return VENDORS.get(function.vendor_id or "") if (function.class_id or "").startswith(("03", "12")) else None


def runtime_index(osdev: HwlocObject) -> int | None:
    """`3` of `nvml3` or `rsmi3`."""
    found = re.fullmatch("(?:nvml|rsmi)([0-9]{1,4})", osdev.name)
    return int(found[1]) if found else None


def _backend(osdev: HwlocObject) -> str:
    """Which of hwloc's backends found an OS device."""
    return next(name for name in _BACKENDS if osdev.name.startswith(name))


def _made_by(osdev: HwlocObject, vendor: str) -> bool:
    maker = osdev.infos.get("GPUVendor")
    return maker is None or _MAKERS[vendor].search(maker) is not None


def _claim(vendor: str, osdevs: list[HwlocObject]) -> Claim | None:
    runtimes = [osdev for osdev in osdevs if _backend(osdev) in _RUNTIMES]
    parts = runtimes if vendor == "amd" and len(runtimes) > 1 else []
    hive = _text(osdevs, "XGMIHiveID")
    claim = Claim(
        vendor=vendor,
        kind="gpu",
        evidence=FORM,
        address=osdevs[0].address,
        uuid=_text(osdevs, "NVIDIAUUID") or _text(osdevs, "AMDUUID"),
        index=_integer(osdevs, runtime_index),
        model=_text(osdevs, "GPUModel"),
        serial=_text(osdevs, "NVIDIASerial") or _text(osdevs, "AMDSerial"),
        memory_bytes=None if parts else _integer(osdevs, _memory),
        partitions=tuple(Partition(part.name, memory_bytes=_memory(part)) for part in parts),
        fabric=Fabric(domain=hive) if hive and hive.strip("0x") else None,
    )
    silent = Claim(vendor, "gpu", FORM, address=claim.address)
    return claim if claim != silent else None


def _text(osdevs: list[HwlocObject], info: str) -> str | None:
    value = _agreed(osdevs, lambda osdev: osdev.infos.get(info))
    return value if isinstance(value, str) else None


def _integer(osdevs: list[HwlocObject], reading: _Reading) -> int | None:
    value = _agreed(osdevs, reading)
    return value if isinstance(value, int) else None


def _agreed(osdevs: list[HwlocObject], reading: _Reading) -> str | int | None:
    """What the most trusted backend that says a value says; None when its devices differ."""
    for name in _BACKENDS:
        values = {value for osdev in osdevs if _backend(osdev) == name and (value := reading(osdev)) is not None}
        if values:
            return values.pop() if len(values) == 1 else None
    return None


def _memory(osdev: HwlocObject) -> int | None:
    said = osdev.infos
    for name in _SIZES:
        found = re.fullmatch("([0-9]{1,15})(KiB)?", said.get(name, ""))
        if found and 0 < int(found[1]) << 10 < _LARGEST:
            return int(found[1]) << 10
    return None
