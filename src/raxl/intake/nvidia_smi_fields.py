"""The fields that `nvidia-smi --query-gpu` takes (`nvidia-smi --help-query-gpu`), later ones by their kin."""

from __future__ import annotations

import re
from collections.abc import Sequence

_ALONE = re.compile(
    r"timestamp|driver_version|kmd_version|cuda_version|vgpu_version|count|name|serial|uuid|index|"
    r"hostname|pstate|display_active|display_mode|display_attached|persistence_mode|addressing_mode|"
    r"vbios_version|compute_mode|compute_cap|gpu_name|gpu_uuid|gpu_serial|gpu_bus_id|gpu_recovery_action|"
    r"edpp_multiplier|bbx_time"
)
_FAMILIES = re.compile(
    r"accounting|bbx|c2c|clocks|clocks_event_reasons|clocks_event_reasons_counters|"
    r"clocks_throttle_reasons|compute|dramencryption|driver_model|ecc|edpp_multiplier|encoder|enforced|"
    r"fabric|fan|gom|gpu|gpu_operation_mode|gsp|inforom|memory|mig|module|pci|pcie|platform|power|"
    r"power_smoothing|protected_memory|remapped_rows|retired_pages|row_remapper|temperature|utilization|"
    r"vgpu_device_capability|vgpu_driver_capability"
)
"""What stands before the first dot."""
_AMBIGUOUS = ("timestamp", "count", "name", "serial", "uuid", "index", "hostname")
"""Fields that any table may have."""
_FOREIGN = re.compile(r"device|gpu|kfd_id|node_id|partition_id|vendor_id|vendor_name|market_name|(gpu_)?bdf|card\d*")
"""Columns of which one is enough: another vendor's tool wrote the table."""


def is_known(name: str) -> bool:
    """Whether nvidia-smi has a field of that name, in lower case, or one of its family."""
    family, dot, _ = name.partition(".")
    return bool(_FAMILIES.fullmatch(family) if dot else _ALONE.fullmatch(name))


def is_header(names: Sequence[str]) -> bool:
    """Whether columns of these names are nvidia-smi's: a few may be of a driver that nobody knows yet."""
    known = sum(map(is_known, names))
    return bool(names) and known * 4 >= len(names) * 3 and not any(map(_FOREIGN.fullmatch, names))


def is_telling(name: str) -> bool:
    """Whether a field of that name is nobody else's."""
    return is_known(name) and name not in _AMBIGUOUS
