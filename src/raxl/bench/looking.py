"""What nodes say of themselves before anything is measured, and what their devices carry meanwhile."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from raxl.collect.ray_cluster import Tell
from raxl.transfer import counters, ray_ends, state
from raxl.transfer.ray_ends import RayEnd

_IDLE_SECONDS = 0.2
"""So long the devices' counters are watched: what moves then is not raxl's."""


def look(witnesses: Mapping[str, RayEnd], tell: Tell) -> dict[str, dict[str, Any]]:
    """By node id, `raxl.transfer.state` and `idle_bytes_per_second` by device; each node is told, as is who says
    nothing."""

    def lost(node: str, why: str) -> None:
        tell("lost", id=node, why=why)

    own = {node: end.start(state.read, end.address) for node, end in witnesses.items()}
    looked: dict[str, dict[str, Any]] = ray_ends.answers(own, ray_ends.START_SECONDS, lost)
    counted = {node: witnesses[node].start(counters.read) for node in looked}
    before, since = ray_ends.answers(counted, ray_ends.START_SECONDS, lost), time.monotonic()
    time.sleep(_IDLE_SECONDS)
    again = {node: witnesses[node].start(counters.read) for node in before}
    after, seconds = ray_ends.answers(again, ray_ends.START_SECONDS, lost), time.monotonic() - since
    for node in after:
        moved = counters.moved(before[node], after[node])
        looked[node]["idle_bytes_per_second"] = {name: sum(both) / seconds for name, both in moved.items()}
        tell("node", id=node, **looked[node])
    return {node: looked[node] for node in after}
