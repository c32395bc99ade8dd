"""What bounds a row: the line between two nodes, the copy within one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from raxl.bench import wire
from raxl.bench.readings import Ends


class Bound(NamedTuple):
    """A ceiling before it is compared with."""

    name: str
    bandwidth_bytes_per_second: float
    is_hard: bool
    """Whether nothing can be faster: a copy in memory can, where the other one is in the cache."""
    free_bytes: int = 0
    """So much of each transfer a token bucket lets pass at once."""

    def is_exceeded(self, size_bytes: int, bandwidth: float) -> bool:
        """Whether a transfer of this size cannot have been so fast."""
        if not self.is_hard or size_bytes <= self.free_bytes:
            return False
        free = size_bytes / (size_bytes - self.free_bytes)
        return bandwidth > wire.TOO_FAST * free * self.bandwidth_bytes_per_second


def of_line(ends: Ends) -> Bound | None:
    """The narrower of the two interfaces, less what headers take; None where neither tells its rate. A token bucket
    bounds what its interface sends: that of the target does not count."""
    both = (_interface(ends.source, sends=True), _interface(ends.target, sends=False))
    rates = [bound for bound in both if bound is not None]
    return min(rates, key=lambda one: one.bandwidth_bytes_per_second, default=None)


def _interface(own: Mapping[str, Any], *, sends: bool) -> Bound | None:
    name = own.get("interface")
    known = (own.get("interfaces") or {}).get(name)
    if not known or not known.get("mtu"):
        return None
    mtu = int(known["mtu"])
    shaped, speed = known.get("shaped_bits_per_second"), known.get("speed_bits_per_second")
    if shaped and sends:
        rate = wire.goodput(shaped / 8, mtu, wire.SHAPED)
        free = int(known.get("shaped_burst_bytes") or 0)
        return Bound(f"{_told(shaped)} token bucket on {name}, MTU {mtu}", rate, True, free)
    if speed:
        return Bound(f"{_told(speed)} line {name}, MTU {mtu}", wire.goodput(speed / 8, mtu), True)
    return None


def _told(bits: float) -> str:
    for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits >= scale:
            return f"{bits / scale:g} {unit}"
    return f"{bits:g} bit/s"
