"""A run beside a baseline: what changed, what is the same, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measured_rows import MIB, N1, N2, bench, row
from raxl.bench import compare
from raxl.bench.compare import regressions, tolerance
from raxl.errors import UsageError
from raxl.model.measurement import Endpoint, Path, Regression, Run
from raxl.transfer import state

NODES: dict[str, Any] = {
    name: {"hardware": "8xH100", "versions": {"ray": "2.60.0", "nixl": "1.5.1"}} for name in ("n1", "n2")
}

OTHER = NODES | {"n2": NODES["n2"] | {"hardware": "8xA100"}}
NEWER = NODES | {"n1": NODES["n1"] | {"versions": {"ray": "2.61.0", "nixl": "1.5.1"}}}


def beside(before: Run, after: Run, share: float = 0.1, **nodes: Any) -> Regression:
    (found,) = regressions(bench(before, nodes=NODES), bench(after, nodes=nodes.get("nodes", NODES)), share)
    return found


@pytest.mark.parametrize(
    ("text", "share"), [("10%", 0.1), ("0.1", 0.1), (" 2.5% ", 0.025), ("0", 0), ("0%", 0), ("99%", 0.99)]
)
def test_a_tolerance_is_a_share(text: str, share: float) -> None:
    assert tolerance(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["10", "1", "100%", "-5%", "nan", "inf", "", "%", "ten", "1e9%"])
def test_what_is_no_share_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(UsageError, match=r"Write 10% or 0\.1") as refused:
        tolerance(text)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("seconds", "status"), [(0.01, "same"), (0.0109, "same"), (0.0125, "regressed"), (0.005, "improved")]
)
def test_a_bandwidth_has_changed_beyond_the_tolerance(seconds: float, status: str) -> None:
    found = beside(row(seconds=0.01), row(seconds=seconds))
    assert (found.metric, found.status, found.reason) == ("bandwidth_bytes_per_second", status, None)
    assert found.change == pytest.approx(0.01 / seconds - 1, abs=1e-3)


@pytest.mark.parametrize(("seconds", "status"), [(4e-6, "same"), (4.6e-6, "regressed"), (3e-6, "improved")])
def test_a_small_row_is_judged_by_its_latency(seconds: float, status: str) -> None:
    found = beside(row(size=8, seconds=4e-6), row(size=8, seconds=seconds))
    assert (found.metric, found.status) == ("latency_seconds", status)
    assert found.change == pytest.approx(seconds / 4e-6 - 1, abs=1e-3)


def test_a_large_change_within_the_noise_is_none() -> None:
    wide = [0.005, 0.006, 0.01, 0.011, 0.012, 0.013, 0.02]
    assert beside(row(seconds=0.008), row(seconds=wide)).status == "same"
    assert beside(row(seconds=0.0101), row(seconds=0.01), share=0).status == "improved"


def test_few_samples_are_compared_from_the_fastest_to_the_slowest() -> None:
    assert beside(row(seconds=[0.01] * 3), row(seconds=[0.02] * 3)).status == "regressed"
    found = beside(row(seconds=0.01), row(seconds=[0.009, 0.02, 0.03]))
    assert (found.metric, found.status) == ("latency_seconds", "same")


OUTLIER = [2.5e-6 + 1e-9 * (n % 50) for n in range(199)] + [20e-6]
THRICE = [7.05e-6 + 1e-9 * (n % 300) for n in range(199)] + [22e-6]


def without_bandwidth(size: int, seconds: list[float], *, is_older: bool = False) -> Run:
    """A small row as it is published; `is_older`: by a raxl that kept no interval of latencies."""
    run = row(size=size, seconds=seconds, bandwidth_bytes_per_second=None)
    assert run.latency_seconds is not None
    latency = replace(run.latency_seconds, ci95_low=None, ci95_high=None) if is_older else run.latency_seconds
    return replace(run, latency_seconds=latency)


def test_one_slow_sample_does_not_hide_that_all_others_became_slower() -> None:
    found = beside(without_bandwidth(8, OUTLIER), without_bandwidth(8, THRICE))
    assert (found.status, found.reason) == ("regressed", None)
    assert found.change == pytest.approx(1.85, abs=0.05)
    wide = beside(without_bandwidth(8, [2e-6, 9e-6] * 20), without_bandwidth(8, [4e-6, 9.1e-6] * 20))
    assert wide.status == "same"


def test_a_baseline_without_intervals_is_compared_by_the_medians_and_says_so() -> None:
    alone = "no interval in the baseline: by the medians and the tolerance alone"
    older = without_bandwidth(8, OUTLIER, is_older=True)
    found = beside(older, without_bandwidth(8, THRICE))
    assert (found.status, found.reason) == ("regressed", alone)
    assert beside(older, without_bandwidth(8, [2.6e-6] * 40)).status == "same"
    with_rate = row(seconds=[0.01] * 9, status="mapped")
    assert with_rate.latency_seconds is not None
    kept = replace(with_rate, latency_seconds=replace(with_rate.latency_seconds, ci95_low=None, ci95_high=None))
    assert beside(kept, row(seconds=[0.02] * 9)).reason is None


@pytest.mark.parametrize(
    ("after", "nodes", "reason"),
    [
        (row(seconds=0.02, path=Path("memory", (), "proven")), NODES, "other path: eth0 before, memory now"),
        (row(seconds=0.02, path=Path("eth0", (), "proven", "tcp")), NODES, "other path: eth0 before, eth0 by tcp now"),
        (row(seconds=0.02, path=None), NODES, "other path: eth0 before, not known now"),
        (row(seconds=0.02), OTHER, "other hardware: 8xH100 before, 8xA100 now"),
        (row(seconds=0.02), NEWER, "other versions: ray 2.60.0 before, 2.61.0 now"),
        (row(seconds=0.02), {}, "other hardware: 8xH100 before, not known now"),
        (row(seconds=0, status="failed", error="refused"), NODES, "failed now"),
        (row(seconds=0, status="corrupt"), NODES, "corrupt now"),
        (row(seconds=0.02, status="quantised"), NODES, "quantised now"),
        (row(seconds=0), NODES, "no figure now"),
    ],
)  # fmt: skip
def test_what_is_not_about_the_same_thing_is_incomparable(after: Run, nodes: dict[str, Any], reason: str) -> None:
    found = beside(row(seconds=0.01), after, nodes=nodes)
    assert (found.status, found.reason, found.change) == ("incomparable", reason, None)


def test_only_versions_that_matter_to_the_transport_make_it_incomparable() -> None:
    newer = {name: said | {"versions": {"ray": "2.60.0", "nixl": "1.6.0"}} for name, said in NODES.items()}
    before, after = bench(row(), nodes=NODES), bench(row(seconds=0.02), nodes=newer)
    assert regressions(before, after)[0].status == "incomparable"
    assert regressions(before, after, libraries={"gloo": ["ray"]})[0].status == "regressed"
    assert regressions(before, after, libraries={"gloo": ["nixl"]})[0].status == "incomparable"


def test_rows_that_one_side_lacks_are_told() -> None:
    before = bench(row(size=MIB), row(size=2 * MIB), row("nixl"))
    after = bench(row(size=MIB), row(size=4 * MIB))
    found = {(one.transport, one.size_bytes): one for one in regressions(before, after)}
    assert found["gloo", MIB].status == "same"
    assert found["gloo", 4 * MIB].reason == compare.NOT_IN_BASELINE
    assert found["gloo", 4 * MIB].before is None
    missed = found["gloo", 2 * MIB]
    assert (missed.reason, missed.after) == (compare.NOT_MEASURED, None)
    assert missed.before == pytest.approx(2 * MIB / 0.01, rel=0.01)
    assert ("nixl", MIB) not in found


def test_modes_and_destinations_are_not_mixed() -> None:
    before = bench(
        row(seconds=0.01), row(seconds=0.001, destination="reused"), row(seconds=0.001, mode="window", window=4)
    )
    assert next(one.status for one in regressions(before, bench(row(seconds=0.01)))) == "same"


def test_other_nodes_of_the_same_hardware_are_compared_and_others_are_not() -> None:
    old = {name: {"hardware": "8xH100"} for name in ("n1", "n2")}
    new = {name: {"hardware": "8xH100"} for name in ("m1", "m2")}
    ends = {"source": Endpoint("m1", "cpu"), "target": Endpoint("m2", "cpu")}
    before = bench(row(seconds=0.01), row(seconds=0.011, source=N2, target=N1), row(seconds=0.5, target=N1), nodes=old)
    (found,) = regressions(before, bench(row(seconds=0.02, **ends), nodes=new))[:1]
    assert (found.status, found.source.node) == ("regressed", "m1")
    assert found.reason is not None
    assert found.reason.endswith("of the same hardware")
    other = bench(row(seconds=0.02, **ends), nodes={"m1": {"hardware": "8xA100"}, "m2": {"hardware": "8xA100"}})
    assert regressions(before, other)[0].reason == compare.NOT_IN_BASELINE


VIRTIO = {"cpu": "EPYC", "cores": 2, "memory_gib": 24}


def hosts(**changes: Any) -> dict[str, Any]:
    return {name: {"hardware": {**VIRTIO, **changes}} for name in ("n1", "n2")}


def compared(before: dict[str, Any], after: dict[str, Any]) -> Regression:
    return regressions(bench(row(), nodes=before), bench(row(), nodes=after))[0]


def test_hardware_that_an_older_raxl_wrote_is_the_same_hardware() -> None:
    older = hosts(nics=["25000000000 bit/s, MTU 9000", "None bit/s, MTU 1400"])
    both = [{"speed_bits_per_second": 25 * 10**9, "mtu": 9000}, {"speed_bits_per_second": None, "mtu": 1400}]
    assert compared(older, hosts(nics=both)).status == "same"
    other = compared(older, hosts(nics=both[1:], memory_gib=64))
    assert (other.status, other.reason) == (
        "incomparable",
        "other hardware: GiB of memory 24 before, 64 now; NICs of 25 Gbit/s with MTU 9000 and of unknown speed with "
        "MTU 1400 before, of unknown speed with MTU 1400 now",
    )


def test_the_speed_of_a_nic_that_does_not_say_it_is_null() -> None:
    virtio = {"is_virtual": False, "speed_bits_per_second": None, "mtu": 1400}
    assert state._nics({"eth0": virtio, "veth0": {**virtio, "is_virtual": True}}) == [
        {"speed_bits_per_second": None, "mtu": 1400}
    ]


@settings(max_examples=150)
@given(st.floats(1e-6, 10), st.floats(1e-6, 10), st.floats(0, 0.99), st.sampled_from([8, MIB]))
def test_what_regressed_has_improved_when_the_sides_change(a: float, b: float, share: float, size: int) -> None:
    there = beside(row(size=size, seconds=a), row(size=size, seconds=b), share)
    back = beside(row(size=size, seconds=b), row(size=size, seconds=a), share)
    assert {there.status, back.status} != {"regressed"}
    assert {there.status, back.status} != {"improved"}
    assert there.status != "regressed" or a < b
    assert there.status != "improved" or b < a


@settings(max_examples=150)
@given(st.floats(1e-6, 10), st.sampled_from([8, MIB]))
def test_a_run_beside_itself_is_the_same(seconds: float, size: int) -> None:
    assert beside(row(size=size, seconds=seconds), row(size=size, seconds=seconds), 0).status == "same"
