"""How amd-smi spells what raxl reads of a GPU, in its JSON and its text alike.

After amdsmi_cli/amdsmi_commands.py of https://github.com/ROCm/amdsmi, ROCm 5.7 to 7: section and key in lower case,
joined by a dot.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from raxl.intake.amd_words import Told, known, silence
from raxl.model.node import Software
from raxl.model.problem import DISAGREEMENT, Problem

FIELDS = {
    "address": ("bus.bdf", "bdf"),
    "uuid": ("uuid",),
    "hip_uuid": ("hip_uuid",),
    "hip_id": ("hip_id",),
    "unit": ("asic.asic_serial", "asic_serial"),
    "serial": ("board.product_serial", "product_serial"),
    "model": ("asic.market_name", "market_name", "board.product_name", "product_name"),
    "vendor_id": ("asic.vendor_id",),
    "device_id": ("asic.device_id", "device_id"),
    "subvendor_id": ("asic.subvendor_id",),
    "subsystem_id": ("asic.subsystem_id",),
    "architecture": ("asic.target_graphics_version", "target_graphics_version"),
    "oam_id": ("asic.oam_id",),
    "memory": ("vram.size", "vram.vram_size", "mem_usage.total_vram", "total_vram"),
    "compute_partition": (
        "partition.accelerator_partition",
        "partition.compute_partition",
        "accelerator_partition",
        "compute_partition",
        "accelerator_type",
    ),
    "memory_partition": (
        "partition.memory_partition",
        "memory_partition.current",
        "memory_partition",
        "current_memory_partition",
        "memory",
    ),
    "partition_id": ("partition.partition_id", "partition_id"),
    "numa_node": ("numa.node",),
    "numa_affinity": ("numa.affinity",),
    "hive": ("xgmi_info.xgmi_hive_id", "xgmi.xgmi_hive_id", "xgmi_hive_id", "hive_id"),
    "vbios": ("ifwi.part_number", "vbios.part_number"),
    "speed": ("pcie.speed", "pcie.current_speed"),
    "width": ("pcie.width", "pcie.current_lanes"),
    "max_speed": ("bus.max_pcie_speed", "bus.pcie_speed"),
    "max_width": ("bus.max_pcie_width", "bus.max_pcie_lanes", "bus.pcie_width"),
    "pcie_replays": ("pcie.replay_count",),
    "ecc_correctable": ("ecc.total_correctable_count",),
    "ecc_uncorrectable": ("ecc.total_uncorrectable_count",),
    "ecc_deferred": ("ecc.total_deferred_count",),
    "driver": ("driver.name", "driver.driver_name"),
    "driver_version": ("driver.version", "driver.driver_version"),
}
TELLING = frozenset(name for names in FIELDS.values() for name in names) - {"memory"}
"""Keys of which one at least stands in an output of amd-smi about GPUs."""
_VERSION = re.compile(r"[0-9][\w.+~-]{0,60}")


def software(form: str, told: Told, stated: Sequence[tuple[str, str]]) -> tuple[list[Software], list[Problem]]:
    """Driver and ROCm by version: what each GPU and what the tool's own line (`stated`) says.

    A driver of the kernel itself has none, and amd-smi then writes the whole line of `/proc/version`.
    """
    drivers = [one["driver_version"] for one in told.values() if "driver_version" in one]
    drivers += [words for name, words in stated if name == "amdgpu"]
    named = [("amdgpu", words) for words in drivers] + [one for one in stated if one[0] != "amdgpu"]
    versions = dict.fromkeys((name, words) for name, words in named if _VERSION.fullmatch(known(words) or ""))
    found = [Software(name, words, form) for name, words in versions]
    own = [one.version for one in found if one.name == "amdgpu"]
    problems = []
    if drivers and not own:
        why = silence(drivers[0], form)
        message = f"the driver has no version: {why.message}"
        problems.append(Problem("software.amdgpu", why.reason, message, (form,)))
    if len(own) > 1:
        message = f"GPUs of one machine name different drivers: {', '.join(own[:4])}"
        problems.append(Problem("software.amdgpu", DISAGREEMENT, message, (form,)))
    return found, problems
