"""What each value of a report can be, where a plug-in of others gives it: words, ids and numbers within bounds."""

from __future__ import annotations

import re
from typing import Any, Callable, Mapping

from raxl.model.accelerator import KINDS, STATES
from raxl.model.identity import pci_address
from raxl.model.link import PCIE_CLASSES
from raxl.model.printable import clean
from raxl.model.problem import REASONS

LONGEST_NAME, LONGEST_WORDS = 256, 1000
"""Characters."""
MOST = 1024
"""Entries of one list or mapping."""
MOST_LINKS = 1 << 16
"""Every pair of as many accelerators as a machine may have, from either end."""
_MOST_NUMBER = 1 << 53
_MOST_BYTES = 1 << 50
_MOST_PLACES = 1 << 16
_MOST_LINKS_OF_A_PAIR = 1024
_Test = Callable[[Any], bool]


def is_name(text: str) -> bool:
    """Whether it is a name: a text that is not blank, and no longer than names are."""
    return len(text) <= LONGEST_NAME and bool(clean(text).strip())


def is_vendor(text: str) -> bool:
    """Whether ids can begin with it: `example`, `two_words`."""
    return len(text) <= 40 and re.fullmatch("[a-z][a-z0-9]*([_-][a-z0-9]+)*", text) is not None


def is_sound(kind: str, field: str, value: Any) -> bool:
    """Whether a field of this class (`Claim`, `numa_node`) can have this value; None can be everywhere."""
    if value is None:
        return True
    test = _OF.get(f"{kind}.{field}", _plain)
    return len(value) <= MOST and all(map(test, value)) if isinstance(value, tuple) else test(value)


def _plain(value: Any) -> bool:
    """What holds of values of which no more is known."""
    if isinstance(value, str):
        return is_name(value)
    return isinstance(value, bool) or 0 <= value <= _MOST_NUMBER


def _attribute(value: Any) -> bool:
    if isinstance(value, str):
        return is_words(value) and bool(clean(value).strip())
    return bool(abs(value) <= _MOST_NUMBER)


def is_words(text: str) -> bool:
    """Whether it is a sentence of bearable length; it may be empty."""
    return len(text) <= LONGEST_WORDS


def _one_of(*words: str) -> _Test:
    return lambda value: value in words


def _like(pattern: str) -> _Test:
    return lambda value: re.fullmatch(pattern, value) is not None


def _up_to(most: float, least: float = 0) -> _Test:
    return lambda value: least <= value <= most


def _is_link_class(text: str) -> bool:
    return text in PCIE_CLASSES or (text != "X" and re.fullmatch("[A-Z][A-Z0-9]{0,15}", text) is not None)


_id, _place, _bytes = _like("[0-9a-f]{4}"), _up_to(_MOST_PLACES), _up_to(_MOST_BYTES, 1)
_width, _speed = _up_to(64, 1), _up_to(1024, 0.1)
_rate = _up_to(_MOST_NUMBER, 1)
_nic_state = _one_of("ok", "degraded", "down", "unknown")


def _address(text: str) -> bool:
    return text == pci_address(text)


_OF: Mapping[str, _Test] = {
    "Claim.vendor": is_vendor,
    "Claim.kind": _one_of(*KINDS),
    "Claim.address": _address,
    "Claim.index": _place,
    "Claim.vendor_id": _id,
    "Claim.device_id": _id,
    "Claim.subsystem_id": _like("[0-9a-f]{4}:[0-9a-f]{4}"),
    "Claim.host_bridge": _like("pci[0-9a-f]{4,8}:[0-9a-f]{2}"),
    "Claim.numa_node": _place,
    "Claim.local_numa_nodes": _place,
    "Claim.memory_numa_node": _place,
    "Claim.memory_bytes": _bytes,
    "Claim.state": _one_of(*STATES),
    "Claim.visible_env": _like("[A-Za-z_][A-Za-z0-9_]{0,127}"),
    "Claim.attributes": _attribute,
    "Partition.memory_bytes": _bytes,
    "PciLink.speed_gts": _speed,
    "PciLink.max_speed_gts": _speed,
    "PciLink.width": _width,
    "PciLink.max_width": _width,
    "PciIdentity.address": _address,
    "PciIdentity.vendor_id": _id,
    "PciIdentity.device_id": _id,
    "PciIdentity.subsystem_id": _like("[0-9a-f]{4}:[0-9a-f]{4}"),
    "Silence.reason": _one_of(*REASONS),
    "Silence.message": is_words,
    "Silence.evidence": is_words,
    "Problem.reason": _one_of(*REASONS),
    "Problem.message": is_words,
    "LinkClaim.link_class": _is_link_class,
    "LinkClaim.kind": _like("[a-z][a-z0-9-]{0,31}"),
    "LinkClaim.count": _up_to(_MOST_LINKS_OF_A_PAIR, 1),
    "LinkClaim.bandwidth_bytes_per_second": _rate,
    "LinkClaim.bandwidth_source": _one_of("nominal", "reported", "measured"),
    "LinkClaim.state": _nic_state,
    "LinkClaim.evidence": is_words,
    "Switch.kind": _one_of("pcie", "nvswitch"),
    "Switch.numa_node": _place,
    "Nic.kind": _one_of("infiniband", "roce", "iwarp", "efa", "omni-path", "ethernet", "rdma"),
    "Nic.role": _one_of("compute", "storage", "management"),
    "Nic.state": _nic_state,
    "Nic.numa_node": _place,
    "Nic.speed_bits_per_second": _rate,
    "Port.port": _place,
    "Port.state": _nic_state,
    "Port.speed_bits_per_second": _rate,
}
"""By class and field, the test of a value, or of each entry of a list; `_plain` elsewhere."""
