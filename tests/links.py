"""Hosts joined by links of known rate and delay, and what these links should let through.

`shaped` joins them with cables that the kernel slows down (`tbf`), and `relayed` with a process that can delay as well
(`relay`). Each host has a cable to one switch, and each cable two ways of its own, so that one host of many or one
direction alone can be slow:

    with shaped([GIGABIT, GIGABIT, GIGABIT, Cable.of(0.7 * GBIT)]) as hosts:
        hosts[0].to(hosts[3]).payload_rate      # 83.7e6 bytes a second, as a program should measure
        hosts[0].change(out=Way(0.3 * GBIT))    # in the middle of a run

With a Ray cluster on them, whose nodes have a resource of their host's name (`host-1`, `host-2`, …):

    with shaped([GIGABIT] * 2) as hosts, cluster(hosts) as ray_cluster:
        ray_cluster.run(["raxl", "bench-transport"])    # on the first host

All of it ends with the process that made it (`namespaces`), and leaves nothing behind.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import namespaces
from link_path import LinkPath, Way

GBIT = 1e9
RELAY = Path(__file__).parent / "relay.py"
__all__ = ["GBIT", "GIGABIT", "Cable", "LinkPath", "LinkedHost", "Way", "missing", "relayed", "shaped"]


@dataclass(frozen=True)
class Cable:
    """A host's. None: as fast as the machine."""

    out: Way | None
    """From the host to the switch."""
    into: Way | None

    @classmethod
    def of(cls, rate: float, delay: float = 0.0) -> Cable:
        """Either way alike: this many bit/s, and a delay each way, so that the way from one such host to another has
        it twice."""
        return cls(Way(rate, delay), Way(rate, delay))


GIGABIT = Cable.of(GBIT)


class LinkedHost(namespaces.Host):
    """A host whose cable is known."""

    cable = Cable(None, None)
    mtu = 1500
    relay: _Relay | None = None

    def change(self, **ways: Way | None) -> None:
        """Makes its cable another, at once: `out`, `into` or both. A shaped way can be changed, but not taken away."""
        self.cable = replace(self.cable, **ways)
        for direction, way in ways.items():
            if self.relay:
                self.relay.set(self, direction, way)
            elif way:
                self._shape(direction, way)

    def to(self, other: LinkedHost) -> LinkPath:
        """The way from here to another host."""
        ways = tuple(way for way in (self.cable.out, other.cable.into) if way)
        return LinkPath(ways, min(self.mtu, other.mtu), relayed=self.relay is not None)

    def _shape(self, direction: str, way: Way) -> None:
        assert not way.delay, "only a relay delays"
        command, device = (self.network, "eth0") if direction == "out" else (self._switch.command, self.port)
        size = (f"rate {way.rate:.0f} burst {way.burst} latency {way.queue * 1e6:.0f}us").split()
        command("tc", "qdisc", "replace", "dev", device, "root", "tbf", *size)


class _Relay:
    """The process that carries the packets of `relayed` hosts. It ends with the switch."""

    def __init__(self, switch: namespaces.Switch, count: int) -> None:
        pipe, command = subprocess.PIPE, [*switch.inside(), sys.executable, "-S", str(RELAY), str(count)]
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        self._switch = switch
        self._await()

    @property
    def pid(self) -> int:
        """The process that ends last of it."""
        return self._process.pid

    def plug(self, host: LinkedHost) -> None:
        """Hands a host its end."""
        self._switch.command("ip", "link", "set", host.port, "netns", str(host.pid), "name", "eth0")
        host.network("ip", "link", "set", "eth0", "mtu", str(host.mtu))
        host.bring_up()
        host.relay = self

    def set(self, host: LinkedHost, direction: str, way: Way | None) -> None:
        """Makes one way of a host's cable another."""
        assert self._process.stdin is not None
        told = [way.rate / 8, way.delay, 8 * way.burst / way.rate, way.queue + 2 * way.delay] if way else None
        self._process.stdin.write(json.dumps([int(host.port.removeprefix("host")) - 1, direction, told]) + "\n")
        self._process.stdin.flush()
        self._await()

    def close(self) -> None:
        """Ends it."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()
        self._process.wait(timeout=20)

    def _await(self) -> None:
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "\n":
            raise OSError("the relay did not start, or ended")


@contextmanager
def shaped(cables: Sequence[Cable], **given: Any) -> Iterator[list[LinkedHost]]:
    """A host for each cable. `given`: the `mtu`, more variables of the hosts' `environment`, whether they have PIDs of
    their own (`apart`), and what their TCP does about `congestion`."""
    switch = namespaces.Switch()
    try:
        yield [_host(switch, number, cable, **given) for number, cable in enumerate(cables, 1)]
    finally:
        switch.close()


@contextmanager
def relayed(cables: Sequence[Cable], **given: Any) -> Iterator[list[LinkedHost]]:
    """The same by a process, whose ways can have a delay too. It carries 0.2 Gbit/s on two busy cores, 1 Gbit/s on free
    ones or with a large `mtu`, and all ways share it."""
    switch = namespaces.Switch()
    try:
        relay = _Relay(switch, len(cables))
        try:
            yield [_host(switch, number, cable, relay=relay, **given) for number, cable in enumerate(cables, 1)]
        finally:
            relay.close()
    finally:
        switch.close()


def _host(
    switch: namespaces.Switch,
    number: int,
    cable: Cable,
    *,
    relay: _Relay | None = None,
    mtu: int = 1500,
    environment: Mapping[str, str] | None = None,
    apart: bool = True,
    congestion: str = "cubic",
) -> LinkedHost:
    """`congestion` is not the machine's own, so that a link gives the same on each; bbr pauses every 10 s."""
    variables = {**namespaces.environment(), **(environment or {})}
    host = LinkedHost(switch, number, f"host-{number}", variables, cabled=relay is None, apart=apart)
    host.mtu = mtu
    if relay:
        relay.plug(host)
    elif mtu != 1500:
        host.network("ip", "link", "set", "eth0", "mtu", str(mtu))
        switch.command("ip", "link", "set", host.port, "mtu", str(mtu))
    host.network("ip", "route", "replace", f"{namespaces.NETWORK}.0/24", "dev", "eth0", "congctl", congestion)
    host.change(out=cable.out, into=cable.into)
    return host


@cache
def missing(relay: bool = False) -> str | None:
    """Why no links can be made here, of `relayed` hosts or of `shaped` ones; None where they can."""
    if (reason := namespaces.missing()) is not None:
        return reason
    try:
        with (relayed if relay else shaped)([GIGABIT]):
            return None
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no links can be {'delayed (TUN' if relay else 'slowed down (tc tbf'}: {_why(error)})"


def _why(error: Exception) -> str:
    return str(getattr(error, "stderr", "") or error).strip()
