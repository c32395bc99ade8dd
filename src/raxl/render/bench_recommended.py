"""The fastest verified transport by size; pairs for which it is the same once."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.measurement import Recommendation
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_pairs import Way
from raxl.render.bench_units import duration, rate, size
from raxl.render.columns import Column, Row, lay_out
from raxl.render.text import Line, Page
from raxl.render.unknown import INAPPLICABLE

_COLUMNS = (
    Column("SIZE", right=True),
    Column("USE", least=14),
    Column("TIME", right=True),
    Column("BANDWIDTH", right=True, rank=2),
    Column("WHY", rank=1, least=24),
)
_MOST_GROUPS = 6


def recommended(page: Page, found: Sequence[Recommendation]) -> list[Line]:
    """For each set of pairs with the same answer a heading, and a row for each size with the first pair's figures."""
    of_way: dict[Way, list[Recommendation]] = {}
    for one in found:
        of_way.setdefault(Way(one.source, one.target), []).append(one)
    alike: dict[tuple[tuple[int, str], ...], list[Way]] = {}
    for way, rows in of_way.items():
        alike.setdefault(tuple((one.size_bytes, one.transport) for one in rows), []).append(way)
    lines: list[Line] = []
    for ways in list(alike.values())[:_MOST_GROUPS]:
        more = "" if len(ways) == 1 else f" ({len(ways)} pairs; figures of the first)"
        lines += page.fold(f"fastest, {bench_names.ways(ways)}{more}", 2, "bold")
        lines += lay_out(page, _COLUMNS, [_row(one) for one in of_way[ways[0]]], refill=True)
    if len(alike) > _MOST_GROUPS:
        lines += page.fold(f"{len(alike) - _MOST_GROUPS} more in the JSON", style="dim")
    return lines


def _row(one: Recommendation) -> Row:
    speed = one.bandwidth_bytes_per_second
    return [
        (size(one.size_bytes), ""),
        (bench_names.transport(one.transport), ""),
        (duration(one.seconds), ""),
        (INAPPLICABLE, "dim") if speed is None else (rate(speed), ""),
        (clean(one.reason) or INAPPLICABLE, "dim"),
    ]
