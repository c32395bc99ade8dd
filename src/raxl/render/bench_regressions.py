"""Figures beside those of a baseline: what became worse, what cannot be compared and why, how much is the same."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model import measurement as m
from raxl.model.measurement import Regression
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_units import duration, rate, size
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import counted
from raxl.render.quantity import listed
from raxl.render.text import Line, Page, Span
from raxl.render.unknown import REMARK, UNKNOWN

_COLUMNS = (
    Column("TRANSPORT", least=14),
    Column("PAIR", least=20),
    Column("SIZE", right=True),
    Column("FIGURE", rank=1),
    Column("BEFORE", right=True),
    Column("NOW", right=True),
    Column("CHANGE", right=True),
)
_BANDWIDTH = "bandwidth_bytes_per_second"
_FIGURES = {_BANDWIDTH: "bandwidth", "latency_seconds": "latency"}
_MOST_ROWS = 15
_MOST_REASONS = 4


def regressions(page: Page, found: Sequence[Regression]) -> list[Line]:
    """A row for each regression, the worst first; the incomparable by reason, and the rest counted."""
    worse = sorted((one for one in found if one.status == m.REGRESSED), key=lambda one: -abs(one.change or 0.0))
    lines = _table(page, worse)
    if len(worse) > _MOST_ROWS:
        lines += page.fold(f"{len(worse) - _MOST_ROWS} more in the JSON", 3, "dim", ("   ", ""))
    lines += _remarks(page, [one for one in found if one.status != m.INCOMPARABLE and one.reason])
    lines += _incomparable(page, [one for one in found if one.status == m.INCOMPARABLE])
    others = [
        f"{counted(count, 'figure')} {words}"
        for status, words in ((m.IMPROVED, "better than before"), (m.SAME, "as before"))
        if (count := sum(one.status == status for one in found))
    ]
    return lines + (page.fold(f"{listed(others)}.", style="dim") if others else [])


def _table(page: Page, worse: Sequence[Regression]) -> list[Line]:
    if not worse:
        return []
    heading = page.fold("worse than the baseline", style="bold")
    return [*heading, *lay_out(page, _COLUMNS, [_row(one) for one in worse[:_MOST_ROWS]], refill=True)]


def _row(one: Regression) -> Row:
    pattern = "" if one.pattern == m.P2P else f" {clean(one.pattern)}"
    change = (UNKNOWN, "dim") if one.change is None else (f"{one.change * 100:+.0f} %", "fail")
    return [
        (bench_names.transport(one.transport) + pattern, ""),
        (bench_names.way(one.source, one.target), ""),
        (size(one.size_bytes), ""),
        (_FIGURES.get(one.metric, clean(one.metric)), ""),
        _value(one, one.before),
        _value(one, one.after),
        (change[0], "fail" if change[1] == "fail" else "dim"),
    ]


def _value(one: Regression, value: float | None) -> Span:
    if value is None:
        return UNKNOWN, "dim"
    return (rate(value) if one.metric == _BANDWIDTH else duration(value)), ""


def _remarks(page: Page, found: Sequence[Regression]) -> list[Line]:
    """What is odd about figures that were compared, by what it is."""
    lines: list[Line] = []
    for why, rows in _by_reason(found)[:_MOST_REASONS]:
        lines += page.fold(f"{counted(len(rows), 'figure')}: {why}", 3, "dim", (f"{REMARK}  ", "dim"))
    return lines


def _incomparable(page: Page, found: Sequence[Regression]) -> list[Line]:
    ranked = _by_reason(found)
    lines: list[Line] = []
    for why, rows in ranked[:_MOST_REASONS]:
        names = listed(list(dict.fromkeys(bench_names.transport(row.transport) for row in rows)))
        text = f"not comparable  {names}, {counted(len(rows), 'figure')}: {why}"
        lines += page.fold(text, 3, "dim", (f"{UNKNOWN}  ", "dim"))
    if len(ranked) > _MOST_REASONS:
        more = counted(len(ranked) - _MOST_REASONS, "other reason")
        lines += page.fold(f"not comparable for {more} in the JSON", 3, "dim", (f"{UNKNOWN}  ", "dim"))
    return lines


def _by_reason(found: Sequence[Regression]) -> list[tuple[str, list[Regression]]]:
    """The figures by their reason, the reason of most of them first."""
    reasons: dict[str, list[Regression]] = {}
    for one in found:
        reasons.setdefault(clean(one.reason or "no reason given").rstrip("."), []).append(one)
    return sorted(reasons.items(), key=lambda item: -len(item[1]))
