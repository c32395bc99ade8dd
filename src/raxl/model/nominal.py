"""What a scale-up link is rated for, where nobody measured or reported it."""

from __future__ import annotations

_NVLINK = {
    "15": 20_000_000_000,  # P100, NVLink 1
    "1d": 25_000_000_000,  # V100, NVLink 2
    "20": 25_000_000_000,  # A100, NVLink 3
    "23": 25_000_000_000,  # H100, H200, H20, GH200: NVLink 4
    "29": 50_000_000_000,  # B200, GB200: NVLink 5
    "31": 50_000_000_000,  # B300, GB300: NVLink 5
}
"""Bytes per second of one link in one direction, by the first half of the PCI device id.

https://docs.nvidia.com/cuda/blackwell-tuning-guide and the data sheets of each generation: 300 GB/s of 12 links in one
direction for A100, 450 of 18 for H100, 900 of 18 for B200.
"""
_BRIDGED = ("2321", "2331", "233b")
"""H100 NVL, H100 PCIe, H200 NVL: joined by a bridge whose rate is not confirmed."""


def may_have_nvlink(device_id: str | None) -> bool:
    """Whether devices of this id, or some of their family, are joined by NVLink."""
    return device_id is not None and device_id[:2] in _NVLINK


def nvlink_bytes_per_second(device_id: str | None) -> int | None:
    """One NVLink of this device, one direction; None where the rating is not known."""
    return None if device_id is None or device_id in _BRIDGED else _NVLINK.get(device_id[:2])
