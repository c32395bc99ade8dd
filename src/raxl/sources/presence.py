"""A cheap look for a family of accelerators: PCI ids, then device nodes. No library, no command.

Standard library, Python 3.8: plug-ins run on bare nodes.
"""

from __future__ import annotations

from typing import Callable, Sequence

from raxl.host import Host, stripped
from raxl.model.presence import ABSENT, PRESENT, UNKNOWN, Presence
from raxl.model.problem import FAILED, NOT_PRESENT
from raxl.sources import pci


def look(host: Host, vendor_id: str, counts: Callable[[str, str], bool], places: Sequence[str] = ()) -> Presence:
    """Whether a function of the PCI vendor is on the bus for which `counts(device id, class)` holds (hex digits
    without `0x`), or one of the `places`, folders or files that only the family's driver makes, is there."""
    listing = host.names(pci.FOLDER)
    unread = None if listing.known or listing.reason == NOT_PRESENT else listing
    for name in listing.value or ():
        folder = f"{pci.FOLDER}/{name}"
        vendor = host.text(f"{folder}/vendor")
        if not vendor.known:
            unread = vendor
        elif stripped(vendor) == "0x" + vendor_id:
            device, of_class = ((stripped(host.text(f"{folder}/{file}")) or "")[2:] for file in ("device", "class"))
            if counts(device, of_class):
                return Presence(PRESENT, None, name)
    for place in places:
        if host.names(place).known or host.link(place).known:
            return Presence(PRESENT, None, place)
    if unread is not None:
        return Presence(UNKNOWN, unread.reason or FAILED, unread.message or "the PCI tree could not be read")
    return Presence(ABSENT)
