"""Which node or link is slow: the table of simulations, a few nodes, groups of links; and nobody when all is well."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raxl.bench import screening
from raxl.bench.intermittent import at_least
from raxl.bench.schedule import Place, Round, all_pairs, by_topology
from raxl.bench.schedule import screening as rounds_of
from raxl.bench.scores import Measured, deviation, judged
from raxl.model.measurement import Slow
from screened import RATE, measure, names


def drawn(count: int, few: int, seed: int) -> set[str]:
    return set(random.Random(seed).sample(names(count), few))


def exact(plan: Sequence[Round], seed: int, link: Callable[[str, str], float]) -> list[Measured]:
    """Each figure is the median of fifteen transfers."""
    return measure(plan, seed, link=link, noise=0.005, stalls=0, transfers=15)


def told(found: tuple[Slow, ...]) -> set[tuple[str, str, str]]:
    return {(one.kind, one.subject, one.direction) for one in found}


@pytest.mark.parametrize(("count", "few", "seeds"), [(1024, 50, 3), (1024, 5, 3), (256, 20, 10), (20, 3, 60)])
def test_slow_nodes_of_many_are_all_named_and_no_other(count: int, few: int, seeds: int) -> None:
    """Each loses a fifth. Six rounds: recall 1.00, and nobody for nothing, but once where a tenth of few is slow."""
    false = 0
    for seed in range(seeds):
        slow = drawn(count, few, seed)
        share = dict.fromkeys(slow, 0.8)
        found = told(screening.slow(measure(rounds_of(names(count), seed), seed, share, share)))
        assert found >= {("node", name, "both") for name in slow}
        false += len(found) - len(slow)
    assert false <= (0 if count == 1024 else 1)


def test_three_slow_nodes_of_sixteen_are_named_in_four_rounds() -> None:
    named, false = 0, 0
    for seed in range(100):
        slow = drawn(16, 3, seed)
        share = dict.fromkeys(slow, 0.8)
        found = {one.subject for one in screening.slow(measure(rounds_of(names(16), seed), seed, share, share))}
        named += len(found & slow)
        false += len(found - slow)
    assert named == 300
    assert false <= 5


@pytest.mark.parametrize("count", [2, 4, 7, 8, 16, 64])
def test_in_a_healthy_cluster_nobody_is_named(count: int) -> None:
    for seed in range(200):
        measured = measure(rounds_of(names(count), seed), seed)
        assert screening.slow(measured) == (), seed
        if count < 8:
            assert screening.slow(measured, ceiling=RATE) == (), seed


def test_in_a_healthy_cluster_of_a_thousand_nobody_is_named() -> None:
    for seed in range(3):
        assert screening.slow(measure(rounds_of(names(1024), seed), seed)) == ()


@pytest.mark.parametrize("ceiling", [None, RATE])
@pytest.mark.parametrize("way", ["sends", "receives", "both"])
@pytest.mark.parametrize("count", [4, 5, 7, 12, 64])
def test_one_slow_host_is_named_with_its_direction(count: int, way: str, ceiling: float | None) -> None:
    for seed in range(20):
        share = {"n3": 0.7}
        sends, receives = (share if way in (direction, "both") else {} for direction in ("sends", "receives"))
        measured = measure(rounds_of(names(count), seed), seed, sends, receives)
        assert told(screening.slow(measured, ceiling)) == {("node", "n3", way)}, seed


def test_one_slow_host_of_four_on_ideal_links_is_told_with_its_figures() -> None:
    """As measured in the lab: three rounds of two pairs, 1 Gbit/s, and node 3 at 700 Mbit/s."""
    share = {"n2": 0.7}
    measured = measure(all_pairs(names(4)), 0, share, share, noise=0, stalls=0, transfers=15)
    (slow,) = screening.slow(measured, transport="object-store")
    assert (slow.kind, slow.subject, slow.direction) == ("node", "n2", "both")
    assert slow.evidence.best_bytes_per_second * 8e-9 == pytest.approx(0.6695, abs=1e-4)
    assert slow.evidence.peers_bytes_per_second * 8e-9 == pytest.approx(0.9564, abs=1e-4)
    assert len(slow.evidence.pairs) == 4
    assert {pair.split()[-1] for pair in slow.evidence.pairs} == {"0.669"}
    assert all("n2" in pair for pair in slow.evidence.pairs)
    assert (slow.evidence.slow_rounds, slow.evidence.rounds) == (3, 3)
    start, _, pairs = slow.next_command.rpartition(" ")
    assert start == "raxl bench-transport --cluster --transport object-store --pairs"
    assert sorted(pairs.split(",")) == ["n2:n0", "n2:n1", "n2:n3"]


@pytest.mark.parametrize("ceiling", [None, RATE])
@pytest.mark.parametrize("count", [3, 4, 7, 12])
def test_one_slow_direction_of_one_pair_is_a_link(count: int, ceiling: float | None) -> None:
    for seed in range(20):
        plan = all_pairs(names(count))
        measured = exact(plan, seed, lambda a, b: 0.5 if (a, b) == ("n1", "n2") else 1.0)
        (slow,) = screening.slow(measured, ceiling)
        assert (slow.kind, slow.subject, slow.direction) == ("link", "n1 → n2", "sends")
        assert slow.next_command == "raxl bench-transport --cluster --pairs n1:n2"


def test_a_pair_that_is_slow_to_and_fro_is_one_link() -> None:
    plan = rounds_of(names(4))
    measured = measure(plan, 1, link=lambda a, b: 0.5 if {a, b} == {"n1", "n2"} else 1.0)
    assert told(screening.slow(measured)) == {("link", "n1 → n2", "both")}


def test_between_two_nodes_the_link_is_named_for_neither_can_be_told_apart() -> None:
    one_way = measure(rounds_of(names(2)), 0, sends={"n0": 0.5})
    assert told(screening.slow(one_way)) == {("link", "n0 → n1", "sends")}
    both_ways = measure(rounds_of(names(2)), 0, sends={"n0": 0.5, "n1": 0.5})
    assert screening.slow(both_ways) == ()
    assert told(screening.slow(both_ways, ceiling=RATE)) == {("link", "n0 → n1", "both")}


def test_a_ceiling_that_nobody_comes_near_blames_nobody() -> None:
    share = {"n3": 0.7}
    measured = measure(rounds_of(names(4)), 0, share, share)
    assert told(screening.slow(measured, ceiling=10 * RATE)) == {("node", "n3", "both")}
    assert screening.slow(measure(rounds_of(names(4)), 0), ceiling=10 * RATE) == ()


def test_one_slow_transfer_is_no_slow_link() -> None:
    measured = measure(all_pairs(names(4)), 0, noise=0, stalls=0)
    first = measured[0]._replace(bandwidth_bytes_per_second=0.5 * RATE)
    assert screening.slow([first, *measured[1:]]) == ()
    assert len(screening.slow([first._replace(transfers=3), *(one._replace(transfers=3) for one in measured[1:])])) == 1


def test_slow_and_slow_together_are_two_nodes_and_no_link() -> None:
    share = {"n0": 0.7, "n1": 0.5}
    found = screening.slow(measure(rounds_of(names(5)), 3, share, share))
    assert told(found) == {("node", "n0", "both"), ("node", "n1", "both")}
    for one in found:
        partners = {pair.split(":")[1] for pair in one.next_command.split()[-1].split(",")}
        assert partners == {"n2", "n3", "n4"}


def test_a_node_that_is_slow_now_and_then_is_named_and_its_partners_are_not() -> None:
    """Slow in seven of ten rounds: most are named in six rounds, nearly all in twelve, nobody else ever."""
    for rounds, least in ((6, 0.6), (12, 0.97)):
        named = 0
        for seed in range(25):
            bad = drawn(64, 2, seed)
            plan = rounds_of(names(64), seed, rounds)
            found = screening.slow(measure(plan, seed, sometimes=dict.fromkeys(bad, 0.7)))
            assert {one.subject for one in found} <= bad, seed
            named += len(found)
        assert named / 50 >= least


def test_what_is_told_of_such_a_node_says_that_its_best_is_good() -> None:
    plan = rounds_of(names(32), 4, 12)
    (slow,) = screening.slow(measure(plan, 5, sometimes={"n9": 0.6}))
    assert (slow.kind, slow.subject, slow.direction) == ("node", "n9", "both")
    assert slow.evidence.best_bytes_per_second > 0.95 * slow.evidence.peers_bytes_per_second
    assert slow.evidence.slow_rounds is not None
    assert 4 <= slow.evidence.slow_rounds < (slow.evidence.rounds or 0) == 12


def leaves(count: int, size: int) -> dict[str, Place]:
    return {f"n{n}": Place(f"l{n // size}") for n in range(count * size)}


def from_leaf(places: dict[str, Place], source: str, target: str, share: float) -> Callable[[str, str], float]:
    return lambda a, b: share if (places[a].leaf, places[b].leaf) == (source, target) else 1.0


@pytest.mark.parametrize(("count", "size"), [(2, 8), (3, 6), (4, 8), (12, 8)])
def test_one_slow_way_between_two_leaves_is_named_and_no_node(count: int, size: int) -> None:
    places = leaves(count, size)
    for seed in range(96 // count // 4):
        plan = (*rounds_of(list(places), seed), *by_topology(places, seed))
        measured = measure(plan, seed, link=from_leaf(places, "l0", "l1", 0.6))
        (slow,) = screening.slow(measured, places=places)
        assert (slow.kind, slow.subject, slow.direction) == ("link", "leaf l0 → leaf l1", "sends"), seed
        assert slow.evidence.best_bytes_per_second < 0.65 * RATE
        first = slow.next_command.split()[-1].split(",")[0].split(":")
        assert [places[end].leaf for end in first] == ["l0", "l1"]


def test_a_slow_way_and_a_slow_node_are_told_apart() -> None:
    places = leaves(4, 8)
    for seed in range(10):
        plan = (*rounds_of(list(places), seed), *by_topology(places, seed))
        share = {"n20": 0.7}
        measured = measure(plan, seed, share, share, link=from_leaf(places, "l0", "l1", 0.6))
        expected = {("node", "n20", "both"), ("link", "leaf l0 → leaf l1", "sends")}
        assert told(screening.slow(measured, places=places)) == expected, seed


def test_a_healthy_fabric_names_no_leaf_and_no_rail() -> None:
    places = {f"n{n}": Place(f"l{n // 8}", f"r{n % 4}") for n in range(64)}
    for seed in range(30):
        plan = (*rounds_of(list(places), seed), *by_topology(places, seed))
        assert screening.slow(measure(plan, seed), places=places) == (), seed


def test_a_slow_rail_is_named() -> None:
    places = {f"n{n}": Place(None, f"r{n % 4}") for n in range(32)}
    rail = {name for name, place in places.items() if place.rail == "r2"}
    for seed in range(10):
        plan = by_topology(places, seed, each=8)
        measured = measure(plan, seed, link=lambda a, b: 0.5 if {a, b} <= rail else 1.0)
        assert told(screening.slow(measured, places=places)) == {("link", "rail r2", "both")}, seed


def test_without_places_a_slow_uplink_blames_no_node_for_being_slow_now_and_then() -> None:
    """Half of the rounds are slow. A node whose every partner was behind the link is named: one of 64, on average."""
    places = leaves(2, 32)
    named = 0
    for seed in range(10):
        slow_uplink = from_leaf(places, "l0", "l1", 0.6)
        found = screening.slow(measure(rounds_of(list(places), seed), seed, link=slow_uplink))
        assert all(one.evidence.slow_rounds == one.evidence.rounds for one in found), seed
        named += len(found)
    assert named <= 20


def test_measured_again_alone_tells_a_shared_link_from_a_cable() -> None:
    assert screening.slow_when(0.6, 1.0, 1.0) == "together"
    assert screening.slow_when(0.6, 0.6, 1.0) == "alone"
    assert screening.slow_when(0.99, 1.0, 1.0) is None


def test_on_ideal_links_a_hundredth_of_the_median_is_the_spread() -> None:
    scores = {f"n{n}": 1.0 for n in range(9)} | {"slow": 0.949}
    assert deviation(list(scores.values())) == 0
    rule = judged(scores, None)
    assert rule.reference == 1.0
    assert rule.limit == pytest.approx(0.95)


def test_a_wide_spread_makes_no_outlier() -> None:
    scores = {f"n{n}": 1.0 + 0.05 * n for n in range(10)}
    assert min(scores.values()) > judged(scores, None).limit


def test_nothing_measured_names_nobody() -> None:
    assert screening.slow([]) == ()
    assert screening.slow([Measured(0, "a", "b", 1e9)]) == ()


def test_chance_is_binomial() -> None:
    assert at_least(0, 5, 0.3) == pytest.approx(1)
    assert at_least(2, 2, 0.5) == pytest.approx(0.25)
    assert at_least(1, 3, 0.5) == pytest.approx(0.875)


@settings(max_examples=60)
@given(st.integers(2, 24), st.integers(0, 1 << 20), st.floats(1e3, 1e12))
def test_the_verdict_depends_on_no_unit_and_on_no_order(count: int, seed: int, factor: float) -> None:
    share = {"n1": 0.6}
    measured = measure(rounds_of(names(count), seed), seed, share, share)
    expected = told(screening.slow(measured))
    scaled = [one._replace(bandwidth_bytes_per_second=one.bandwidth_bytes_per_second * factor) for one in measured]
    assert told(screening.slow(scaled)) == expected
    mixed = random.Random(seed).sample(measured, len(measured))
    assert {one.subject.split(" → ")[-1] for one in screening.slow(mixed)} <= {"n0", "n1", *names(count)}
    if count > 2:
        assert told(screening.slow(mixed)) == expected == {("node", "n1", "both")}
