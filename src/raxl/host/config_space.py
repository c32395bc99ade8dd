"""What stands where in a PCI function's configuration space: the lists of capabilities, and what names one device.

PCI Express Base Specification 6.0, chapter 7; the ids are those of `include/uapi/linux/pci_regs.h` of Linux.
"""

from __future__ import annotations

from typing import Iterator, NamedTuple

HEADER_BYTES = 64
"""So much is given to everybody; the rest needs root."""
EXTENDED = 0x100
"""Where the extended capabilities begin; a function of conventional PCI ends here."""
LONGEST = 4096

_STATUS, _POINTER, _HAS_LIST = 0x06, 0x34, 0x10
_VITAL_PRODUCT_DATA, _VENDOR = 0x03, 0x09
_SERIAL, _EXTENDED_VENDOR = 0x0003, 0x000B
_NO_HEADER = (0, 0xFFFFFFFF)


class Capability(NamedTuple):
    """One capability: its id, and where it begins (bytes)."""

    id: int
    place: int


def plain(space: bytes) -> Iterator[Capability]:
    """The capabilities of conventional PCI, those below byte 256; a list that runs in a circle ends."""
    if len(space) <= HEADER_BYTES or not space[_STATUS] & _HAS_LIST:
        return
    place, seen = space[_POINTER] & 0xFC, set()
    while HEADER_BYTES <= place <= min(len(space), EXTENDED) - 4 and place not in seen:
        seen.add(place)
        yield Capability(space[place], place)
        place = space[place + 1] & 0xFC


def extended(space: bytes) -> Iterator[Capability]:
    """The extended capabilities, those from byte 256 on; a list that runs in a circle ends."""
    place, seen = EXTENDED, set()
    while EXTENDED <= place <= len(space) - 4 and place not in seen:
        seen.add(place)
        header = number(space, place, 4)
        if header in _NO_HEADER:
            return
        yield Capability(header & 0xFFFF, place)
        place = header >> 20 & 0xFFC


def number(space: bytes, place: int, size: int) -> int:
    """The number in these bytes, the lowest byte first; what lies past the end counts as zero."""
    return int.from_bytes(space[place : place + size], "little")


def without_serials(text: str) -> str:
    """A configuration space (hex) in which zeros stand for what may name one device: its serial number, and contents
    that are its maker's own. A text that is no hex is given as nothing."""
    try:
        held = bytes.fromhex(text)
    except ValueError:
        return ""
    space = bytearray(held)
    for capability in plain(held):
        if capability.id == _VITAL_PRODUCT_DATA:
            _blank(space, capability.place + 2, 6)
        elif capability.id == _VENDOR:
            _blank(space, capability.place + 3, max(held[capability.place + 2] - 3, 0))
    for capability in extended(held):
        if capability.id == _SERIAL:
            _blank(space, capability.place + 4, 8)
        elif capability.id == _EXTENDED_VENDOR:
            _blank(space, capability.place + 8, max((number(held, capability.place + 4, 4) >> 20) - 8, 0))
    return space.hex()


def _blank(space: bytearray, place: int, size: int) -> None:
    end = min(place + size, len(space))
    space[place:end] = bytes(max(end - place, 0))
