"""The line through a transport's sizes, the ceilings of lines, and the factors of collectives."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measured_rows import MIB, row
from raxl.bench import wire
from raxl.bench.fitting import Point, fits, line

SIZES = [8, 1024, 65536, MIB, 16 * MIB, 64 * MIB, 256 * MIB]


@settings(max_examples=150)
@given(st.floats(1e-7, 1e-2), st.floats(1e6, 1e12))
def test_an_exact_line_is_found_again(latency: float, bandwidth: float) -> None:
    known = line([Point(size, latency + size / bandwidth) for size in SIZES])
    assert known is not None
    assert known.bandwidth_bytes_per_second == pytest.approx(bandwidth, rel=1e-3)
    assert known.latency_seconds == pytest.approx(latency, rel=1e-2, abs=8 / bandwidth)
    assert known.half_bandwidth_bytes == pytest.approx(known.latency_seconds * known.bandwidth_bytes_per_second)
    assert known.off_sizes_bytes == ()


def test_a_noisy_line_gives_both_figures_to_a_few_percent() -> None:
    draw = random.Random(3)
    for _ in range(50):
        points = [Point(size, (2e-3 + size / 0.1196e9) * (1 + draw.gauss(0, 0.01)), 1e-4) for size in SIZES[:5]]
        known = line(points)
        assert known is not None
        assert known.latency_seconds == pytest.approx(2e-3, rel=0.05)
        assert known.bandwidth_bytes_per_second == pytest.approx(0.1196e9, rel=0.05)


def test_a_size_at_which_the_protocol_changes_is_named() -> None:
    times = {size: 20e-6 + size / 1e9 for size in SIZES}
    times[65536] *= 2
    known = line([Point(size, time) for size, time in times.items()])
    assert known is not None
    assert known.off_sizes_bytes == (65536,)


def test_a_point_that_is_known_badly_weighs_little() -> None:
    points = [Point(size, 1e-3 + size / 1e9) for size in (MIB, 2 * MIB, 4 * MIB, 8 * MIB)]
    spoiled = [*points, Point(16 * MIB, 1.0, 10.0)]
    known = line(spoiled)
    assert known is not None
    assert known.bandwidth_bytes_per_second == pytest.approx(1e9, rel=0.01)
    assert known.off_sizes_bytes == (16 * MIB,)


def test_a_latency_is_never_below_zero_and_a_mapping_has_no_line() -> None:
    free_burst = line([Point(MIB, 0.9e-3), Point(16 * MIB, 16e-3), Point(64 * MIB, 66e-3)])
    assert free_burst is not None
    assert free_burst.latency_seconds == 0
    assert line([Point(size, 2e-4) for size in SIZES]) is None
    assert line([Point(MIB, 1.0), Point(MIB, 1.1)]) is None
    assert line([]) is None


def test_fits_are_of_single_transfers_that_moved_something() -> None:
    rows = [row("gloo", size, 1e-4 + size / 1e9) for size in SIZES]
    assert [fit.transport for fit in fits(rows)] == ["gloo"]
    fit = fits(rows)[0]
    assert fit.latency_seconds == pytest.approx(1e-4, rel=0.02)
    assert fit.bandwidth_bytes_per_second == pytest.approx(1e9, rel=0.02)
    assert fit.half_bandwidth_bytes == pytest.approx(1e5, rel=0.05)
    for field in ({"status": "mapped"}, {"status": "corrupt"}, {"mode": "window"}, {"pattern": "all-reduce"}):
        assert fits([row("gloo", size, 1e-4 + size / 1e9, **field) for size in SIZES]) == ()
    ways = [
        row("gloo", size, time, destination=kind) for kind, time in (("fresh", 1.0), ("reused", 0.5)) for size in SIZES
    ]
    assert fits(ways) == ()


@pytest.mark.parametrize(
    ("mtu", "frame", "share"),
    [
        (1500, wire.SHAPED, 0.9564),
        (1500, wire.ETHERNET, 0.9415),
        (9000, wire.ETHERNET, 0.9900),
        (1500, wire.TUNNEL, 0.9653),
        (9000, wire.TUNNEL, 0.9942),
        (65520, wire.TUNNEL, 0.9992),
    ],
)
def test_what_a_line_carries_is_what_was_measured(mtu: int, frame: int, share: float) -> None:
    assert wire.efficiency(mtu, frame) == pytest.approx(share, abs=5e-5)
    assert wire.goodput(0.125e9, mtu, frame) == pytest.approx(0.125e9 * share, rel=1e-4)
    assert wire.efficiency(mtu, frame, wire.IPV6) == pytest.approx((mtu - 72) / (mtu + frame))


@settings(max_examples=150)
@given(st.integers(576, 65536), st.sampled_from([wire.ETHERNET, wire.SHAPED, wire.TUNNEL]), st.sampled_from([4, 6]))
def test_payload_is_always_a_share_of_the_line_and_more_with_larger_packets(mtu: int, frame: int, ip: int) -> None:
    assert 0 < wire.efficiency(mtu, frame, ip) < wire.efficiency(mtu + 1, frame, ip) < 1


def test_an_mtu_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        wire.efficiency(52)


def test_the_factors_of_collectives_are_those_of_nccl_tests() -> None:
    assert wire.bus_factor("all-reduce", 2) == 1
    assert wire.bus_factor("all-reduce", 8) == 1.75
    assert {wire.bus_factor(name, 4) for name in ("all-gather", "reduce-scatter", "all-to-all")} == {0.75}
    assert wire.bus_factor("broadcast", 8) == wire.bus_factor("p2p", 2) == 1
    with pytest.raises(ValueError, match="two ranks"):
        wire.bus_factor("all-reduce", 1)


def test_a_figure_stands_beside_its_ceiling() -> None:
    assert wire.ceiling("eth0", 0.1196e9, 0.76e9).ratio == pytest.approx(6.35, abs=0.01)
