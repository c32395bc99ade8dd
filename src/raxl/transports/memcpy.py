"""`memcpy`: one end copies within its own process.

It is the ceiling of all that ends in memory. Between two nodes it is measured at the target alone, where the data of
the other transports arrives.
"""

from __future__ import annotations

import time
from typing import Any, Mapping

from raxl.model.measurement import FRESH, P2P
from raxl.transfer import TARGET, Ends, Taken, Transfer, memory, payload
from raxl.transfer.timing import timed


class Memcpy:
    """A copy by one thread."""

    transport = "memcpy"
    patterns = (P2P,)
    devices = ("cpu",)
    needs_tensor_transport = False
    way = TARGET

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> MemcpySession:
        return MemcpySession(ends)


class MemcpySession:
    """The target's end."""

    def __init__(self, ends: Ends) -> None:
        source, self._target = ends
        self._is_apart = source.node_id != self._target.node_id

    def measure(self, transfer: Transfer) -> Taken:
        seconds = 3 * (transfer.seconds + transfer.least_seconds) + 60.0
        taken: Taken = self._target.call(copy, transfer, seconds=seconds)
        taken.remark = f"within {self._target.node} alone" if self._is_apart else None
        return taken

    def close(self) -> None:
        pass


def copy(state: dict[str, Any], transfer: Transfer) -> Taken:
    """A row."""
    size = transfer.size_bytes
    source, target = bytearray(size), memoryview(bytearray(size))
    payload.fill(source, transfer.seed)
    payload.poison(target)
    told = Copied(source, target)

    def step(iteration: int) -> float:
        payload.stamp(source, transfer.seed, iteration)
        if transfer.destination == FRESH:
            told.target = memory.fresh(size)
        view = told.target
        begun = time.perf_counter()
        view[:] = source
        seconds = time.perf_counter() - begun
        told.wrong = told.wrong or payload.stamps_differ(view, transfer.seed, iteration)
        told.last = iteration
        return seconds

    samples = timed(step, transfer.most_samples, transfer.seconds, transfer.least_seconds)
    wrong, seconds = payload.verified(told.target, transfer.seed, told.last, transfer.is_damaged)
    wrong = told.wrong or wrong
    return Taken(phases={"verify": seconds}, wrong=wrong, verified=wrong is None).took(samples)


class Copied:
    """Where the last copy went, and what was wrong with any."""

    def __init__(self, source: bytearray, target: memoryview) -> None:
        self.target, self.last = target, 0
        self.wrong: str | None = None
