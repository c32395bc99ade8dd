"""Weight-sync by Ray's references: each trainer makes one for its part, and every reader gets what they stand for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from raxl.transfer import Ends, sync
from raxl.transfer.sync import Carrier, Moved


class Objects(Carrier):
    """Two rounds of messages: the references are there first, then the readers are told them."""

    rounds = 2

    def __init__(self, offer: Callable[..., Any], take: Callable[..., Any] | None = None) -> None:
        """`offer(state)` runs at a trainer and gives a list of one reference; `take(state, references)` at a reader and
        gives what is missing."""
        super().__init__()
        self._offer, self._take = offer, take or get

    def move(self, trainers: Ends, readers: Ends, iteration: int, seconds: float) -> Moved:
        begun = time.perf_counter()
        offering = [end.start(self._offer) for end in trainers]
        references = [reference for one in offering for reference in one.result(seconds)]
        published = time.perf_counter() - begun
        taking = [end.start(self._take, references) for end in readers]
        return Moved([one.result(seconds) for one in taking], published)


def get(state: dict[str, Any], references: list[Any]) -> str | None:
    """At a reader: what the references stand for, by trainer; what is missing of it."""
    import ray

    state["got"] = ray.get(references)
    return sync.holds(state)
