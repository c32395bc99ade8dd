"""Single values as AMD's management library gives them. What no device has is not known, rather than believed."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Iterable, Mapping, Optional, Tuple

from raxl.host import Answer
from raxl.model.component import PciLink
from raxl.sources import amd_names
from raxl.sources.amdsmi_library import THROTTLES
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES

_SPEEDS = {2500: 2.5, 5000: 5.0, 8000: 8.0, 16000: 16.0, 32000: 32.0, 64000: 64.0}
"""GT/s by MT/s; from some releases on the maximum is in GT/s, without its half."""
_WIDEST = 32
_CAUSES = dict(
    zip(THROTTLES, ("processor hot", "power", "socket temperature", "regulator temperature", "memory temperature"))
)
_PAGES = {0: "bad_pages", 1: "bad_pages_pending", 2: "bad_pages_unreservable"}
"""`amdsmi_memory_page_status_t`."""
_VERSION = re.compile(r"[0-9][\w.+~-]{0,60}")


def is_version(text: str) -> bool:
    """Whether a driver's version is one: the kernel's own driver has none, and /proc/version's line stands there."""
    return _VERSION.fullmatch(text) is not None


def model(text: Optional[str]) -> Optional[str]:
    """A product's name; None for the device id that stands where it has none."""
    return text if text and not re.fullmatch("(?i)0x[0-9a-f]+", text) else None


def serial(text: Optional[str]) -> Optional[str]:
    """A serial; zeros stand where the board has none."""
    return text if text and (text[2:] if text.startswith("0x") else text).strip("0") else None


def architecture(text: Optional[str]) -> Optional[str]:
    """`gfx942`; ones stand where the library has none."""
    digits = re.fullmatch("gfx([0-9a-f]{3,6})", text or "")
    return text if digits and set(digits[1]) != {"f"} else None


def pci_id(text: Optional[str]) -> Optional[str]:
    """`74a1` from `0x74a1`; None for zero."""
    found = re.fullmatch("0x0*([0-9a-f]{1,4})", (text or "").lower())
    return found[1].zfill(4) if found else None


def subsystem(vendor: Optional[str], device: Optional[str]) -> Optional[str]:
    """`1002:74a1`."""
    one, other = pci_id(vendor), pci_id(device)
    return f"{one}:{other}" if one and other else None


def memory(size: Any) -> Optional[int]:
    """Bytes; 0 stands where the library knows none."""
    return size if isinstance(size, int) and 0 < size <= MOST_BYTES else None


def numa_node(given: Any, near: Any) -> Optional[int]:
    """The node that the kernel calls near, else the one that the driver gives: its 0 is no answer beside a -1."""
    if isinstance(near, int) and 0 <= near <= MOST_PLACES:
        return near
    known = given if isinstance(given, int) and 0 <= given <= MOST_PLACES else None
    return known or (None if near == -1 else known)


def link(pcie: Mapping[str, Any]) -> Optional[PciLink]:
    """The PCIe link now, and the fastest and widest that it can be."""
    found = PciLink(
        _speed(pcie.get("speed")),
        _width(pcie.get("width")),
        _speed(pcie.get("max_speed")),
        _width(pcie.get("max_width")),
    )
    return found if found != PciLink() else None


def attributes(device: Mapping[str, Answer]) -> Mapping[str, Any]:
    """The vendor's own extras of a package, as far as they are known."""
    asic, board, vbios, pcie, ecc, kfd, ids, throttling = (
        device[call].value or {} for call in ("asic", "board", "vbios", "pcie", "ecc", "kfd", "ids", "throttling")
    )
    states = Counter(device["link_states"].value) if device["link_states"].known else None
    told = {
        "vbios": vbios.get("part_number"),
        "compute_partition": device["compute_partition"].value,
        "memory_partition": device["memory_partition"].value,
        "smi_uuid": device["uuid"].value,
        "hip_id": ids.get("hip_id"),
        "oam_id": asic.get("oam_id"),
        "compute_units": asic.get("num_compute_units"),
        "board_model": board.get("model_number"),
        "slot": pcie.get("slot"),
        "kfd_node": kfd.get("node"),
        "xgmi_node": device["xgmi_node"].value if amd_names.unit(device["hive"].value) else None,
        "xgmi_links_up": states["U"] if states else None,
        "xgmi_links_down": states["D"] if states else None,
        "ecc_correctable": ecc.get("correctable"),
        "ecc_uncorrectable": ecc.get("uncorrectable"),
        "ecc_deferred": ecc.get("deferred"),
        **dict(_pages(device["bad_pages"])),
        "pcie_replays": pcie.get("replays"),
        "virtualization_mode": device["virtualization"].value,
        "throttled": throttling.get("now") if isinstance(throttling.get("now"), bool) else None,
        "throttled_by": _causes(throttling),
        "processes": len(device["processes"].value) if device["processes"].known else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def _pages(answer: Answer) -> Iterable[Tuple[str, int]]:
    if answer.known:
        counts = Counter(answer.value)
        yield from ((name, counts[status]) for status, name in _PAGES.items())


def _causes(throttling: Mapping[str, Any]) -> Optional[str]:
    """What has lowered the clocks since the driver was loaded; None where the firmware keeps no count."""
    counts = {cause: throttling.get(cause) for cause in _CAUSES}
    if not any(isinstance(count, int) for count in counts.values()):
        return None
    return ", ".join(_CAUSES[cause] for cause, count in counts.items() if isinstance(count, int) and count) or "none"


def _speed(value: Any) -> Optional[float]:
    if not isinstance(value, int):
        return None
    return _SPEEDS.get(value) or _SPEEDS.get(value * 1000 if value > 2 else value * 1250)


def _width(value: Any) -> Optional[int]:
    return value if isinstance(value, int) and 0 < value <= _WIDEST else None
