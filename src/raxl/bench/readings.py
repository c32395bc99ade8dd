"""What the conductor tells of one row, before anything is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from raxl.model.measurement import Sync
from raxl.transfer import Taken, Transfer


class Row(NamedTuple):
    """One row as it was measured, or why it was not."""

    transport: str
    nodes: tuple[str, ...]
    """Names: the source, then the target; of a collective the ranks; of weight-sync the trainers, then the readers."""
    transfer: Transfer
    way: str
    """What the transport says that it goes over within a node: `memory`, `loopback`."""
    taken: Taken | None = None
    moved: Sequence[Mapping[str, tuple[int, int]]] = ()
    """By end: bytes received and sent, by device."""
    seconds: float = 0.0
    """From the first reading of the counters to the last."""
    sync: Sync | None = None
    failed: str | None = None
    unavailable: str | None = None


class Ends(NamedTuple):
    """What is known of the nodes at both ends, by `raxl.transfer.state`."""

    source: Mapping[str, Any]
    target: Mapping[str, Any]
    is_one_node: bool
