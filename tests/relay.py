"""A link of known rate and delay, for kernels that delay nothing by themselves (`netem`): TUN devices and one process.

    python tests/relay.py COUNT     makes so many devices, host1, host2, …

`links.relayed` starts it and moves each device to its host, whose address ends in the device's number. On its input it
takes a line of JSON for each change, `[host, "out" or "into", WAY]`, where WAY is a list of `Way`'s first four fields
or null, and prints a line when that is in force. It ends with its input.
"""

from __future__ import annotations

import fcntl
import gc
import heapq
import json
import os
import select
import struct
import sys
import time
from contextlib import suppress
from dataclasses import dataclass

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
SPUN = 50e-6
"""The kernel wakes a process about so many seconds late; so much before a packet's time is not slept."""
AT_ONCE = 32
"""Packets that are taken from one device before others have their turn."""


@dataclass
class Way:
    """One direction of one host's cable: packets go one after the other, and arrive later."""

    rate: float
    """Bytes a second."""
    delay: float
    """Seconds."""
    pause: float
    """Seconds that packets make up for which come late. So the rate holds when this process does not get its turn."""
    queue: float
    """Seconds that a packet waits at most; one that would wait longer is dropped."""
    free: float = 0.0
    """When the last packet that was taken will have gone."""

    def arrival(self, now: float, size: int) -> float | None:
        """When a packet of now is at the other end; None: the queue is full, it is dropped."""
        if self.free - now > self.queue:
            return None
        self.free = max(now - self.pause, self.free) + size / self.rate
        return max(now, self.free) + self.delay


def device(name: str) -> int:
    """A TUN device, which gives and takes one IP packet a call."""
    opened = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(opened, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return opened


class Relay:
    """All of the hosts' cables, and what is on its way in them."""

    def __init__(self, count: int) -> None:
        self._devices = [device(f"host{number}") for number in range(1, count + 1)]
        self._ways: dict[tuple[int, str], Way | None] = {}
        self._under_way: list[tuple[float, int, int, bool, bytes]] = []
        """When it is there, a number, the host that it is for, whether it has gone through that host's own cable."""
        self._taken = 0

    def run(self) -> None:
        """Carries packets until the input ends."""
        while True:
            now = time.monotonic()
            self._deliver(now)
            rest = max(0.0, self._under_way[0][0] - now - SPUN) if self._under_way else None
            ready, _, _ = select.select([0, *self._devices], [], [], rest)
            for one in ready:
                if one:
                    self._take(self._devices.index(one))
                elif not self._change(sys.stdin.readline()):
                    return

    def _change(self, line: str) -> bool:
        if line:
            host, direction, way = json.loads(line)
            self._ways[host, direction] = Way(*way) if way else None
            os.write(1, b"\n")
        return bool(line)

    def _take(self, sender: int) -> None:
        """Queues what a host sends."""
        opened, way = self._devices[sender], self._ways.get((sender, "out"))
        with suppress(BlockingIOError):
            for _ in range(AT_ONCE):
                packet = os.read(opened, 1 << 16)
                receiver = packet[19] - 1
                if packet[0] >> 4 == 4 and receiver < len(self._devices):
                    now = time.monotonic()
                    self._queue(way.arrival(now, len(packet)) if way else now, receiver, False, packet)

    def _deliver(self, now: float) -> None:
        while self._under_way and self._under_way[0][0] <= now:
            due, _, receiver, through, packet = heapq.heappop(self._under_way)
            way = None if through else self._ways.get((receiver, "into"))
            if way:
                self._queue(way.arrival(due, len(packet)), receiver, True, packet)
            else:
                with suppress(OSError):  # the host is gone, or has no room
                    os.write(self._devices[receiver], packet)

    def _queue(self, due: float | None, receiver: int, through: bool, packet: bytes) -> None:
        if due is not None:
            self._taken += 1
            heapq.heappush(self._under_way, (due, self._taken, receiver, through, packet))


if __name__ == "__main__":
    gc.disable()
    with suppress(OSError):
        os.nice(-10)  # what it does late, the link does late
    relay = Relay(int(sys.argv[1]))
    os.write(1, b"\n")
    relay.run()
