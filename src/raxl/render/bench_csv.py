"""A benchmark as comma-separated values: a line for each run, or each fault; an empty cell for what is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from raxl.model.measurement import Bench, Fit, Moved, Run
from raxl.render import bench_fault_csv, csv_table

_COLUMNS: Mapping[str, str] = {
    "transport": "transport",
    "source_node": "source.node",
    "source_device": "source.device",
    "target_node": "target.node",
    "target_device": "target.device",
    "pattern": "pattern",
    "mode": "mode",
    "window": "window",
    "destination": "destination",
    "size_bytes": "size_bytes",
    "status": "status",
    "verified": "verified",
    "iterations": "iterations",
    "warmup": "warmup",
    "samples": "samples",
    "stalls": "stalls",
    "latency_p50_seconds": "latency_seconds.p50",
    "latency_p95_seconds": "latency_seconds.p95",
    "latency_p99_seconds": "latency_seconds.p99",
    "latency_min_seconds": "latency_seconds.min",
    "latency_max_seconds": "latency_seconds.max",
    "bandwidth_bytes_per_second": "bandwidth_bytes_per_second.median",
    "bandwidth_ci95_low_bytes_per_second": "bandwidth_bytes_per_second.ci95_low",
    "bandwidth_ci95_high_bytes_per_second": "bandwidth_bytes_per_second.ci95_high",
    "bus_bandwidth_bytes_per_second": "bus_bandwidth_bytes_per_second",
    "ceiling": "ceiling.name",
    "ceiling_bytes_per_second": "ceiling.bandwidth_bytes_per_second",
    "ceiling_ratio": "ceiling.ratio",
    "limiter": "limiter",
    "setup_seconds": "phases.setup",
    "register_seconds": "phases.register",
    "publish_seconds": "phases.publish",
    "fetch_seconds": "phases.fetch",
    "verify_seconds": "phases.verify",
    "cold_seconds": "cold_seconds",
    "end_to_end_seconds": "end_to_end_seconds",
    "path": "path.claimed",
    "path_verdict": "path.verdict",
    "path_protocol": "path.protocol",
    "path_moved_bytes": "moved",
    "fit_latency_seconds": "fit.latency_seconds",
    "fit_bandwidth_bytes_per_second": "fit.bandwidth_bytes_per_second",
    "fit_half_bandwidth_bytes": "fit.half_bandwidth_bytes",
    "error": "error",
    "tensors": "sync.tensors",
    "tensors_of": "sync.name",
    "trainers": "sync.trainers",
    "readers": "sync.readers",
    "messages_seconds": "sync.messages_seconds",
    "latency_ci95_low_seconds": "latency_seconds.ci95_low",
    "latency_ci95_high_seconds": "latency_seconds.ci95_high",
}
"""Where in a run each column's value is, or in the line that was fitted through it, or what its devices moved. New ones
come at the end."""
COLUMNS = tuple(_COLUMNS)


class _Line(NamedTuple):
    """What the places of the columns begin in."""

    run: Run
    fit: Fit | None
    moved: str


def comma_separated(document: Bench) -> str:
    """The heading and a line for each run, in the order in which they were measured; of a document of faults alone, a
    line for each fault."""
    if document.faults and not document.runs:
        return bench_fault_csv.comma_separated(document.faults)
    fits = {(fit.transport, fit.source, fit.target): fit for fit in document.fits}
    lines = [_Line(run, fits.get((run.transport, run.source, run.target)), _moved(run)) for run in document.runs]
    return csv_table.table({name: _from_line(place) for name, place in _COLUMNS.items()}, lines)


def _from_line(place: str) -> str:
    return place if place.startswith(("fit.", "moved")) else f"run.{place}"


def _moved(run: Run) -> str:
    """`eth0 210000 of 1016659968; source eth1 …`: what each device moved of what was expected."""
    devices: Sequence[Moved] = run.path.devices if run.path is not None else ()
    return "; ".join(f"{one.name} {one.moved_bytes} of {one.expected_bytes}" for one in devices)
