"""A list of tensors from training actors to inference actors, again and again: weight-sync.

Each trainer holds its part of the list, every reader gets all parts. The driver orders each transfer, as the controller
of a training job does, and keeps the one clock: it runs from the first message that tells the ends to begin until the
last reader has answered, and a reader answers when it holds the last word of every tensor. What a transport has to do
before anyone can read (a put, a registration) is in it. What the messages alone take, of the same calls with nothing in
them, is measured and told beside it (`Taken.messages_seconds`); it is not taken off.

Outside of the clock the trainers change words of every tensor before each transfer, the readers compare these words
after it, and all bytes after the last one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from raxl.transfer import EndFailed, Ends, Pending, Taken, Transfer, payload, tensor_bytes
from raxl.transfer.dealing import deal
from raxl.transfer.statistics import median
from raxl.transfer.tensor_bytes import Part
from raxl.transfer.timing import timed

_LEAST_SECONDS, _LEAST_RATE = 60.0, 50e6
"""A transfer is given up after so long, and the time at so many bytes a second on top."""
_EMPTY_ROUNDS = 5


class Moved(NamedTuple):
    """One transfer, when the last reader has answered."""

    answers: Sequence[str | None]
    """By reader, what it misses."""
    publish_seconds: float | None = None
    left: Sequence[Pending] = ()
    """What is still to be heard from the trainers."""


class Carrier:
    """What of it is a transport's own. The functions run at an end; see `write` and `clear` for theirs."""

    write: Callable[..., Any]
    clear: Callable[..., Any]
    rounds = 1
    """How often the ends are told something in one transfer: 2, where readers are told what the trainers answered."""

    def __init__(self) -> None:
        self.write, self.clear = write, clear

    def prepare(self, trainers: Ends, readers: Ends, transfer: Transfer, seconds: float) -> None:
        """When the ends know their parts: what the transport needs for this list."""

    def move(self, trainers: Ends, readers: Ends, iteration: int, seconds: float) -> Moved:
        """One transfer."""
        raise NotImplementedError

    def finish(self, trainers: Ends, readers: Ends, taken: Taken) -> None:
        """What it has to add to the row."""


class SyncSession:
    """A transport that is set up between trainers and readers."""

    def __init__(self, trainers: Ends, readers: Ends, carrier: Carrier, setup_seconds: float = 0.0) -> None:
        self._trainers, self._readers, self._carrier = trainers, readers, carrier
        self._setup_seconds = setup_seconds

    def measure(self, transfer: Transfer) -> Taken:
        trainers, readers, carrier = self._trainers, self._readers, self._carrier
        seconds = patience(transfer.size_bytes, len(readers))
        parts = dealt(transfer, len(trainers))
        holding = [end.start(hold, part) for end, part in zip(trainers, parts)]
        _all([*holding, *(end.start(expect, parts, transfer.destination) for end in readers)], seconds)
        carrier.prepare(trainers, readers, transfer, seconds)
        taken = Taken(messages_seconds=median(self._empty(seconds) for _ in range(_EMPTY_ROUNDS)))
        publishing: list[float] = []

        def step(iteration: int) -> float:
            cleared = [end.start(carrier.clear, iteration) for end in readers]
            _all([end.start(carrier.write, iteration) for end in trainers], seconds)
            wrong = _all(cleared, seconds)
            begun = time.perf_counter()
            moved = carrier.move(trainers, readers, iteration, seconds)
            gone = time.perf_counter() - begun
            _all(moved.left, seconds)
            taken.wrong = taken.wrong or _first([*wrong, *moved.answers])
            if moved.publish_seconds is not None:
                publishing.append(moved.publish_seconds)
            return gone

        told = timed(step, transfer.most_samples, transfer.seconds, transfer.least_seconds)
        taken.took(told)
        if publishing:
            taken.phases["publish"] = median(publishing[-len(told.samples) :])
        if self._setup_seconds:
            taken.phases["setup"] = self._setup_seconds
        taken.arrived = transfer.size_bytes * taken.transfers * _beside(readers)
        carrier.finish(trainers, readers, taken)
        verifying = [end.start(verify, taken.transfers - 1, transfer.is_damaged) for end in readers]
        verified = _all(verifying, seconds)
        taken.wrong = taken.wrong or _first([wrong for wrong, _ in verified])
        taken.verified = taken.wrong is None
        taken.phases["verify"] = max(took for _, took in verified)
        return taken

    def _empty(self, seconds: float) -> float:
        """The seconds of a transfer of nothing."""
        trainers, readers = self._trainers, self._readers
        begun = time.perf_counter()
        if self._carrier.rounds == 1:
            left = [end.start(nothing) for end in trainers]
        else:
            left = []
            _all([end.start(nothing) for end in trainers], seconds)
        _all([end.start(nothing) for end in readers], seconds)
        gone = time.perf_counter() - begun
        _all(left, seconds)
        return gone

    def close(self) -> None:
        """Nothing to give back: the ends are thrown away."""


def patience(size: int, readers: int) -> float:
    """So many seconds one transfer may take."""
    return _LEAST_SECONDS + size * readers / _LEAST_RATE


def dealt(transfer: Transfer, trainers: int) -> list[Part]:
    """Each trainer's part. Raises `EndFailed` where there is none for one of them."""
    hands = deal(transfer.sizes, trainers)
    if not all(hands):
        raise EndFailed(f"{len(transfer.sizes)} tensors are too few for {trainers} trainers")
    seeds = range(1000 * transfer.seed, 1000 * transfer.seed + trainers)
    return [Part(seed, tuple(transfer.sizes[place] for place in hand)) for seed, hand in zip(seeds, hands)]


def hold(state: dict[str, Any], part: Part) -> None:
    """At a trainer: its tensors, in memory of the host, each of its own."""
    state["part"] = part
    state["buffers"] = [bytearray(size) for size in part.sizes]
    tensor_bytes.fill(state["buffers"], part)


def write(state: dict[str, Any], iteration: int) -> None:
    """At a trainer: the weights of the next transfer."""
    tensor_bytes.stamp(state["buffers"], state["part"], iteration)


def expect(state: dict[str, Any], parts: Sequence[Part], destination: str) -> None:
    """At a reader: what will come, by trainer. What came is kept as `got`, and read by `read`."""
    state.update(parts=parts, destination=destination, got=None, read=bytes_of)


def clear(state: dict[str, Any], iteration: int) -> str | None:
    """At a reader, before each transfer: makes ready for it; what the one before did not bring."""
    wrong = None
    if state["got"] is not None and iteration:
        before = [
            [tensor_bytes.words(part, n, iteration - 1) for n in range(len(part.sizes))] for part in state["parts"]
        ]
        wrong = _missed(state, before)
    state["got"] = None
    state["lasts"] = [tensor_bytes.lasts(part, iteration) for part in state["parts"]]
    return wrong


def holds(state: dict[str, Any]) -> str | None:
    """At a reader, within the clock: what is missing of the last words of all tensors."""
    return _missed(state, state["lasts"])


def verify(state: dict[str, Any], iteration: int, is_damaged: bool) -> tuple[str | None, float]:
    """At a reader: where any byte of the last transfer is wrong, and the seconds to compare all."""
    got = [list(tensors) for tensors in state["got"]]
    read: tensor_bytes.Read = state["read"]
    if is_damaged:
        damaged = bytearray(read(got[0][0]))  # what the store holds is not to be written
        payload.damage(damaged)
        got[0][0] = damaged

    def of_any(tensor: Any) -> memoryview:
        return memoryview(tensor) if isinstance(tensor, bytearray) else read(tensor)

    begun = time.perf_counter()
    wrong = None
    for number, (tensors, part) in enumerate(zip(got, state["parts"])):
        told = tensor_bytes.differs(tensors, part, iteration, of_any)
        wrong = wrong or (told and f"of trainer {number}, {told}")
    return wrong, time.perf_counter() - begun


def bytes_of(tensor: Any) -> memoryview:
    """The bytes of what is a buffer."""
    return memoryview(tensor).cast("B")


def nothing(state: dict[str, Any]) -> None:
    """At any end: a message, and its answer."""


def _missed(state: dict[str, Any], expected: Sequence[Any]) -> str | None:
    for number, tensors in enumerate(state["got"]):
        wrong = tensor_bytes.words_differ(tensors, expected[number], state["read"])
        if wrong is not None:
            return f"of trainer {number}, {wrong}"
    return None


def _all(pending: Sequence[Pending], seconds: float) -> list[Any]:
    return [one.result(seconds) for one in pending]


def _first(told: Sequence[str | None]) -> str | None:
    return next((wrong for wrong in told if wrong is not None), None)


def _beside(readers: Ends) -> int:
    """How many readers share the node of the first one."""
    return sum(end.node_id == readers[0].node_id for end in readers)
