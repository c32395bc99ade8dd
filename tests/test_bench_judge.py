"""From what the ends read to a row: its status, its path, its ceiling."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from raxl.bench import judge
from raxl.bench.readings import Ends, Row
from raxl.model.measurement import PROVEN, UNVERIFIED, WENT_ELSEWHERE, Moved
from raxl.transfer import Taken, Transfer

SIZE = 32 << 20
LINE = 1e9 / 8 * 1448 / 1514
"""What a token bucket of 1 Gbit/s carries at MTU 1500."""


def node(shaped: int | None = 10**9, load: float = 0.0, **changed: Any) -> dict[str, Any]:
    eth0 = {"mtu": 1500, "shaped_bits_per_second": shaped, "speed_bits_per_second": None, "is_virtual": True}
    eth0["shaped_burst_bytes"] = 128 << 10
    return {"interface": "eth0", "interfaces": {"eth0": eth0}, "load": load, "cores": 2, **changed}


def row(rate: float = 0.99 * LINE, moved: float = 1.003, name: str = "eth0", **changed: Any) -> Row:
    """A row between two nodes, whose device carried `moved` of what was sent."""
    taken = Taken(samples=15 * [SIZE / rate], warmup=5, cold=0.5, verified=True, transfers=21, phases={"setup": 0.1})
    carried = {name: (int(SIZE * 21 * moved), 1000), **({} if name == "eth0" else {"eth0": (2000, 2000)})}
    bare = Row("tcp", ("a", "b"), Transfer(SIZE), "loopback", taken, ({}, carried), 10.0)
    return bare._replace(taken=replace(taken, **changed))


BETWEEN = Ends(node(), node(), is_one_node=False)


def test_a_row_at_the_ceiling_is_ok_and_names_what_limits_it() -> None:
    run = judge.run(row(), BETWEEN, {})
    assert (run.status, run.error, run.verified) == ("ok", None, True)
    assert run.bandwidth_bytes_per_second is not None
    assert run.bandwidth_bytes_per_second.median == pytest.approx(0.99 * LINE)
    assert run.ceiling is not None
    assert run.ceiling.name == "1 Gbit/s token bucket on eth0, MTU 1500"
    assert run.ceiling.ratio == pytest.approx(0.99)
    assert run.limiter == run.ceiling.name
    assert run.path is not None
    assert (run.path.claimed, run.path.verdict) == ("eth0", PROVEN)
    assert run.phases.fetch == pytest.approx(SIZE / (0.99 * LINE))
    assert run.phases.setup == 0.1
    assert run.cold_seconds == 0.5


def test_a_bucket_bounds_what_its_own_interface_sends() -> None:
    slow_to_send = Ends(node(), node(shaped=10**8), is_one_node=False)
    run = judge.run(row(), slow_to_send, {})
    assert run.status == "ok"
    assert run.ceiling is not None
    assert run.ceiling.name == "1 Gbit/s token bucket on eth0, MTU 1500"


@pytest.mark.parametrize(
    ("moved", "verdict"),
    [
        (1.0, PROVEN),
        (1.045, PROVEN),
        (1.15, PROVEN),
        (1.2, WENT_ELSEWHERE),
        (0.94, WENT_ELSEWHERE),
        (0.001, WENT_ELSEWHERE),
    ],
)
def test_the_claimed_device_carried_what_was_sent_or_it_went_elsewhere(moved: float, verdict: str) -> None:
    run = judge.run(row(moved=moved), BETWEEN, {})
    assert run.path is not None
    assert run.path.verdict == verdict
    assert (run.status == "mismatch") == (verdict == WENT_ELSEWHERE)


def test_a_bypass_names_how_little_the_device_moved_and_what_the_library_chose() -> None:
    run = judge.run(row(rate=0.75e9, moved=0.001, protocol="zero-copy cma/memory"), BETWEEN, {})
    assert run.status == "mismatch"
    assert run.error is not None
    assert "eth0 moved " in run.error
    assert run.error.endswith("it went by zero-copy cma/memory")


def test_another_device_that_carried_it_is_named() -> None:
    run = judge.run(row(name="mlx5_0:1"), BETWEEN, {})
    assert run.path is not None
    assert run.path.devices[1] == Moved("mlx5_0:1", int(SIZE * 21 * 1.003), SIZE * 21)
    assert run.error is not None
    assert "it went by mlx5_0:1" in run.error


def test_little_data_and_much_else_on_the_line_prove_nothing() -> None:
    small = row()._replace(transfer=Transfer(8))
    assert getattr(judge.run(small, BETWEEN, {}).path, "verdict", None) == UNVERIFIED
    busy = Ends(node(), node(idle_bytes_per_second={"eth0": 1e9}), is_one_node=False)
    assert getattr(judge.run(row(), busy, {}).path, "verdict", None) == UNVERIFIED


def test_within_a_node_it_is_the_loopback_that_others_may_use() -> None:
    for idle, verdict in (({"eth0": 1e9}, "proven"), ({"lo": 1e9}, UNVERIFIED)):
        target = node(idle_bytes_per_second=idle)
        run = judge.run(row(name="lo")._replace(way="loopback"), Ends(target, target, is_one_node=True), {})
        assert getattr(run.path, "verdict", None) == verdict


def test_what_is_wrong_outranks_what_is_odd() -> None:
    run = judge.run(row(moved=0.001, wrong="byte 7 of 32 is 0x01, 0x11 was sent", verified=False), BETWEEN, {})
    assert (run.status, run.verified, run.bandwidth_bytes_per_second) == ("corrupt", False, None)
    assert run.error == "byte 7 of 32 is 0x01, 0x11 was sent"


def test_faster_than_the_line_can_be_is_suspect() -> None:
    assert judge.run(row(rate=1.02 * LINE), BETWEEN, {}).status == "ok"
    assert judge.run(row(rate=1.04 * LINE), BETWEEN, {}).status == "suspect"


def test_the_burst_of_a_token_bucket_is_free() -> None:
    """At 1 MiB a burst of 128 KiB makes 12 %: what comes to 1.1 of the rate is no wonder, 1.3 is."""
    size = 1 << 20
    for share, status in ((1.1, "ok"), (1.16, "ok"), (1.3, "suspect")):
        one = row(rate=1.0, samples=15 * [size / (share * LINE)], transfers=21)
        one = one._replace(transfer=Transfer(size), moved=({}, {"eth0": (size * 21, 0)}))
        assert judge.run(one, BETWEEN, {}).status == status


def test_a_rate_that_changes_is_unstable() -> None:
    times = 10 * [SIZE / LINE] + 10 * [3 * SIZE / LINE]
    run = judge.run(row(samples=times), BETWEEN, {})
    assert run.status == "unstable"
    assert run.error == "the rate changed while it was measured, by a factor of 3.0"


def test_a_transport_that_waits_in_steps_is_quantised_below_twenty_of_them() -> None:
    assert (
        judge.run(row(rate=SIZE / 0.019, quantum=0.001, moved=1.0), Ends(node(None), node(None), False), {}).status
        == "quantised"
    )
    assert judge.run(row(quantum=0.001), BETWEEN, {}).status == "ok"


def test_a_mapping_has_no_bandwidth_and_no_path() -> None:
    run = judge.run(row(is_mapped=True), Ends(node(), node(), True), {})
    assert (run.status, run.bandwidth_bytes_per_second, run.path) == ("mapped", None, None)


def test_a_machine_that_was_busy_before_is_told() -> None:
    run = judge.run(row(), Ends(node(), node(load=3.0), False), {})
    assert run.status == "noisy"
    assert run.error == "3.0 processes wanted to run on 2 cores before raxl began"


def test_within_a_node_the_ceiling_is_a_copy_which_may_be_exceeded() -> None:
    inside = Ends(node(), node(), is_one_node=True)
    run = judge.run(row(rate=20e9, name="lo")._replace(way="loopback"), inside, {SIZE: 10e9})
    assert run.status == "ok"
    assert run.ceiling is not None
    assert (run.ceiling.name, run.ceiling.ratio) == ("a copy in memory", 2.0)


def test_memory_is_proven_where_no_device_moved() -> None:
    inside = Ends(node(), node(), is_one_node=True)
    quiet = row()._replace(way="memory", moved=({}, {"lo": (10_000, 10_000), "eth0": (0, 0)}))
    assert getattr(judge.run(quiet, inside, {}).path, "verdict", None) == PROVEN
    loud = quiet._replace(moved=({}, {"lo": (SIZE * 21, SIZE * 21)}))
    assert judge.run(loud, inside, {}).status == "mismatch"
    others = quiet._replace(moved=({}, {"lo": (SIZE * 7, SIZE * 7)}))
    assert getattr(judge.run(others, inside, {}).path, "verdict", None) == UNVERIFIED


def test_what_others_say_over_the_loopback_refutes_nothing() -> None:
    inside = Ends(node(), node(), is_one_node=True)
    assert getattr(judge.run(row(name="lo", moved=1.5), inside, {}).path, "verdict", None) == UNVERIFIED
    assert judge.run(row(name="lo", moved=0.5), inside, {}).status == "mismatch"


@pytest.mark.parametrize("share", [0.1, 3.5])
def test_what_others_move_on_the_same_machine_belies_no_memory(share: float) -> None:
    inside = Ends(node(), node(), is_one_node=True)
    beside = row()._replace(way="memory", moved=({}, {"lo": (int(share * SIZE * 21), 0)}))
    run = judge.run(beside, inside, {})
    assert (run.status, getattr(run.path, "verdict", None)) == ("ok", UNVERIFIED)


def test_a_line_of_which_nobody_says_the_rate_is_no_ceiling() -> None:
    run = judge.run(row(rate=5e9), Ends(node(None), node(None), False), {})
    assert (run.status, run.ceiling, run.limiter) == ("ok", None, None)


def test_unavailable_and_failed_say_why() -> None:
    bare = Row("nixl", ("a", "b"), Transfer(8), "memory")
    assert judge.run(bare._replace(unavailable="no nixl here"), BETWEEN, {}).status == "unavailable"
    failed = judge.run(bare._replace(failed="it hangs: given up after 90 s"), BETWEEN, {})
    assert (failed.status, failed.error) == ("failed", "it hangs: given up after 90 s")


@pytest.mark.parametrize(
    ("pattern", "ranks", "factor"), [("all-reduce", 4, 1.5), ("all-gather", 4, 0.75), ("p2p", 2, None)]
)
def test_a_collective_has_a_bus_bandwidth_by_its_ranks(pattern: str, ranks: int, factor: float | None) -> None:
    one = row()._replace(transfer=Transfer(SIZE, pattern=pattern), nodes=tuple("abcd"[:ranks]))
    run = judge.run(one, BETWEEN, {})
    assert run.bandwidth_bytes_per_second is not None
    assert run.bus_bandwidth_bytes_per_second == (factor and pytest.approx(factor * 0.99 * LINE))
