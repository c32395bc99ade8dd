"""The transport that is recommended, with what it beat and what was left out."""

from __future__ import annotations

import pytest

from measured_rows import MIB, N1, N2, row
from raxl.bench.recommend import recommendations
from raxl.model.measurement import Path, Run


def test_the_fastest_verified_transport_is_recommended_with_what_it_beat() -> None:
    rows = [
        row("object-store", seconds=0.03),
        row("gloo", seconds=0.02),
        row("nixl", seconds=0.01),
        row("fast", seconds=0.001, status="mismatch"),
        row("wrong", seconds=0.001, status="corrupt", verified=False),
        row("ticks", seconds=0.002, status="quantised"),
        row("trusted", seconds=0.001, verified=False),
        row("nccl", seconds=0, status="unavailable", error="no GPU"),
    ]
    (best,) = recommendations(rows)
    assert (best.transport, best.source, best.target, best.size_bytes) == ("nixl", N1, N2, MIB)
    assert best.seconds == pytest.approx(0.01, rel=0.01)
    assert best.bandwidth_bytes_per_second == pytest.approx(MIB / 0.01, rel=0.01)
    assert best.reason == (
        "2 times as fast as gloo, 3 times as fast as object-store; left out: fast (went another way), wrong (corrupt "
        "data), ticks (its clock is too coarse), trusted (not verified), nccl (unavailable)"
    )


def test_a_recommendation_says_what_is_not_sure_about_it() -> None:
    def reason(*rows: Run) -> str:
        return recommendations(rows)[0].reason

    assert reason(row()) == "the only one that is verified"
    assert reason(row(path=None)) == "the only one that is verified; its path is not proven"
    assert reason(row(status="noisy")).endswith("measured on a busy machine")
    assert reason(row("a", seconds=0.01), row("b", seconds=0.01001)) == "no different from b within the noise"
    mapped = recommendations([row("object-store", seconds=2e-4, status="mapped", path=None), row(seconds=0.01)])[0]
    assert mapped.bandwidth_bytes_per_second is None
    assert mapped.reason == "nothing is moved: the target sees the source's memory; 50 times as fast as gloo"
    close = [row("a", seconds=[0.01] * 9), row("b", seconds=[0.01001] * 9), row("c", seconds=[0.02] * 9)]
    assert reason(*close) == "2 times as fast as c, no different from b in three digits"


def test_what_nobody_sends_by_and_what_goes_another_way_is_not_recommended() -> None:
    assert recommendations([row("memcpy", seconds=1e-6)]) == ()
    rows = [row("nixl", 8, 1e-6, path=None), row("nixl", MIB, 1e-3, status="mismatch"), row("tcp", 8, 1e-5)]
    (best,) = recommendations(rows)
    assert best.transport == "tcp"
    assert "left out: nixl (went another way at other sizes)" in best.reason


def test_a_transport_that_has_one_kind_of_destination_is_beside_those_of_another() -> None:
    one_each = [row("tcp", seconds=0.02), row("object-store", seconds=0.01, destination="reused")]
    assert [one.transport for one in recommendations(one_each)] == ["object-store"]
    both = [*one_each, row("tcp", seconds=0.03, destination="reused")]
    assert [one.transport for one in recommendations(both)] == ["tcp", "object-store"]


def test_each_pair_and_size_has_its_own_and_the_wrong_ones_none() -> None:
    rows = [row("a", MIB, 0.01), row("b", MIB, 0.02), row("a", 8, 2e-5), row("b", 8, 1e-5)]
    rows += [row("a", MIB, 0.01, source=N2, target=N1, status="corrupt"), row("a", pattern="all-reduce", seconds=1e-4)]
    assert [(one.size_bytes, one.transport) for one in recommendations(rows)] == [(MIB, "a"), (8, "b")]
    streams = recommendations([row("a", seconds=0.04), row("b", seconds=0.02, mode="stream")])
    assert [one.transport for one in streams] == ["a", "b"]
    elsewhere = Path("eth0", (), "mismatch")
    assert recommendations([row("a", path=elsewhere)]) == recommendations([]) == ()


def test_what_differs_by_less_than_the_noise_of_small_rows_is_no_different() -> None:
    rows = [
        row(name, 8, [seconds * (1 + 0.1 * (n % 9)) for n in range(20)], bandwidth_bytes_per_second=None)
        for name, seconds in (("a", 1e-5), ("b", 1.01e-5))
    ]
    assert recommendations(rows)[0].reason == "no different from b within the noise"
