"""Weight-sync: a table for each set of actors, a line for each transport, the quickest first."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model import measurement as m
from raxl.model.measurement import Run, Sync
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_notes import notes
from raxl.render.bench_pairs import groups
from raxl.render.bench_units import amount, duration, rate_unit, time_unit, unbroken
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import counted
from raxl.render.node_names import nodes_called, ordered
from raxl.render.text import Line, Page, Span, Style
from raxl.render.unknown import INAPPLICABLE, UNKNOWN

_COLUMNS = (
    Column("TRANSPORT", least=14),
    Column("TENSORS", rank=4, right=True),
    Column("ACTORS", rank=3, right=True),
    Column("TO THE LAST BYTE", right=True),
    Column("EACH READER", right=True),
    Column("ALL READERS", rank=1, right=True),
    Column("MESSAGES", rank=5, right=True),
    Column("COLD", rank=6, right=True),
    Column("STATE"),
    Column("PATH", rank=2, least=12),
)
_NO_FIGURE = (m.CORRUPT, m.FAILED)
_VERDICTS = {m.PROVEN: ", proven", m.WENT_ELSEWHERE: ", not taken"}


def synced(page: Page, runs: Sequence[Run]) -> list[list[Line]]:
    """By set of actors a table and the notes on it; none without a run that was tried."""
    tables: list[list[Line]] = []
    found: dict[tuple[Sync, int], list[Run]] = {}
    for run in runs:
        if run.sync is not None and run.status != m.UNAVAILABLE:
            who = Sync(run.sync.name, run.sync.tensors, run.sync.trainers, run.sync.readers)
            found.setdefault((who, run.size_bytes), []).append(run)
    for (who, size), alike in found.items():
        tables.append([*_heading(page, who, size, alike), [], *_table(page, alike)])
        tables += [notes(page, group) for group in groups(alike, fold=False)]
    return tables


def _heading(page: Page, who: Sync, size: int, runs: Sequence[Run]) -> list[Line]:
    samples = sorted({run.samples for run in runs if run.samples})
    few = f"median of {'–'.join(map(str, dict.fromkeys((samples[0], samples[-1]))))}" if samples else ""
    each = "to the reader" if len(who.readers) == 1 else f"to each of {len(who.readers)} readers"
    facts = [f"{amount(size)} {each}", few, "a put or a registration and the messages are in the time"]
    inside = set(who.trainers) == set(who.readers)
    where = f"within {_nodes(who.readers)}" if inside else f"{_nodes(who.trainers)} → {_nodes(who.readers)}"
    lead = f"{clean(who.name)}, {where}   "
    return page.fold(unbroken(", ".join(filter(None, facts))), 2, lead=(lead, "bold"))


def _nodes(names: Sequence[str]) -> str:
    return nodes_called(ordered(set(names)))


def _table(page: Page, runs: Sequence[Run]) -> list[Line]:
    def rank(run: Run) -> tuple[int, float]:
        tier = m.STATUSES.index(run.status) if run.status in (*m.WRONG, m.FAILED) else 0
        return tier, run.latency_seconds.p50 if run.latency_seconds else 0.0

    shown = sorted(runs, key=rank)
    times = time_unit(run.latency_seconds.p50 for run in shown if run.latency_seconds)
    speeds = rate_unit(_speed(run) * len(run.sync.readers) for run in shown if run.sync)
    is_many = any(run.sync and len(run.sync.readers) > 1 for run in shown)
    rows: list[Row] = []
    for run in shown:
        who = run.sync or Sync("", 0, (), ())
        is_told = run.latency_seconds is not None and run.status not in _NO_FIGURE
        seconds = times.told(run.latency_seconds.p50) if run.latency_seconds and is_told else ""
        speed = _speed(run)
        told = who.messages_seconds
        rows.append(
            [
                (bench_names.transport(run.transport), ""),
                (str(who.tensors), ""),
                (f"{len(who.trainers)}x{len(who.readers)}", ""),
                _cell(seconds),
                _cell(speeds.told(speed) if speed else ""),
                _cell(speeds.told(speed * len(who.readers)) if speed else "") if is_many else ("", ""),
                _cell(duration(told) if told is not None else ""),
                _cell(duration(run.cold_seconds) if run.cold_seconds and is_told else ""),
                (clean(run.status), _style(run)),
                _path(run),
            ]
        )
    return lay_out(page, _COLUMNS, rows, refill=True)


def _speed(run: Run) -> float:
    if run.bandwidth_bytes_per_second is None or run.status in _NO_FIGURE:
        return 0.0
    return run.bandwidth_bytes_per_second.median


def _cell(text: str) -> Span:
    return (text, "") if text else (INAPPLICABLE, "dim")


def _style(run: Run) -> Style:
    if run.status in (*m.WRONG, m.FAILED):
        return "fail"
    return "" if run.status == m.OK else "dim" if run.status == m.MAPPED else "warn"


def _path(run: Run) -> Span:
    if run.path is None:
        return (INAPPLICABLE if run.status == m.MAPPED else UNKNOWN, "dim")
    told = clean(f"{run.path.claimed}{_VERDICTS.get(run.path.verdict, '')}")
    return (told, "fail" if run.path.verdict == m.WENT_ELSEWHERE else "")


def summary(runs: Sequence[Run]) -> str:
    """`rdt-nixl has the last byte of 988 MB there after 0.41 s.`: the quickest transport whose bytes were right."""
    good = [run for run in runs if run.sync and run.verified and run.latency_seconds and run.status not in m.WRONG]
    if not good:
        return ""
    best = min(good, key=lambda run: run.latency_seconds.p50 if run.latency_seconds else 0.0)
    seconds = duration(best.latency_seconds.p50) if best.latency_seconds else UNKNOWN
    readers = counted(len(best.sync.readers), "reader") if best.sync else ""
    what = f"the last byte of {amount(best.size_bytes)} at {readers} after {seconds}"
    beside = "is the quickest, with" if len(good) > 1 else "has"
    return f"{bench_names.transport(best.transport)} {beside} {what}."
