"""What a line can carry at most, and what the figures of collectives mean.

Rates are bytes per second in one direction, sizes bytes.
"""

from __future__ import annotations

from raxl.model.measurement import Ceiling

ETHERNET, SHAPED, TUNNEL = 38, 14, 0
"""What each packet costs beyond the MTU: on a cable header, checksum, preamble and gap; in the count of `tbf` the
header; in a TUN device nothing."""
IPV4, IPV6 = 4, 6
_HEADERS = {IPV4: 20 + 32, IPV6: 40 + 32}
"""IP, and TCP with timestamps, as Linux sends them."""
TOO_FAST = 1.03
"""Beyond this share of a hard ceiling a figure is not believed: wrong path, wrong unit, or nothing was moved."""


def efficiency(mtu: int, frame: int = ETHERNET, ip: int = IPV4) -> float:
    """The payload's share of the line: 1448/1514 behind `tbf` with an MTU of 1500, 0.9415 on a cable."""
    if mtu <= _HEADERS[ip]:
        raise ValueError(f"an MTU of {mtu} has no room for TCP over IPv{ip}")
    return (mtu - _HEADERS[ip]) / (mtu + frame)


def goodput(rate: float, mtu: int, frame: int = ETHERNET, ip: int = IPV4) -> float:
    """What TCP delivers at most over a line of this rate."""
    return rate * efficiency(mtu, frame, ip)


def bus_factor(pattern: str, ranks: int) -> float:
    """By which nccl-tests multiplies size / time, so that it can be held against the hardware (doc/PERFORMANCE.md).

    True of rings and peer-to-peer algorithms: trees and reduction in the network move less, and may exceed the wire.
    The size is what nccl-tests counts: all-gather and reduce-scatter the whole, over all ranks.
    """
    if ranks < 2:
        raise ValueError("a collective has two ranks at least")
    share = (ranks - 1) / ranks
    return {"all-reduce": 2 * share, "all-gather": share, "reduce-scatter": share, "all-to-all": share}.get(pattern, 1)


def ceiling(name: str, bandwidth: float, measured: float) -> Ceiling:
    """A measured bandwidth beside what bounds it."""
    return Ceiling(name, bandwidth, measured / bandwidth)
