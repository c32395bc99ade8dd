"""`raxl bench-transport`: what holds others up first, then a table for each pair, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model import measurement as m
from raxl.model.measurement import Bench
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_chart import chart
from raxl.render.bench_detail import detail
from raxl.render.bench_faults import faults
from raxl.render.bench_notes import busy, notes, unavailable
from raxl.render.bench_pairs import Group, groups, worst
from raxl.render.bench_recommended import recommended
from raxl.render.bench_regressions import regressions
from raxl.render.bench_rows import table
from raxl.render.bench_screening import absent, is_screening
from raxl.render.bench_sentence import sentences
from raxl.render.bench_slow import slow
from raxl.render.bench_sync import synced
from raxl.render.bench_units import percent, rate, size, unbroken
from raxl.render.columns import Column, Row, lay_out
from raxl.render.text import Line, Page, parted
from raxl.render.unknown import INAPPLICABLE

_MOST_TABLES = 4
_MOST_ROWS = 12
_EXCEPTIONS = (
    Column("PAIR", least=20),
    Column("TRANSPORT", least=14),
    Column("SIZE", right=True, rank=1),
    Column("BANDWIDTH", right=True),
    Column("OF CEILING", right=True),
    Column("STATE"),
)


def bench(document: Bench, width: int, *, expand: bool = False, unicode: bool = True) -> list[Line]:
    """The result as text; pairs that are alike once unless `expand`, which adds a line for every run."""
    page = Page(width, unicode)
    found = groups([run for run in document.runs if run.sync is None], fold=not expand)
    most = 1 if is_screening(document) else _MOST_TABLES
    shown, brief = (found, []) if expand or len(found) <= most else _chosen(found, most)
    noisy = next((group for group in shown if busy(group.runs)), None)
    blocks = [
        slow(page, document.slow),
        absent(page, document),
        regressions(page, document.regressions),
        faults(page, document.faults),
        *synced(page, document.runs),
    ]
    for group in shown:
        if group is shown[-1]:
            blocks.append(_exceptions(page, brief))
        blocks += [table(page, group), notes(page, group, busy(document.runs) if group is noisy else "")]
        # Many curves say no more than the first ones.
        blocks.append(chart(page, group, document.fits) if expand or group is shown[-1] or len(shown) <= 2 else [])
        blocks += [detail(page, pair) for pair in group.pairs if expand]
    blocks += [recommended(page, document.recommendations), unavailable(page, document)]
    blocks.append([line for words in sentences(document, found) for line in page.fold(unbroken(words))])
    return parted(blocks)


def _chosen(found: Sequence[Group], tables: int) -> tuple[list[Group], list[Group]]:
    """The groups that get a table: the worst ones and the one with most pairs; the others get a line each."""
    most = max(found, key=lambda group: len(group.pairs))
    rest = [group for group in found if group is not most]
    return [*rest[: tables - 1], most], rest[tables - 1 :]


def _exceptions(page: Page, found: Sequence[Group]) -> list[Line]:
    if not found:
        return []
    rows = [_exception(group) for group in found[:_MOST_ROWS]]
    lines = [
        *page.fold("others that differ, each by its worst transport", style="bold"),
        *lay_out(page, _EXCEPTIONS, rows, refill=True),
    ]
    more = len(found) - _MOST_ROWS
    return [*lines, *(page.fold(f"{more} more with --expand", style="dim") if more > 0 else [])]


def _exception(group: Group) -> Row:
    run = worst([run for run in group.runs if run.size_bytes == group.headline])
    speed = run.bandwidth_bytes_per_second if run.status not in (m.MAPPED, m.CORRUPT, m.FAILED) else None
    share = run.ceiling.ratio if run.ceiling and speed else None
    return [
        (bench_names.group(group), ""),
        (bench_names.transport(run.transport), ""),
        (size(run.size_bytes), ""),
        (rate(speed.median), "") if speed else (INAPPLICABLE, "dim"),
        (INAPPLICABLE, "dim") if share is None else (percent(share), ""),
        (clean(run.status), "fail" if run.status in (*m.WRONG, m.FAILED) else ""),
    ]
