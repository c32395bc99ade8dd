"""What a link of known rate and delay lets through, in numbers that a test compares with."""

from __future__ import annotations

from dataclasses import dataclass

HEADERS = 52
"""Bytes of IPv4 and TCP with timestamps, in each packet."""
ETHERNET = 14
"""Bytes of its header, which `tbf` counts and a TUN device has not."""


@dataclass(frozen=True)
class Way:
    """One direction of a host's cable."""

    rate: float
    """Bit/s, as the link counts: with headers."""
    delay: float = 0.0
    """Seconds; of a relay alone."""
    burst: int = 128 << 10
    """Bytes that go at once after a pause; less than a super-packet of 64 KiB would slow it down."""
    queue: float = 0.02
    """Seconds' worth of packets that wait before any is dropped."""


@dataclass(frozen=True)
class LinkPath:
    """The ways that a packet goes from one host to another."""

    ways: tuple[Way, ...]
    mtu: int = 1500
    relayed: bool = False

    @property
    def share(self) -> float:
        """Of the bytes that the link counts, those that TCP carries, in full packets."""
        return (self.mtu - HEADERS) / (self.mtu + (0 if self.relayed else ETHERNET))

    @property
    def payload_rate(self) -> float:
        """Bytes a second of TCP's payload, when much is sent; endless without a slowed way."""
        return min((way.rate for way in self.ways), default=float("inf")) / 8 * self.share

    @property
    def delay(self) -> float:
        """Seconds from one end to the other, of a small packet."""
        return sum(way.delay for way in self.ways)

    def seconds(self, size: int) -> float:
        """From the first of so many bytes sent to the last one received, when nothing was sent just before."""
        counted = size / self.share
        return self.delay + max([0.0, *(8 * (counted - way.burst) / way.rate for way in self.ways)])
