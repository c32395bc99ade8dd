"""A benchmark for Prometheus: every figure as a gauge in base units."""

from __future__ import annotations

from dataclasses import fields

from raxl.model.measurement import Bench, Endpoint, Fault, Run
from raxl.render.prometheus_text import Families

_HELPS = {
    "raxl_bench_info": "The result: raxl's version, and when it was made.",
    "raxl_bench_status": "Always 1; the label status says how far a row is to be trusted.",
    "raxl_bench_verified": "Whether all bytes of a row were compared and were the right ones.",
    "raxl_bench_iterations": "How many transfers were asked for.",
    "raxl_bench_warmup": "How many transfers came before the timed ones.",
    "raxl_bench_samples": "How many transfers were timed.",
    "raxl_bench_stalls": "How many of them took more than three times the median.",
    "raxl_bench_latency_seconds": "Time of one transfer by quantile: 0 is the least, 1 the most.",
    "raxl_bench_latency_ci95_low_seconds": "Where the interval begins that holds the median in 95 of 100 runs.",
    "raxl_bench_latency_ci95_high_seconds": "Where that interval ends.",
    "raxl_bench_bandwidth_bytes_per_second": "The size by the median time, one direction.",
    "raxl_bench_bandwidth_ci95_low_bytes_per_second": "Where the interval begins that holds it in 95 of 100 runs.",
    "raxl_bench_bandwidth_ci95_high_bytes_per_second": "Where that interval ends.",
    "raxl_bench_bus_bandwidth_bytes_per_second": "Of a collective, by the factor of nccl-tests.",
    "raxl_bench_ceiling_bytes_per_second": "What bounds a row.",
    "raxl_bench_ceiling_ratio": "The row's share of what bounds it.",
    "raxl_bench_phase_seconds": "Where the time of a row went.",
    "raxl_bench_cold_seconds": "The very first transfer, which is in no other figure.",
    "raxl_bench_end_to_end_seconds": "One transfer as the caller of Ray sees it.",
    "raxl_bench_messages_seconds": "Of weight-sync: what the messages that order one transfer take alone.",
    "raxl_bench_tensors": "Of weight-sync: how many tensors were moved.",
    "raxl_bench_path": "Always 1; the labels say which device should have carried it, and what its counters say.",
    "raxl_bench_path_moved_bytes": "What a device's own counters say that it carried.",
    "raxl_bench_path_expected_bytes": "What it should have carried.",
    "raxl_bench_fit_latency_seconds": "The fixed part of the time, of a line through the medians.",
    "raxl_bench_fit_bandwidth_bytes_per_second": "The bandwidth of very large transfers, of that line.",
    "raxl_bench_fit_half_bandwidth_bytes": "The size at which half of that bandwidth is reached.",
    "raxl_bench_fit_off_size_bytes": "A size at which that line is off by more than a quarter.",
    "raxl_bench_slow_best_bytes_per_second": "The best that a node or link reaches which holds others up.",
    "raxl_bench_slow_peers_bytes_per_second": "What its peers reach.",
    "raxl_bench_regression_before": "A figure of the baseline, in the unit that the label metric ends in.",
    "raxl_bench_regression_after": "The same figure now.",
    "raxl_bench_regression_change_ratio": "Its change: -0.2 is a fifth less.",
    "raxl_bench_regression_status": "Always 1; the label status says what became of the figure.",
    "raxl_bench_fault_seconds_to_error": "How long after a fault an error came; no series where none came.",
    "raxl_bench_fault": "Always 1; the labels say what came of a fault.",
    "raxl_bench_fault_left_bytes": "Memory that a fault left behind.",
    "raxl_bench_fault_left": "Sockets and actors that a fault left behind.",
    "raxl_bench_recommended_seconds": "The time of the fastest verified transport.",
    "raxl_bench_recommended_bandwidth_bytes_per_second": "Its bandwidth.",
}
_BYTES = {"memory_bytes": "memory", "shared_memory_bytes": "shared memory"}
_COUNTS = ("sockets", "actors")


def exposition(document: Bench) -> str:
    """The whole result in the text format; what was not measured has no series."""
    found = Families(_HELPS)
    found.add("raxl_bench_info", {"version": document.raxl_version, "created": document.created}, 1)
    for run in document.runs:
        _run(found, run)
    for fit in document.fits:
        labels = {"transport": fit.transport, **_ends(fit.source, fit.target)}
        found.add("raxl_bench_fit_latency_seconds", labels, fit.latency_seconds)
        found.add("raxl_bench_fit_bandwidth_bytes_per_second", labels, fit.bandwidth_bytes_per_second)
        found.add("raxl_bench_fit_half_bandwidth_bytes", labels, fit.half_bandwidth_bytes)
        for number, size in enumerate(fit.off_sizes_bytes):
            found.add("raxl_bench_fit_off_size_bytes", {**labels, "number": str(number)}, size)
    for slow in document.slow:
        labels = {"kind": slow.kind, "subject": slow.subject, "direction": slow.direction}
        found.add("raxl_bench_slow_best_bytes_per_second", labels, slow.evidence.best_bytes_per_second)
        found.add("raxl_bench_slow_peers_bytes_per_second", labels, slow.evidence.peers_bytes_per_second)
    for one in document.regressions:
        labels = {"transport": one.transport, **_ends(one.source, one.target), "pattern": one.pattern}
        labels |= {"size_bytes": str(one.size_bytes), "metric": one.metric}
        found.add("raxl_bench_regression_before", labels, one.before)
        found.add("raxl_bench_regression_after", labels, one.after)
        found.add("raxl_bench_regression_change_ratio", labels, one.change)
        found.add("raxl_bench_regression_status", {**labels, "status": one.status}, 1)
    for fault in document.faults:
        _fault(found, fault)
    for best in document.recommendations:
        labels = {"transport": best.transport, **_ends(best.source, best.target), "size_bytes": str(best.size_bytes)}
        found.add("raxl_bench_recommended_seconds", labels, best.seconds)
        found.add("raxl_bench_recommended_bandwidth_bytes_per_second", labels, best.bandwidth_bytes_per_second)
    return found.text()


def _ends(source: Endpoint, target: Endpoint) -> dict[str, str]:
    return {
        "source": source.node,
        "source_device": source.device,
        "target": target.node,
        "target_device": target.device,
    }


def _run(found: Families, run: Run) -> None:
    labels = {
        "transport": run.transport,
        **_ends(run.source, run.target),
        "pattern": run.pattern,
        "mode": run.mode,
        "window": "" if run.window is None else str(run.window),
        "destination": run.destination,
        "size_bytes": str(run.size_bytes),
    }
    if sync := run.sync:
        labels |= {"trainers": str(len(sync.trainers)), "readers": str(len(sync.readers))}
        found.add("raxl_bench_messages_seconds", labels, sync.messages_seconds)
        found.add("raxl_bench_tensors", {**labels, "list": sync.name}, sync.tensors)
    found.add("raxl_bench_status", {**labels, "status": run.status}, 1)
    found.add("raxl_bench_verified", labels, int(run.verified))
    for name in ("iterations", "warmup", "samples", "stalls", "cold_seconds", "end_to_end_seconds"):
        found.add(f"raxl_bench_{name}", labels, getattr(run, name))
    if time := run.latency_seconds:
        for quantile, value in (("0", time.min), ("0.5", time.p50), ("0.95", time.p95), ("0.99", time.p99)):
            found.add("raxl_bench_latency_seconds", {**labels, "quantile": quantile}, value)
        found.add("raxl_bench_latency_seconds", {**labels, "quantile": "1"}, time.max)
        found.add("raxl_bench_latency_ci95_low_seconds", labels, time.ci95_low)
        found.add("raxl_bench_latency_ci95_high_seconds", labels, time.ci95_high)
    if speed := run.bandwidth_bytes_per_second:
        found.add("raxl_bench_bandwidth_bytes_per_second", labels, speed.median)
        found.add("raxl_bench_bandwidth_ci95_low_bytes_per_second", labels, speed.ci95_low)
        found.add("raxl_bench_bandwidth_ci95_high_bytes_per_second", labels, speed.ci95_high)
    found.add("raxl_bench_bus_bandwidth_bytes_per_second", labels, run.bus_bandwidth_bytes_per_second)
    if ceiling := run.ceiling:
        named = {**labels, "ceiling": ceiling.name}
        found.add("raxl_bench_ceiling_bytes_per_second", named, ceiling.bandwidth_bytes_per_second)
        found.add("raxl_bench_ceiling_ratio", named, ceiling.ratio)
    for phase in fields(run.phases):
        found.add("raxl_bench_phase_seconds", {**labels, "phase": phase.name}, getattr(run.phases, phase.name))
    if path := run.path:
        told = {"device": path.claimed, "verdict": path.verdict, "protocol": path.protocol or ""}
        found.add("raxl_bench_path", {**labels, **told}, 1)
        for one in path.devices:
            found.add("raxl_bench_path_moved_bytes", {**labels, "device": one.name}, one.moved_bytes)
            found.add("raxl_bench_path_expected_bytes", {**labels, "device": one.name}, one.expected_bytes)


def _fault(found: Families, fault: Fault) -> None:
    labels = {"transport": fault.transport, **_ends(fault.source, fault.target), "fault": fault.kind}
    labels["size_bytes"] = str(fault.size_bytes)
    told = {"other_end": fault.other_end, "next_transfer": fault.next_transfer, "error": fault.error}
    told["status"] = fault.status
    found.add("raxl_bench_fault", {**labels, **told}, 1)
    found.add("raxl_bench_fault_seconds_to_error", labels, fault.seconds_to_error)
    for name, what in _BYTES.items():
        found.add("raxl_bench_fault_left_bytes", {**labels, "what": what}, getattr(fault.left, name))
    for name in _COUNTS:
        found.add("raxl_bench_fault_left", {**labels, "what": name}, getattr(fault.left, name))
