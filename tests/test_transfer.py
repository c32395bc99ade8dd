"""What both ends of a transfer share: the bytes, how often they are sent, and who meets whom."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raxl.transfer import meeting, payload
from raxl.transfer.timing import timed

SIZES = [1, 7, 8, 9, 23, 24, 25, 4096, 1048573, 1048574, 3 << 20]


def sent(size: int, seed: int, iteration: int) -> bytearray:
    """A buffer as the source sends it in this transfer, all before it sent too."""
    buffer = bytearray(size)
    payload.fill(buffer, seed)
    for number in range(iteration + 1):
        payload.stamp(buffer, seed, number)
    return buffer


@pytest.mark.parametrize("size", SIZES)
def test_what_was_sent_is_what_is_expected(size: int) -> None:
    buffer = sent(size, 5, 12)
    assert payload.differs(buffer, 5, 12) is None
    assert payload.stamps_differ(buffer, 5, 12) is None


@given(st.sampled_from(SIZES[2:]), st.data())
def test_one_wrong_bit_anywhere_is_told_with_its_place(size: int, data: st.DataObject) -> None:
    place, bit = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, 7))
    buffer = sent(size, 1, 3)
    buffer[place] ^= 1 << bit
    assert str(payload.differs(buffer, 1, 3)).startswith(f"byte {place} of {size} is ")


@pytest.mark.parametrize("size", SIZES[2:])
def test_the_bytes_of_an_earlier_transfer_are_not_taken_for_this_ones(size: int) -> None:
    buffer = sent(size, 1, 3)
    assert payload.stamps_differ(buffer, 1, 4) == "transfer 4 did not bring its word at byte 0"
    assert payload.differs(buffer, 1, 4) is not None


@pytest.mark.parametrize("shift", [1, 8, 4096, 65536, 1 << 20])
def test_bytes_that_are_shifted_are_wrong(shift: int) -> None:
    buffer = sent(3 << 20, 1, 0)
    moved = buffer[shift:] + buffer[:shift]
    assert payload.differs(moved, 1, 0) is not None


def test_what_never_came_is_wrong() -> None:
    buffer = bytearray(1 << 20)
    payload.poison(buffer)
    assert payload.stamps_differ(buffer, 1, 0) is not None
    assert payload.differs(buffer, 1, 0) is not None


def test_another_seed_gives_other_bytes() -> None:
    assert payload.differs(sent(4096, 1, 0), 2, 0) is not None


def test_the_first_transfer_is_kept_apart_and_warming_up_ends_when_two_medians_agree() -> None:
    times = itertools.chain([1.0], [0.3, 0.2, 0.1] + 17 * [0.01], itertools.repeat(0.01))
    told = timed(lambda _: next(times), most=50, seconds=5.0)
    assert told.cold == 1.0
    assert 10 <= told.warmup <= 20
    assert set(told.samples) == {0.01}


def test_measuring_stops_when_the_median_is_known_and_not_before_twelve_samples() -> None:
    told = timed(lambda _: 0.01, most=200, seconds=5.0)
    assert (len(told.samples), told.stopped) == (12, "steady")


def test_noise_is_measured_until_the_samples_are_spent() -> None:
    times = itertools.cycle([0.01, 0.03, 0.02])
    told = timed(lambda _: next(times), most=40, seconds=5.0)
    assert (len(told.samples), told.stopped) == (40, "samples")


def test_there_are_six_samples_however_long_they_take_and_three_of_what_exceeds_the_budget() -> None:
    assert len(timed(lambda _: 0.02, most=50, seconds=0.03).samples) >= 6
    assert len(timed(lambda _: 2.0, most=50, seconds=0.0).samples) == 3


def test_each_step_has_the_next_number() -> None:
    seen: list[int] = []
    timed(lambda number: seen.append(number) or 0.001, most=20, seconds=1.0)  # type: ignore[func-returns-value]
    assert seen == list(range(len(seen)))


def test_ends_meet_in_every_round_and_send_in_both_directions() -> None:
    names = ["a", "b", "c", "d"]
    rounds = [[("a", "b"), ("c", "d")], [("a", "c"), ("d", "b")], [("d", "a"), ("b", "c")]]
    states: dict[str, dict[str, object]] = {name: {} for name in names}
    ports = {name: meeting.listen(states[name], "127.0.0.1") for name in names}
    mine: dict[str, list[meeting.Meeting]] = {name: [] for name in names}
    for number, pairs in enumerate(rounds):
        for first, second in pairs:
            mine[first].append(meeting.Meeting(number, second, "127.0.0.1", ports[second], True))
            mine[second].append(meeting.Meeting(number, first, "127.0.0.1", ports[first], False))
    found: dict[str, list[meeting.Sent]] = {}

    def meet(name: str) -> None:
        found[name] = meeting.meet(states[name], mine[name], 1 << 16, 0.02)

    threads = [threading.Thread(target=meet, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for name in names:
        meeting.leave(states[name])
    told = {(one.round, name, one.peer) for name, ones in found.items() for one in ones if one.samples}
    both = {(number, *pair) for number, pairs in enumerate(rounds) for pair in pairs}
    assert told == both | {(number, b, a) for number, a, b in both}


def test_a_peer_that_never_comes_is_told_and_the_next_round_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "_MEET_SECONDS", 0.2)
    state: dict[str, object] = {}
    port = meeting.listen(state, "127.0.0.1")
    absent = meeting.Meeting(0, "gone", "127.0.0.1", 1, False)
    refused = meeting.Meeting(1, "closed", "127.0.0.1", 1, True)
    first, second = meeting.meet(state, [absent, refused], 1024, 0.01)
    meeting.leave(state)
    assert port > 0
    assert (first.samples, first.error) == ([], "TimeoutError: nobody came within 0.2 s")
    assert second.samples == []
    assert str(second.error).startswith("ConnectionRefusedError")
