"""The lab's links let through what they are said to, as plain sockets, iperf3 and Ray measure it.

Each link is slow enough for two busy cores. Rates are medians of many short windows, times the best of a few: what a
busy machine takes away for a moment is no fault of the link.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import pytest

import links
import namespaces
from links import GBIT, GIGABIT, Cable, LinkedHost, LinkPath, Way, relayed, shaped
from processes import Started
from ray_hosts import cluster

HERE = Path(__file__).parent
FIFTH = 0.2 * GBIT
RECEIVES = """
import json, socket, sys, time
with socket.create_server((sys.argv[1], 7777)) as server:
    print(flush=True)
    connection, _ = server.accept()
size, marks, buffer = 0, [(time.monotonic(), 0)], bytearray(1 << 20)
while part := connection.recv_into(buffer):
    size += part
    now = time.monotonic()
    if now - marks[-1][0] > 0.02:
        marks.append((now, size))
print(json.dumps([(end - begin) / (late - soon) for (soon, begin), (late, end) in zip(marks, marks[1:])]))
"""
"""Bytes a second in each window of 20 ms."""
SENDS = """
import socket, sys, time
connection, buffer = socket.create_connection((sys.argv[1], 7777)), bytes(1 << 18)
until = time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    connection.sendall(buffer)
"""
ANSWERS = """
import socket, sys
with socket.create_server((sys.argv[1], 7778)) as server:
    print(flush=True)
    connection, _ = server.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
buffer = bytearray(1 << 20)
while size := int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big"):
    left = size
    while left:
        left -= connection.recv_into(buffer, min(left, len(buffer)))
    connection.sendall(b"received")
"""
ASKS = """
import json, socket, sys, time
connection, sizes, seconds = socket.create_connection((sys.argv[1], 7778)), json.loads(sys.argv[2]), []
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for size in sizes:
    time.sleep(0.02)
    message = size.to_bytes(8, "big") + bytes(size)
    begun = time.monotonic()
    connection.sendall(message)
    connection.recv(8, socket.MSG_WAITALL)
    seconds.append(time.monotonic() - begun)
print(json.dumps(seconds))
"""
"""Seconds from the first byte of each message to the answer that all of it has come."""


@pytest.fixture(scope="module", autouse=True)
def _links() -> None:
    if (reason := links.missing()) is not None:
        pytest.skip(reason)


@pytest.fixture
def _relaying() -> None:
    if (reason := links.missing(relay=True)) is not None:
        pytest.skip(reason)


def python(program: str) -> list[str]:
    return [sys.executable, "-S", "-c", program]


@contextlib.contextmanager
def listening(host: LinkedHost, program: str) -> Iterator[Started]:
    """A program of its own on a host, once it listens there."""
    started = host.start([*python(program), host.address])
    try:
        assert started.stdout is not None
        started.stdout.readline()
        yield started
    finally:
        started.end()


def sent(pairs: Sequence[tuple[LinkedHost, LinkedHost]], seconds: float = 0.7) -> list[list[float]]:
    """Bytes a second of each window, of each pair, all at once."""
    with contextlib.ExitStack() as stack:
        receivers = [stack.enter_context(listening(receiver, RECEIVES)) for _, receiver in pairs]
        senders = [one.start([*python(SENDS), other.address, str(seconds)]) for one, other in pairs]
        for sender in senders:
            assert sender.finished(seconds + 20).returncode == 0
        return [json.loads(receiver.finished(20).stdout) for receiver in receivers]


def rate(one: LinkedHost, other: LinkedHost) -> float:
    """Bytes a second from one to the other."""
    return median(sent([(one, other)])[0])


def soonest(one: LinkedHost, other: LinkedHost, size: int, times: int = 5) -> float:
    """Seconds that a message and its answer take, of so many the least."""
    with listening(other, ANSWERS):
        done = one.run([*python(ASKS), other.address, json.dumps([size] * times)])
        assert done.returncode == 0, done.stderr
        return min(json.loads(done.stdout))


def closest(measure: Callable[[], float], wanted: float, share: float, rounds: int = 4) -> float:
    """Of a few rounds the figure that is closest to what is wanted; the first within `share` of it ends them."""
    figures: list[float] = []
    while len(figures) < rounds and not (figures and abs(figures[-1] / wanted - 1) < share):
        figures.append(measure())
    return min(figures, key=lambda figure: abs(figure - wanted))


def by_iperf3(one: LinkedHost, other: LinkedHost) -> float:
    """Bytes a second, as iperf3's receiver says of most intervals."""
    if shutil.which("iperf3") is None:
        pytest.skip("no iperf3 here")
    server = other.start(["iperf3", "-s", "-1", "-J", "-i", "0.1"])
    try:
        while not other.listens(5201):
            assert server.poll() is None
            time.sleep(0.01)
        assert one.run(["iperf3", "-c", other.address, "-t", "1"]).returncode == 0
        told = json.loads(server.finished(20).stdout)
    finally:
        server.end()
    return median(one["sum"]["bits_per_second"] for one in told["intervals"]) / 8


@pytest.mark.parametrize("measure", [rate, by_iperf3])
def test_a_gigabit_carries_its_payload(measure: Callable[[LinkedHost, LinkedHost], float]) -> None:
    with shaped([GIGABIT] * 2) as (one, other):
        wanted = one.to(other).payload_rate
        assert wanted == pytest.approx(0.9564e9 / 8, rel=1e-4)
        assert closest(partial(measure, one, other), wanted, 0.01) == pytest.approx(wanted, rel=0.01)


def test_a_message_takes_its_time_less_what_goes_at_once() -> None:
    with shaped([GIGABIT] * 2) as (one, other):
        for size in (1 << 20, 8 << 20):
            wanted = one.to(other).seconds(size)
            best = closest(partial(soonest, one, other, size), wanted, 0.03)
            assert wanted * 0.99 < best < wanted * 1.02 + 0.0005


def test_one_slow_host_of_four_slows_its_own_pairs_alone() -> None:
    with shaped([*[Cable.of(FIFTH)] * 3, Cable.of(0.7 * FIFTH)]) as hosts:
        for rounds in (((0, 1), (2, 3)), ((0, 2), (3, 1)), ((0, 3), (1, 2))):
            pairs = [(hosts[one], hosts[other]) for one, other in rounds]
            for _ in range(3):
                shares = [
                    median(windows) / one.to(other).payload_rate
                    for (one, other), windows in zip(pairs, sent(pairs, 0.5))
                ]
                if shares == pytest.approx([1, 1], rel=0.01):
                    break
            assert shares == pytest.approx([1, 1], rel=0.01)
        assert hosts[0].to(hosts[3]).payload_rate == pytest.approx(0.7 * hosts[0].to(hosts[1]).payload_rate)


def test_one_direction_alone_is_slow() -> None:
    with shaped([Cable.of(FIFTH), Cable(out=Way(FIFTH), into=Way(FIFTH / 4))]) as (one, other):
        there, back = one.to(other).payload_rate, other.to(one).payload_rate
        assert back == pytest.approx(4 * there)
        assert closest(partial(rate, one, other), there, 0.01) == pytest.approx(there, rel=0.01)
        assert closest(partial(rate, other, one), back, 0.01) == pytest.approx(back, rel=0.01)


@pytest.mark.parametrize("join", [shaped, relayed])
@pytest.mark.usefixtures("_relaying")
def test_a_rate_changes_in_the_middle(
    join: Callable[[list[Cable]], contextlib.AbstractContextManager[list[LinkedHost]]],
) -> None:
    with join([Cable.of(FIFTH)] * 2) as (one, other):
        before = one.to(other).payload_rate
        changing = threading.Timer(0.8, lambda: other.change(into=Way(FIFTH / 4)))
        changing.start()
        (windows,) = sent([(one, other)], 1.6)
        changing.join()
        after = one.to(other).payload_rate
    assert after == pytest.approx(before / 4)
    third = len(windows) // 3
    assert median(windows[:third]) == pytest.approx(before, rel=0.03)
    assert median(windows[-third:]) == pytest.approx(after, rel=0.03)


@pytest.mark.parametrize(("mtu", "gigabits"), [(1500, 0.2), (9000, 0.5)])
@pytest.mark.usefixtures("_relaying")
def test_a_relay_delays_each_way_and_has_its_rate(mtu: int, gigabits: float) -> None:
    with relayed([Cable(out=Way(gigabits * GBIT, delay=0.002), into=None)] * 2, mtu=mtu) as (one, other):
        assert 0.004 <= closest(partial(soonest, one, other, 8, 20), 0.004, 0.1) < 0.0045
        wanted = one.to(other).payload_rate
        assert wanted == pytest.approx({1500: 0.9653, 9000: 0.9942}[mtu] * gigabits * GBIT / 8, rel=1e-4)
        assert closest(partial(rate, one, other), wanted, 0.01) == pytest.approx(wanted, rel=0.01)
        there_and_back = one.to(other).seconds(4 << 20) + other.to(one).delay
        best = closest(partial(soonest, one, other, 4 << 20), there_and_back, 0.05)
        assert there_and_back * 0.98 < best < there_and_back * 1.1


@pytest.mark.usefixtures("_relaying")
def test_one_host_of_three_is_far() -> None:
    with relayed([Cable.of(FIFTH), Cable.of(FIFTH), Cable.of(FIFTH, delay=0.001)]) as (one, other, far):
        assert (one.to(other).delay, one.to(far).delay) == (0, 0.001)
        assert soonest(one, other, 8, 20) < 0.001
        assert 0.002 <= closest(partial(soonest, one, far, 8, 20), 0.002, 0.2) < 0.0025


def test_what_links_let_through_in_numbers() -> None:
    slow, fast = Way(0.7e9, burst=0), Way(1e9, delay=0.002)
    path = LinkPath((fast, slow))
    assert path.payload_rate == pytest.approx(0.7e9 / 8 * 1448 / 1514)
    assert path.seconds(10_000_000) == pytest.approx(0.002 + 10_000_000 / path.payload_rate)
    assert LinkPath((fast,)).seconds(8) == 0.002, "it goes with the burst"
    assert LinkPath(()).payload_rate == float("inf")
    assert LinkPath((fast,), mtu=65520, relayed=True).share == pytest.approx(0.9992, rel=1e-4)


HOLDS = """
import ctypes, os, time
kept = ctypes.create_string_buffer(b"of the other host")
print(os.getpid(), ctypes.addressof(kept), flush=True)
time.sleep(60)
"""
READS = """
import ctypes, sys
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
pid, address = map(int, sys.argv[1:])
got = ctypes.create_string_buffer(17)
local, remote = Part(ctypes.addressof(got), 17), Part(address, 17)
ctypes.CDLL(None).process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
print(got.raw.decode())
"""


@pytest.mark.parametrize("apart", [True, False])
def test_hosts_that_are_not_apart_read_each_others_memory_past_the_link(apart: bool) -> None:
    """As UCX does (`cma`) between containers of one machine, whose link then carries nothing."""
    with shaped([GIGABIT] * 2, apart=apart) as (one, other):
        holding = one.start([sys.executable, "-c", HOLDS])
        try:
            assert holding.stdout is not None
            pid, address = holding.stdout.readline().split()
            read = other.run([sys.executable, "-c", READS, pid, address]).stdout
            assert (read == "of the other host\n") is not apart
            assert len(one.processes()) == 1
            assert other.processes() == []
        finally:
            holding.end()


FETCHES = """
import json, time, ray
ray.init(log_to_driver=False, logging_level="ERROR")
@ray.remote(num_cpus=0)
class End:
    def make(self):
        return [ray.put(bytes(8 << 20))]
    def fetch(self, made):
        begun = time.monotonic()
        size = len(ray.get(made[0]))
        return size, time.monotonic() - begun
one, other = (End.options(resources={name: 1}).remote() for name in ("host-1", "host-2"))
print(json.dumps([ray.get(other.fetch.remote(one.make.remote())) for _ in range(4)]))
"""


def test_a_ray_cluster_moves_its_objects_over_the_link() -> None:
    with shaped([Cable.of(FIFTH)] * 2) as hosts:
        with cluster(hosts) as ray_cluster:
            done = ray_cluster.run([sys.executable, "-c", FETCHES])
            assert done.returncode == 0, done.stderr
            assert ray_cluster.memory() > 100e6
        assert [host.processes() for host in hosts] == [[], []]
        wanted = hosts[0].to(hosts[1]).seconds(8 << 20)
    moved = json.loads(done.stdout)
    assert {size for size, _ in moved} == {8 << 20}
    assert wanted * 0.98 < min(seconds for _, seconds in moved) < wanted * 1.2


KILLED = """
import os, signal, sys
sys.path[:0] = [sys.argv[1]]
from links import GIGABIT, relayed
with relayed([GIGABIT] * 2) as hosts:
    hosts[0].run(["sh", "-c", "setsid sleep 987 >/dev/null 2>&1 &"])
    print(*[pid for host in hosts for pid in (host.pid, *host.processes())], flush=True)
    print(hosts[0].relay.pid, flush=True)
    signal.pause()
"""


@pytest.mark.usefixtures("_relaying")
def test_a_relay_ends_with_its_maker_however_that_comes() -> None:
    before, pipe = namespaces.traces(), subprocess.PIPE
    maker = subprocess.Popen([sys.executable, "-c", KILLED, str(HERE)], stdout=pipe, text=True)
    assert maker.stdout is not None
    pids = [int(pid) for _ in range(2) for pid in maker.stdout.readline().split()]
    assert len(pids) == 4
    maker.send_signal(signal.SIGKILL)
    maker.communicate(timeout=20)
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    assert namespaces.traces() == before
