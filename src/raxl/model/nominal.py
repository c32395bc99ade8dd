"""What a link is rated for, where nobody measured or reported it."""

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
_GENERATIONS = {"15": 1, "1d": 2, "20": 3, "23": 4, "29": 5, "31": 5}
_LINKS = {"15": 4, "1d": 6, "20": 12, "23": 18, "29": 18, "31": 18}
"""NVLinks of one GPU at most, by the same half; the same documents."""
_EIGHT_OF_TEN, _LONG_BLOCKS, _FLITS = 8 / 10, 128 / 130, 242 / 256
_CODINGS = {
    2.5: _EIGHT_OF_TEN,
    5.0: _EIGHT_OF_TEN,
    8.0: _LONG_BLOCKS,
    16.0: _LONG_BLOCKS,
    32.0: _LONG_BLOCKS,
    64.0: _FLITS,
    128.0: _FLITS,
}
"""What of a lane's transfers carries packets, by gigatransfers per second: PCI Express Base Specification, 8b/10b to
generation 2, 128b/130b to 5, flits of 256 bytes with 242 of packets from 6 on."""
_BRIDGED = ("2321", "2331", "233b")
"""H100 NVL, H100 PCIe, H200 NVL: joined by a bridge whose rate is not confirmed."""


def may_have_nvlink(device_id: str | None) -> bool:
    """Whether devices of this id, or some of their family, are joined by NVLink."""
    return device_id is not None and device_id[:2] in _NVLINK


def nvlink_bytes_per_second(device_id: str | None) -> int | None:
    """One NVLink of this device, one direction; None where the rating is not known."""
    return None if device_id is None or device_id in _BRIDGED else _NVLINK.get(device_id[:2])


def nvlink_generation(device_id: str | None) -> int | None:
    """The generation of this device's NVLinks; None where it has none that is known."""
    return None if device_id is None else _GENERATIONS.get(device_id[:2])


def nvlinks(device_id: str | None) -> int | None:
    """How many NVLinks this device has at most."""
    return None if device_id is None else _LINKS.get(device_id[:2])


def pcie_bytes_per_second(speed_gts: float | None, width: int | None) -> int | None:
    """What a PCIe link of this speed (gigatransfers per second of one lane) and width carries in one direction, packet
    headers included; None for a speed of no generation."""
    coding = None if speed_gts is None else _CODINGS.get(round(speed_gts, 1))
    if coding is None or speed_gts is None or not width:
        return None
    return round(speed_gts * 1e9 * width * coding / 8)
