"""Rows of `raxl bench-transport` for the tests: given the times of one, everything else follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from raxl.model.measurement import Bench, Endpoint, Path, Regression, Run
from raxl.transfer.statistics import bandwidth_of, latency_of

MIB = 1 << 20
N1, N2 = Endpoint("n1", "cpu"), Endpoint("n2", "cpu")
PROVEN = Path("eth0", (), "proven")


def row(transport: str = "gloo", size: int = MIB, seconds: Sequence[float] | float = 0.01, **fields: Any) -> Run:
    """Ten samples of 1 % spread where one number is given; none at all where that is 0."""
    samples = [seconds * (1 + 0.001 * n) for n in range(-5, 5)] if isinstance(seconds, float | int) else seconds
    samples = [sample for sample in samples if sample]
    run = Run(
        transport=transport,
        source=N1,
        target=N2,
        pattern="p2p",
        mode="single",
        destination="fresh",
        size_bytes=size,
        iterations=len(samples),
        warmup=3,
        status="ok",
        latency_seconds=latency_of(samples),
        bandwidth_bytes_per_second=bandwidth_of(size, samples),
        verified=True,
        samples=len(samples),
        path=PROVEN,
    )
    return replace(run, **fields)


def bench(*runs: Run, nodes: Mapping[str, Any] | None = None, regressions: Sequence[Regression] = ()) -> Bench:
    environment = {"nodes": nodes or {}}
    return Bench("raxl.bench/v1", "0", "2026-01-01T00:00:00Z", environment, runs, regressions=regressions)
