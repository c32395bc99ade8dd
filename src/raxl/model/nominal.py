"""What a link is rated for, where nobody measured or reported it."""

from __future__ import annotations

from raxl.model import catalog

_NVIDIA = "10de"
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


def may_have_nvlink(device_id: str | None) -> bool:
    """Whether devices of this id, or some of their family, are joined by NVLink."""
    return _family(device_id) is not None


def nvlink_bytes_per_second(device_id: str | None) -> int | None:
    """One NVLink of this device, one direction; None where the rating is not known or not confirmed."""
    link = catalog.shipped().scale_up(_NVIDIA, device_id)
    return link.link_bytes_per_second if link and link.is_verified else None


def nvlink_generation(device_id: str | None) -> int | None:
    """The generation of this device's NVLinks; None where it has none that is known."""
    link = _family(device_id)
    return link.generation if link else None


def nvlinks(device_id: str | None) -> int | None:
    """How many NVLinks this device has at most."""
    link = _family(device_id)
    return link.links if link else None


def _family(device_id: str | None) -> catalog.ScaleUp | None:
    """The NVLinks of the device's family, whatever joins this very model: by the beginning of its PCI id."""
    own = catalog.shipped().scale_ups
    return next((one for one in own if (device_id or "").startswith(one.device_id_prefixes or ("-",))), None)


def pcie_bytes_per_second(speed_gts: float | None, width: int | None) -> int | None:
    """What a PCIe link of this speed (gigatransfers per second of one lane) and width carries in one direction, packet
    headers included; None for a speed of no generation."""
    coding = None if speed_gts is None else _CODINGS.get(round(speed_gts, 1))
    if coding is None or speed_gts is None or not width:
        return None
    return round(speed_gts * 1e9 * width * coding / 8)
