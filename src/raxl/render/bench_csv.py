"""The runs of a benchmark as comma-separated values: a line for each, an empty cell for what was not measured."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from raxl.model.measurement import Bench, Fit, Moved, Run
from raxl.model.printable import clean

_FORMULA = ("=", "+", "-", "@")
"""How a text begins that a spreadsheet would act on."""

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
    "path_moved_bytes": "path.devices",
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
"""Where in a run each column's value is, or in the line that was fitted through it. New ones come at the end."""
COLUMNS = tuple(_COLUMNS)


def comma_separated(document: Bench) -> str:
    """The heading and a line for each run, in the order in which they were measured; lines end in a line feed."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(COLUMNS)
    fits = {(fit.transport, fit.source, fit.target): fit for fit in document.fits}
    for run in document.runs:
        fit = fits.get((run.transport, run.source, run.target))
        writer.writerow([_cell(_value(run, fit, place)) for place in _COLUMNS.values()])
    return written.getvalue()


def _value(run: Run, fit: Fit | None, place: str) -> Any:
    """What stands at `latency_seconds.p50`; None where a part of the way is None."""
    value: Any = run
    for name in place.split("."):
        value = fit if name == "fit" else None if value is None else getattr(value, name)
    return value


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        return _cell(" ".join(value))
    if isinstance(value, tuple):
        return _moved(value)
    if not isinstance(value, str):
        return repr(value)
    shown = clean(value)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def _moved(devices: Sequence[Moved]) -> str:
    """`eth0 210000 of 1016659968; source eth1 …`: what each device moved of what was expected."""
    return _cell("; ".join(f"{one.name} {one.moved_bytes} of {one.expected_bytes}" for one in devices))
