"""Every run of a pair: a line for each size, with where its time went."""

from __future__ import annotations

from collections.abc import Callable

from raxl.model.measurement import Run
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_pairs import Pair, key
from raxl.render.bench_units import duration, rate, size
from raxl.render.columns import Column, Row, lay_out
from raxl.render.text import Line, Page, Span
from raxl.render.unknown import INAPPLICABLE

_TIMES: tuple[tuple[str, int, Callable[[Run], float | None]], ...] = (
    ("P50", 0, lambda run: run.latency_seconds.p50 if run.latency_seconds else None),
    ("P95", 4, lambda run: run.latency_seconds.p95 if run.latency_seconds else None),
    ("P99", 9, lambda run: run.latency_seconds.p99 if run.latency_seconds else None),
    ("MIN", 10, lambda run: run.latency_seconds.min if run.latency_seconds else None),
    ("MAX", 8, lambda run: run.latency_seconds.max if run.latency_seconds else None),
    ("SETUP", 6, lambda run: run.phases.setup),
    ("REGISTER", 5, lambda run: run.phases.register),
    ("PUBLISH", 3, lambda run: run.phases.publish),
    ("VERIFY", 11, lambda run: run.phases.verify),
    ("COLD", 2, lambda run: run.cold_seconds),
    ("END TO END", 1, lambda run: run.end_to_end_seconds),
)
_COLUMNS = (
    Column("RUN", least=14),
    Column("SIZE", right=True),
    *(Column(title, rank=rank, right=True) for title, rank, _ in _TIMES),
    Column("BANDWIDTH", right=True),
    Column("n", rank=12, right=True),
    Column("LIMITED BY", rank=7, least=12),
    Column("STATE"),
)


def detail(page: Page, pair: Pair) -> list[Line]:
    """The runs of a pair in the order in which they were measured, by direction."""
    names = bench_names.lines(map(key, pair.runs))
    lines: list[Line] = []
    for runs in pair.ways:
        rows: list[Row] = []
        for run in runs:
            speed = run.bandwidth_bytes_per_second
            rows.append(
                [
                    (names[key(run)], ""),
                    (size(run.size_bytes), ""),
                    *(_time(figure(run)) for _, _, figure in _TIMES),
                    (rate(speed.median), "") if speed and run.status != "mapped" else (INAPPLICABLE, "dim"),
                    (str(run.samples), ""),
                    (clean(run.limiter), "") if run.limiter else (INAPPLICABLE, "dim"),
                    (clean(run.status), "" if run.status == "ok" else "warn"),
                ]
            )
        lines += [[]] if lines else []
        lines += page.fold(f"every run {bench_names.way(runs[0].source, runs[0].target)}", style="bold")
        lines += lay_out(page, _COLUMNS, rows, refill=True)
    return lines


def _time(value: float | None) -> Span:
    return (INAPPLICABLE, "dim") if value is None else (duration(value), "")
