"""The way up from each function of an lspci list, from the buses that its bridges name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from raxl.intake.lspci_record import Record
from raxl.model.component import PciFunction

_FIRST = "0000:00:00.0"


def placed(records: Mapping[str, Record]) -> dict[str, PciFunction]:
    """The functions in the order of their addresses, with the bridges above, and the host bridge where it is certain.

    Bus 00 is below no bridge, nor is a bus that a root port or an endpoint of the root complex is on. Of any other bus
    only a whole list can say so: one that begins with the first function and names the buses below its bridges.
    """
    below = {(_domain(address), one.secondary): address for address, one in records.items() if one.secondary}
    roots = {(_domain(address), _bus(address)) for address, one in records.items() if one.is_in_root}
    is_whole = _FIRST in records and bool(below)
    found = {}
    for address in sorted(records):
        chain, bus = _way(address, below)
        function = records[address].function
        is_root = bus == "00" or is_whole or (_domain(address), bus) in roots
        host_bridge = f"pci{_domain(address)}:{bus}" if is_root else None
        found[address] = replace(function, chain=chain, host_bridge=host_bridge)
    return found


def _way(address: str, below: Mapping[tuple[str, str], str]) -> tuple[tuple[str, ...], str]:
    """The bridges above, the outermost first, and the bus of the outermost. A bus lies above those below it."""
    domain, bus = _domain(address), _bus(address)
    chain: list[str] = []
    while (bridge := below.get((domain, bus))) is not None and _bus(bridge) < bus:
        chain.insert(0, bridge)
        bus = _bus(bridge)
    return tuple(chain), bus


def _domain(address: str) -> str:
    return address.rsplit(":", 2)[0]


def _bus(address: str) -> str:
    return address.rsplit(":", 2)[1]
