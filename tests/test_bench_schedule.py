"""Which pairs are measured at once: nobody twice in a round, nobody forgotten."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raxl.bench.schedule import Place, Round, all_pairs, alone, by_topology, packed, screening


def names(count: int) -> list[str]:
    return [f"n{number}" for number in range(count)]


def met(rounds: tuple[Round, ...]) -> Counter[frozenset[str]]:
    return Counter(frozenset(pair) for pairs in rounds for pair in pairs)


def check(rounds: tuple[Round, ...]) -> None:
    for pairs in rounds:
        busy = [end for pair in pairs for end in pair]
        assert len(busy) == len(set(busy))


@pytest.mark.parametrize("count", range(26))
def test_all_pairs_meet_once_in_the_fewest_rounds(count: int) -> None:
    rounds = all_pairs(names(count))
    check(rounds)
    assert met(rounds) == Counter(frozenset(pair) for pair in combinations(names(count), 2))
    assert len(rounds) == (0 if count < 2 else count - 1 + count % 2)
    assert all(len(pairs) == count // 2 for pairs in rounds)


@settings(max_examples=100)
@given(st.integers(8, 120), st.integers(0, 1 << 30))
def test_screening_gives_everyone_another_partner_in_each_round(count: int, seed: int) -> None:
    rounds = screening(names(count), seed)
    check(rounds)
    assert len(rounds) == (4 if count <= 16 else 6)
    assert max(met(rounds).values()) == 1
    took_part = Counter(end for pairs in rounds for pair in pairs for end in pair)
    assert set(took_part) == set(names(count))
    assert min(took_part.values()) >= len(rounds) - count % 2
    assert rounds == screening(names(count), seed)


def test_another_seed_draws_other_pairs() -> None:
    assert screening(names(64), 1) != screening(names(64), 2)
    assert len(screening(names(1024), 3, rounds=9)) == 9


@pytest.mark.parametrize("count", range(2, 8))
def test_few_ends_meet_all_others_three_times(count: int) -> None:
    rounds = screening(names(count))
    check(rounds)
    assert set(met(rounds).values()) == {3}
    assert len(met(rounds)) == count * (count - 1) // 2


def test_one_end_has_nobody_to_meet() -> None:
    assert screening(["alone"]) == screening([]) == all_pairs([]) == ()


@settings(max_examples=60)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 8), st.integers(0, 1 << 20))
def test_every_leaf_every_two_leaves_and_every_rail_are_met(leaves: int, size: int, each: int, seed: int) -> None:
    places = {f"l{leaf}n{n}": Place(f"l{leaf}", f"r{n}") for leaf in range(leaves) for n in range(size)}
    rounds = by_topology(places, seed, each)
    check(rounds)
    pairs = Counter[tuple[str, str]]()
    for pair, times in met(rounds).items():
        one, other = sorted(places[end].leaf or "" for end in pair)
        pairs[one, other] += times
    for one in range(leaves):
        for other in range(one, leaves):
            assert pairs[f"l{one}", f"l{other}"] >= (each if one != other or size > 1 else 0)


def test_a_slow_end_takes_no_part_in_the_second_pass() -> None:
    places = {f"n{n}": Place("a" if n < 4 else "b") for n in range(8)}
    assert not any("n3" in pair for pairs in by_topology(places, without=["n3"]) for pair in pairs)
    assert by_topology({"n0": Place(), "n1": Place()}) == ()


def test_small_groups_repeat_their_pairs_and_large_ones_use_many_ends() -> None:
    two = met(by_topology({"a": Place("x"), "b": Place("y")}, each=6))
    assert two == {frozenset("ab"): 6}
    many = by_topology({f"{leaf}{n}": Place(leaf) for leaf in "xy" for n in range(12)}, each=6)
    assert max(met(many).values()) == 1


def test_pairs_are_packed_together_or_stay_alone() -> None:
    pairs = [("a", "b"), ("c", "d"), ("a", "c"), ("b", "d")]
    assert packed(pairs) == ((("a", "b"), ("c", "d")), (("a", "c"), ("b", "d")))
    assert alone(pairs) == tuple((pair,) for pair in pairs)


def test_thousands_of_ends_are_planned_quickly() -> None:
    places = {f"n{n}": Place(f"leaf{n % 32}", f"rail{n % 8}") for n in range(1024)}
    check(by_topology(places))
