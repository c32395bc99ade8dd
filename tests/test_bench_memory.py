"""Copies within a process, from one to another, and over sockets in both directions at once."""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import replace

import pytest

from local_bench import GOOD, benches, statuses
from process_ends import ends
from raxl.bench import injury
from raxl.bench.request import Request
from raxl.model.measurement import CORRUPT, FRESH, PROVEN, UNVERIFIED, Run
from raxl.transfer import EndFailed, EndLost, Transfer, Unavailable, memory
from raxl.transports.memcpy import Memcpy
from raxl.transports.shared_memory import SharedMemory
from raxl.transports.tcp import Tcp

BOTH = ("memcpy", "shared-memory")
MIB = 1 << 20
SHORT = Transfer(size_bytes=MIB, most_samples=6, seconds=0.2)


@pytest.fixture(scope="module")
def measured() -> list[list[Run]]:
    request = Request(transports=BOTH, sizes=(8, 4 * MIB), budget_seconds=2)
    return benches(request, request._replace(is_damaged=True, destination=FRESH, sizes=(MIB,)))


def test_both_are_measured_and_said_to_stay_in_memory(measured: list[list[Run]]) -> None:
    right = measured[0]
    assert {(one.transport, one.size_bytes) for one in right} == {
        (name, size) for name in BOTH for size in (8, 4 * MIB)
    }
    for one in right:
        assert one.status in GOOD, one
        assert one.verified
        assert one.path is not None
        assert one.path.claimed == "memory"
        assert one.path.verdict in ((PROVEN, UNVERIFIED) if one.size_bytes > 8 else (UNVERIFIED,))
        assert (one.bandwidth_bytes_per_second is not None) == (one.size_bytes > 8)


def test_what_one_copy_is_stands_beside_the_row(measured: list[list[Run]]) -> None:
    assert all("one copy" in (one.error or "") for one in measured[0] if one.transport == "shared-memory")


def test_a_copy_is_the_ceiling_of_what_stays_in_memory(measured: list[list[Run]]) -> None:
    shared = next(one for one in measured[0] if one.transport == "shared-memory" and one.size_bytes > 8)
    assert shared.ceiling is not None
    assert shared.ceiling.name == "a copy in memory"


def test_a_byte_that_was_turned_is_seen(measured: list[list[Run]]) -> None:
    assert statuses(measured[1]) == {name: {CORRUPT} for name in BOTH}


def test_between_two_nodes_a_copy_is_the_target_s_alone() -> None:
    with ends("a", "b") as pair:
        taken = Memcpy().open(pair).measure(SHORT)
    assert taken.verified
    assert taken.remark == "within b alone"


def test_memory_is_not_shared_between_two_nodes() -> None:
    with ends("a", "b") as pair, pytest.raises(Unavailable, match="the ends are on two nodes"):
        SharedMemory().open(pair)


@pytest.mark.parametrize("victim", [0, 1])
def test_killed_ends_leave_nothing_and_the_other_one_says_so(victim: int) -> None:
    with ends("a", "a") as pair:
        session = SharedMemory().open(pair)
        killing = threading.Timer(0.5, pair[victim].kill)
        killing.start()
        begun = time.monotonic()
        with pytest.raises(EndLost if victim == 0 else EndFailed):
            session.measure(Transfer(size_bytes=MIB, most_samples=10**9, seconds=0.1, least_seconds=60.0))
        killing.join()
        assert time.monotonic() - begun < 10
    assert not [name for name in os.listdir("/dev/shm") if "raxl" in name]


@pytest.mark.parametrize("streams", [1, 3])
def test_sockets_carry_both_directions_at_once_each_with_its_own_clock(streams: int) -> None:
    with ends("a", "a") as pair:
        session = Tcp().open(pair)
        for is_bidirectional in (True, False, True):
            taken = session.measure(replace(SHORT, streams=streams, is_bidirectional=is_bidirectional))
            assert taken.verified, taken.wrong
            assert len(taken.back) == (len(taken.samples) if is_bidirectional else 0)
            assert ("both ways at once" in (taken.remark or "")) == is_bidirectional
        slow = session.measure(replace(SHORT, size_bytes=8, streams=1, is_bidirectional=True)).remark or ""
        assert re.fullmatch(r"both ways at once, [kM]?B/s: [1-9][0-9.]* there, [1-9][0-9.]* back, .*", slow), slow
        assert session.measure(replace(SHORT, is_bidirectional=True, is_damaged=True)).wrong


def test_less_than_before_is_nothing_that_was_left() -> None:
    before = {"memory_bytes": 100, "sockets": 3, "shared_memory_bytes": None}
    after = {"memory_bytes": 90, "sockets": 1, "shared_memory_bytes": 5}
    assert injury._more(before, after) == {"memory_bytes": 0, "sockets": 0, "shared_memory_bytes": None}
    assert injury._more(before, {**after, "sockets": 5})["sockets"] == 2


def test_fresh_memory_was_never_touched() -> None:
    for _ in range(3):
        view = memory.fresh(MIB)
        assert not _resident(view)
        view[:] = bytes(MIB)
        assert _resident(view)
        del view


def _resident(view: memoryview) -> bool:
    """Whether the kernel has given its first page, by /proc/self/pagemap."""
    with open("/proc/self/pagemap", "rb", buffering=0) as file:
        file.seek(memory.address(view) // os.sysconf("SC_PAGE_SIZE") * 8)
        return bool(int.from_bytes(file.read(8), "little") >> 63)
