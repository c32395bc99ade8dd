"""What samples say: the median and its interval, the tail, steadiness, and a rate that changes."""

from __future__ import annotations

import random
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raxl.transfer import steadiness
from raxl.transfer.statistics import bandwidth_of, deviation, interval, latency_of, median, percentile, stalls

TIMES = st.lists(st.floats(1e-7, 1e3), min_size=1, max_size=250)


def noisy(draw: random.Random, count: int, rate: float = 1.0) -> list[float]:
    """Times with 5 % of spread, 2 % of them stalled by up to 30 %."""
    stalled = [draw.uniform(1, 1.3) if draw.random() < 0.02 else 1.0 for _ in range(count)]
    return [rate * stall * (1 + draw.gauss(0, 0.05)) for stall in stalled]


def test_the_median_of_an_even_number_lies_between_the_middle_two() -> None:
    assert median([4, 1, 3]) == 3
    assert median([4, 1, 3, 2]) == 2.5
    assert deviation([1, 2, 3, 4, 100]) == 1


@pytest.mark.parametrize(("count", "low", "high"), [(6, 1, 6), (7, 1, 7), (15, 4, 12), (50, 18, 33), (200, 86, 115)])
def test_the_interval_takes_the_ranks_of_the_rule(count: int, low: int, high: int) -> None:
    assert interval(list(range(1, count + 1))) == (low, high)


def test_of_five_samples_no_interval_is_known() -> None:
    assert interval([1, 2, 3, 4, 5]) is None
    assert bandwidth_of(1000, [1, 2, 3, 4, 5]) is None


@pytest.mark.parametrize("count", range(6, 201))
def test_the_interval_holds_the_median_in_95_of_100_runs(count: int) -> None:
    """By the binomial distribution, whatever the shape: the rank below misses with P(B(n, ½) < rank)."""
    known = interval([float(value) for value in range(1, count + 1)])
    assert known is not None
    assert known.low + known.high == count + 1
    missed = 2 * sum(comb(count, k) for k in range(int(known.low))) / 2**count
    assert 0.95 <= 1 - missed < 0.993


@pytest.mark.parametrize("count", [6, 7, 15, 50])
def test_the_interval_holds_the_median_of_skewed_times_in_simulation(count: int) -> None:
    draw = random.Random(count)
    truth = 2.0  # the median of a log-normal distribution is exp(mu)
    held = 0
    for _ in range(2000):
        known = interval([truth * draw.lognormvariate(0, 0.7) for _ in range(count)])
        assert known is not None
        held += known.low <= truth <= known.high
    assert 0.94 < held / 2000 < 0.995


@settings(max_examples=150)
@given(TIMES)
def test_what_is_told_of_a_latency_is_in_order(samples: list[float]) -> None:
    told = latency_of(samples)
    assert told is not None
    assert told.min <= told.p50 <= told.p95 <= (told.p99 or told.max) <= told.max
    assert (told.p99 is None) == (len(samples) < 100)
    assert {told.min, told.p95, told.max} <= set(samples)


@settings(max_examples=150)
@given(TIMES, st.integers(1, 1 << 40))
def test_a_bandwidth_lies_in_its_interval_and_is_the_size_by_the_median(samples: list[float], size: int) -> None:
    told = bandwidth_of(size, samples)
    assert (told is None) == (len(samples) < 6)
    if told is not None:
        assert told.ci95_low <= told.median <= told.ci95_high
        assert told.median == pytest.approx(size / median(samples))


def test_percentiles_are_values_that_were_seen() -> None:
    values = list(range(1, 101))
    assert [percentile(values, share) for share in (0.5, 0.95, 0.99, 1)] == [50, 95, 99, 100]
    assert percentile([3.0], 0.99) == 3.0
    assert latency_of([]) is None


def test_a_clock_that_saw_no_time_pass_gives_no_bandwidth() -> None:
    assert bandwidth_of(8, [0.0] * 10) is None


def test_stalls_are_counted_and_not_left_out() -> None:
    samples = [1.0] * 20 + [2.9, 3.0, 3.1, 50.0]
    assert stalls(samples) == 2
    assert stalls([]) == 0
    told = latency_of(samples)
    assert told is not None
    assert told.max == 50.0


def test_warm_up_ends_when_two_medians_agree_and_after_twenty_at_the_latest() -> None:
    assert steadiness.is_steady([3, 1, 1.04])
    assert not steadiness.is_steady([1, 1, 1.06])
    assert not steadiness.is_steady([1])
    assert steadiness.is_steady([0, 0])
    cold = [50e-3, 4.1e-6, 4e-6]
    assert not steadiness.warmed_up(cold[:2])
    assert steadiness.warmed_up(cold)
    falling = [100 * 0.8**n for n in range(20)]
    assert [count for count in range(21) if steadiness.warmed_up(falling[:count])] == [20]


def test_measuring_may_stop_when_the_interval_is_narrow() -> None:
    assert steadiness.is_precise([1.0, 1.001, 0.999, 1.002, 0.998, 1.0])
    assert not steadiness.is_precise([1.0, 1.1, 0.9, 1.0, 1.05, 0.95])
    assert not steadiness.is_precise([1.0] * 5)


@pytest.mark.parametrize("count", [7, 15, 50, 200])
def test_noise_and_stalls_are_no_change_of_rate(count: int) -> None:
    for seed in range(200 if count < 100 else 60):
        assert steadiness.change(noisy(random.Random(seed), count)) is None, seed


@pytest.mark.parametrize("count", [7, 15, 50, 200])
@pytest.mark.parametrize("at", [0.4, 0.5, 0.6])
def test_a_link_that_falls_from_1_gbit_to_300_mbit_is_seen(count: int, at: float) -> None:
    for seed in range(20):
        draw = random.Random(seed)
        first = round(count * at)
        for rates in ((1.0, 3.33), (3.33, 1.0)):
            samples = noisy(draw, first, rates[0]) + noisy(draw, count - first, rates[1])
            factor = steadiness.change(samples)
            assert factor is not None, (seed, rates)
            assert 2.5 < factor < 4.5


def test_a_dip_that_lasts_and_a_drift_are_seen_and_heavy_noise_is_none() -> None:
    draw = random.Random(7)
    assert steadiness.change(noisy(draw, 80) + noisy(draw, 40, 3.0) + noisy(draw, 80))
    assert steadiness.change([sample * (1 + n / 200) for n, sample in enumerate(noisy(draw, 200))])
    heavy = [[draw.lognormvariate(0, 0.4) for _ in range(200)] for _ in range(60)]
    assert sum(steadiness.change(samples) is not None for samples in heavy) <= 2


def test_of_five_samples_no_change_is_told() -> None:
    assert steadiness.change([1, 1, 1, 3, 3]) is None


@settings(max_examples=150)
@given(st.lists(st.floats(1e-6, 1e2), max_size=60))
def test_a_change_is_always_larger_than_a_fifth(samples: list[float]) -> None:
    factor = steadiness.change(samples)
    assert factor is None or factor > 1.2


@settings(max_examples=150)
@given(st.floats(1e-6, 1.0), st.integers(6, 60))
def test_times_that_are_all_equal_never_change(time: float, count: int) -> None:
    samples = [time] * count
    assert steadiness.change(samples) is None
    assert steadiness.is_precise(samples)
