"""An expectation and what was measured beside it, in words and units."""

from __future__ import annotations

from raxl.model.verification import Figure
from raxl.render.bench_units import duration, percent, rate, size

_LATENCY = "latency_seconds"
_KINDS = {"vendor-floor": "floor", "own-baseline": "own"}
NONE, UNKNOWN = "–", "?"


def way(one: Figure) -> str:
    """`all_reduce 2 GiB, 2 × 8, torch-nccl`."""
    told = size(one.size_bytes) if one.size_bytes else "any size"
    ranks = f", {one.nodes} × {one.ranks // one.nodes}" if one.nodes and one.ranks > 2 else ""
    algorithm = f", {one.algorithm}" if one.algorithm else ""
    return f"{one.collective} {told}{ranks}{algorithm}" + (f", {one.transport}" if one.transport else "")


def value(one: Figure, number: float | None) -> str:
    """`437.8 GB/s`, `2.5 ms`."""
    if number is None:
        return NONE
    return duration(number) if one.metric == _LATENCY else rate(number)


def measured(one: Figure) -> str:
    """The median alone."""
    return value(one, one.measured)


def interval(one: Figure) -> str:
    """`2.38 GB/s to 2.43 GB/s`."""
    if one.ci95_low is None or one.ci95_high is None:
        return NONE
    return f"{value(one, one.ci95_low)} to {value(one, one.ci95_high)}"


def held_against(one: Figure) -> str:
    """The expected value."""
    return value(one, one.expected)


def kind_of(one: Figure) -> str:
    """`observed`, `floor`, `own`."""
    return _KINDS.get(one.kind, one.kind)


def share(one: Figure) -> str:
    """`104 %`."""
    return NONE if one.ratio is None else percent(one.ratio)


def path(one: Figure) -> str:
    """`lo, proven`."""
    if one.path is None:
        return NONE if one.measured is None else UNKNOWN
    return f"{one.path}, {one.path_verdict}" if one.path_verdict else one.path


def metric(one: Figure) -> str:
    """`bus bandwidth`."""
    return {
        "bus_bandwidth_bytes_per_second": "bus bandwidth",
        "bandwidth_bytes_per_second": "bandwidth",
        _LATENCY: "latency",
    }.get(one.metric, one.metric)
