"""Intel's GPUs by PCI device id, and what Ray calls them.

https://pci-ids.ucw.cz/read/PC/8086 and the kernel's xe and i915 tables. Ray: `ray/_private/accelerators/intel_gpu.py`.
"""

from __future__ import annotations

from typing import Optional

from raxl.sources.families import Family

_MODELS = {
    "0b69": "Data Center GPU Max 1450",
    "0b6e": "Data Center GPU Max 1100C",
    "0bd4": "Data Center GPU Max 1550VG",
    "0bd5": "Data Center GPU Max 1550",
    "0bd6": "Data Center GPU Max 1550",
    "0bd7": "Data Center GPU Max 1350",
    "0bd8": "Data Center GPU Max 1350",
    "0bd9": "Data Center GPU Max 1100",
    "0bda": "Data Center GPU Max 1100",
    "0bdb": "Data Center GPU Max 1100",
    "56c0": "Data Center GPU Flex 170",
    "56c1": "Data Center GPU Flex 140",
    "e20b": "Arc B580",
    "e20c": "Arc B570",
    "e211": "Arc Pro B60",
    "e212": "Arc Pro B50",
    "e222": "Arc Pro B65",
    "e223": "Arc Pro B70",
}


def ray_type(name: Optional[str]) -> Optional[str]:
    """`Intel-GPU-Max-1550`, as Ray makes it of the name that the runtime gives; None without one."""
    return "Intel-GPU-" + "-".join(name.split(" ")[-2:]) if name and " " in name else None


INTEL = Family(
    vendor="intel",
    name="Intel GPU",
    kind="gpu",
    vendor_id="8086",
    models=_MODELS,
    resource="GPU",
    visible_env="ZE_AFFINITY_MASK",
    drivers=("i915", "xe"),
    classes=(),
    ray_types={device: str(ray_type(name)) for device, name in _MODELS.items() if name.startswith("Data Center")},
)
"""No class counts by itself: processors' own graphics, NPUs and QuickAssist carry the vendor's id too."""
SWITCHED = ("56c0", "56c1", "e2")
"""Beginnings of the ids of cards with a PCIe switch of their own (DG2, Battlemage)."""
TILES = "with ZE_FLAT_DEVICE_HIERARCHY=FLAT (the default) a number is a tile, with COMPOSITE a card"
"""What ZE_AFFINITY_MASK counts on a card of several tiles."""
