"""What nodes say of themselves before anything is measured, and what their devices carry meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from raxl.collect.ray_cluster import Tell
from raxl.transfer import FAILURES, counters, ray_ends, state
from raxl.transfer.ray_ends import RayEnd, RayPending

_IDLE_SECONDS = 0.2
"""So long the devices' counters are watched: what moves then is not raxl's."""


def look(witnesses: Mapping[str, RayEnd], tell: Tell) -> dict[str, dict[str, Any]]:
    """By node id, `raxl.transfer.state` and `idle_bytes_per_second` by device; each node is told, as is who says
    nothing."""
    asked = {node: (end.start(state.read, end.address), end.start(counters.read)) for node, end in witnesses.items()}
    looked: dict[str, dict[str, Any]] = {}
    before: dict[str, tuple[Mapping[str, tuple[int, int]], float]] = {}
    for node, (own, counted) in asked.items():
        if (told := _result(node, own, tell)) is not None and (first := _result(node, counted, tell)) is not None:
            looked[node], before[node] = told, (first, time.monotonic())
    time.sleep(_IDLE_SECONDS)
    again = {node: witnesses[node].start(counters.read) for node in looked}
    for node, pending in again.items():
        if (after := _result(node, pending, tell)) is None:
            del looked[node]
            continue
        first, since = before[node]
        seconds = time.monotonic() - since
        moved = counters.moved(first, after)
        looked[node]["idle_bytes_per_second"] = {name: sum(both) / seconds for name, both in moved.items()}
        tell("node", id=node, **looked[node])
    return looked


def _result(node: str, pending: RayPending, tell: Tell) -> Any:
    try:
        return pending.result(ray_ends.START_SECONDS)
    except FAILURES as error:
        tell("lost", id=node, why=str(error))
        return None
