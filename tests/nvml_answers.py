"""Answers of NVIDIA's library as a healthy machine gives them, for `diagnosing.variant`."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from raxl.sources import nvml, nvml_health

MIB = 1 << 20
SWITCHED = {"state": 1, "remote": "00000000:03:00.0", "remote_type": 2, "version": 6}
FABRIC = {
    "state": 3,
    "status": 0,
    "cluster": "00000000-0000-0000-0000-000000000000",
    "clique": 0,
    "health": 1,
    "health_mask": 0,
}
ECC = {
    f"{kind}_{counter}{memory}": 0
    for kind in ("uncorrected", "corrected")
    for counter in ("volatile", "aggregate")
    for memory in ("", "_sram", "_dram")
}
DEVICE: dict[str, Any] = {
    "name": "NVIDIA H100 80GB HBM3",
    "memory_bytes": 81559 * MIB,
    "vbios": "96.00.A5.00.01",
    "pci_ids": [0x233010DE, 0x16C110DE],
    "virtualization": 0,
    "ecc_mode": [1, 1],
    "ecc_errors": ECC,
    "sram_threshold_exceeded": 0,
    "remapped_rows": [0, 0, 0, 0],
    "remap_histogram": [2560, 0, 0, 0, 0],
    "recovery_action": 0,
    "clocks_event_reasons": 1,
    "temperature": 33,
    "memory_temperature": 40,
    "temperature_margin": 54,
    "power_draw": 70930,
    "power_limit": 700000,
    "power_default": 700000,
    "persistence_mode": 1,
    "compute_mode": 0,
    "display_active": 0,
    "performance_state": 0,
    "utilization": 0,
    "clocks": {"now": 345, "most": 1980, "applications": 1980, "applications_default": 1980},
    "memory": {"total": 81559 * MIB, "used": 1 * MIB, "reserved": 470 * MIB},
    "holders": [],
    "processes": [],
    "violations": {},
    "inforom": 1,
    "mig_mode": [0, 0],
    "mig_devices": [],
    "nvlinks": [SWITCHED] * 18,
    "nvlink_errors": [{"replay": 0, "recovery": 0, "crc": 0}] * 18,
    "fabric": FABRIC,
}
"""One H100 on an HGX board, idle."""
HGX = ("19", "3b", "4c", "5d", "9b", "ab", "bb", "cb")
"""The buses of the GPUs of `nvidia-hgx-h100`."""
L40S = ("01", "02", "81", "c1")
"""The buses of the GPUs of `nvidia-l40s`."""

Change = tuple[str, Any] | str
CALLS = (*nvml._IDENTITY, *nvml._REST, *nvml_health._CALLS)


def healthy(buses: tuple[str, ...] = HGX, **other: Any) -> list[Change]:
    """The answers of a machine whose GPUs are on these buses; `other` replaces what all of them answer."""
    count = len(buses)
    changes: list[Change] = [
        ("library nvml start", count),
        ("library nvml start_seconds", 0.4),
        ("library nvml driver", "570.133.20"),
        ("library nvml cuda", "12.8"),
    ]
    for index, bus in enumerate(buses):
        own = {**DEVICE, "address": f"00000000:{bus.upper()}:00.0", "uuid": uuid(index), **other}
        changes += [of(index, call, value) for call, value in own.items()]
        changes += [f"{refused(index, call)} !unsupported" for call in CALLS if call not in own]
    changes += [(f"library nvml ancestor {a} {b}", 50) for a, b in combinations(range(count), 2)]
    changes += [peers(a, b, 0) for a, b in combinations(range(count), 2)]
    return [*changes, samples([[1] * 5] * count)]


def of(index: int, call: str, value: Any) -> Change:
    """One answer about one device."""
    return (f"library nvml {call} {index}", value)


def refused(index: int, call: str) -> str:
    """What `diagnosing.variant` takes, up to the reason: `library nvml ecc_mode 3`."""
    return f"library nvml {call} {index}"


def peers(a: int, b: int, status: int) -> Change:
    """The status of peer access of two devices, in NVML's numbers."""
    return (f"library nvml p2p {a} {b}", {"read": status, "write": status})


def samples(bits: list[list[int]], grown: dict[str, int] | None = None) -> Change:
    """Five readings a device of what holds its clocks down, within a second."""
    devices = " ".join(map(str, range(len(bits))))
    value = {"seconds": 1.0, "bits": bits, "grown": [grown or {}] * len(bits)}
    return (f"library nvml event_samples {devices}", value)


def uuid(index: int) -> str:
    return f"GPU-00000000-0000-4000-8000-00000000000{index}"
