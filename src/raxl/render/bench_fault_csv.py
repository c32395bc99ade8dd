"""The faults of a benchmark as comma-separated values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raxl.model.measurement import Fault
from raxl.render import csv_table

_COLUMNS: Mapping[str, str] = {
    "transport": "transport",
    "source_node": "source.node",
    "source_device": "source.device",
    "target_node": "target.node",
    "target_device": "target.device",
    "fault": "kind",
    "size_bytes": "size_bytes",
    "status": "status",
    "seconds_to_error": "seconds_to_error",
    "error": "error",
    "other_end": "other_end",
    "left_memory_bytes": "left.memory_bytes",
    "left_sockets": "left.sockets",
    "left_shared_memory_bytes": "left.shared_memory_bytes",
    "left_actors": "left.actors",
    "next_transfer": "next_transfer",
}
"""Where in a fault each column's value is. New ones come at the end."""


def comma_separated(found: Sequence[Fault]) -> str:
    """The heading and a line for each fault, in the order in which they were tried."""
    return csv_table.table(_COLUMNS, found)
