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
        return Bound(f"{_told(shaped)} token bucket on {name}, MTU {mtu}", rate, True)
    if speed:
        return Bound(f"{_told(speed)} line {name}, MTU {mtu}", wire.goodput(speed / 8, mtu), True)
    return None


def _told(bits: float) -> str:
    for unit, scale in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits >= scale:
            return f"{bits / scale:g} {unit}"
    return f"{bits:g} bit/s"
