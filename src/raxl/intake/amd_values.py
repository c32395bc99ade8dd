"""Values in the words of amd-smi and rocm-smi."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raxl.intake.amd_words import known
from raxl.model.component import PciLink
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole

_SIZE = re.compile(r"([0-9]{1,15}) ?(B|[KMGT]i?B)?", re.IGNORECASE)
_UNITS = {"B": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,4})", re.IGNORECASE)
_RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(GT/s|MT/s)?(?: PCIe)?")
_FASTEST_GTS = 128.0
_WIDEST = 32


def memory_bytes(words: str | None) -> int | None:
    """A size in bytes; None for 0 too. The tools' MB are MiB (an MI300X with 192 GiB reads 196592 MB), and a number
    without a unit is in amd-smi's only one, MB."""
    found = _SIZE.fullmatch(known(words) or "")
    if not found:
        return None
    size = int(found[1]) << _UNITS[(found[2] or "M")[0].upper()]
    return size if 0 < size <= MOST_BYTES else None


def numa_node(said: Mapping[str, str]) -> int | None:
    """The node that the kernel calls near (affinity), else the one that the driver gives.

    The driver writes 0 where it knows none (kfd_crat.c, kfd_fill_gpu_direct_io_link_to_cpu): 0 is believed when no
    affinity of -1 stands beside it.
    """
    near, given = said.get("numa_affinity"), whole(known(said.get("numa_node")), MOST_PLACES)
    if known(near) is None:
        return given
    affinity = whole(near, MOST_PLACES)
    return affinity if affinity is not None else given or None


def serial(words: str | None) -> str | None:
    """A serial; zeros stand where the board has none."""
    value = known(words)
    return value if value and value.removeprefix("0x").strip("0") else None


def hex_id(words: str | None) -> str | None:
    found = _HEX.fullmatch(known(words) or "")
    return found[1].lower().zfill(4) if found and int(found[1], 16) else None


def subsystem(vendor: str | None, device: str | None) -> str | None:
    one, other = hex_id(vendor), hex_id(device)
    return f"{one}:{other}" if one and other else None


def link(said: Mapping[str, str]) -> PciLink | None:
    read = PciLink(
        *(_speed(said.get("speed")), _width(said.get("width"))),
        *(_speed(said.get("max_speed")), _width(said.get("max_width"))),
    )
    return read if read != PciLink() else None


def _speed(words: str | None) -> float | None:
    found = _RATE.fullmatch(known(words) or "")
    speed = float(found[1]) / (1000 if found[2] == "MT/s" else 1) if found else 0.0
    return speed if 0 < speed <= _FASTEST_GTS else None


def _width(words: str | None) -> int | None:
    return whole((known(words) or "").removeprefix("x"), _WIDEST) or None
