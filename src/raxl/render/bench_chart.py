"""Bandwidth over size: blocks for each transport over one logarithmic axis, and the line fitted through it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from raxl.model import measurement as m
from raxl.model.measurement import Fit, Run
from raxl.render import bench_names
from raxl.render.bench_pairs import CEILINGS, Group, Key, Pair, differ, key
from raxl.render.bench_units import about, rate, rate_unit, size, time_unit
from raxl.render.columns import Column, Row, lay_out
from raxl.render.text import Line, Page, Span, display_width
from raxl.render.unknown import INAPPLICABLE

_BLOCKS = "▁▂▃▄▅▆▇█"
_ASCII_BLOCKS = "_.:-=+*#"
_LEAST_SIZES = 3
_LOWEST = 0.5
"""Curves that reach less of the ceiling are drawn against the fastest one."""
_WIDEST, _NARROWEST = 56, 24
_BESIDE = 58
"""What stands beside the curves."""
_MOST_BENDS = 0.4
"""A line that is off at a larger share of the sizes describes none of them."""
_UNTRUSTED = (*m.WRONG, m.MAPPED, m.FAILED, m.QUANTISED)
_BLANK: Span = ("", "")


class _Curve(NamedTuple):
    """The bandwidths of one transport one way, by size."""

    name: str
    rates: Mapping[int, float]
    fit: Fit | None
    sizes: int
    """How many were measured, those without a bandwidth among them."""


def chart(page: Page, group: Group, fits: Sequence[Fit]) -> list[Line]:
    """The curves of a pair, of several alike the first one's; nothing for fewer than three sizes."""
    pair = group.pairs[0]
    curves = _curves(pair, fits)
    sizes = sorted({size for curve in curves for size in curve.rates})
    if len(sizes) < _LEAST_SIZES:
        return []
    ceilings = {run.ceiling.bandwidth_bytes_per_second for run in pair.runs if run.ceiling}
    fastest = max(value for curve in curves for value in curve.rates.values())
    near = fastest / _LOWEST if pair.pattern not in m.COLLECTIVES else 0.0
    top = min((one for one in ceilings if len(ceilings) == 1 and fastest <= one <= near), default=fastest)
    wide = max(_NARROWEST, min(_WIDEST, page.width - _BESIDE))
    places = {one: round(math.log2(one / sizes[0]) / math.log2(sizes[-1] / sizes[0]) * (wide - 1)) for one in sizes}
    rows = [*_rows(page, curves, sizes, wide, top)]
    for text in (_axis(page, places, wide), _labels(places, wide)):
        rows.append([_BLANK, (text, "dim"), *[_BLANK] * 4])
    of_pair = "" if group.is_one else f", {bench_names.way(*pair.way)}"
    columns = (
        Column("BY SIZE", least=14),
        Column(f"full height {rate(top)}{of_pair}", least=wide),
        Column("LATENCY", rank=2, right=True),
        Column("BANDWIDTH", rank=1, right=True),
        Column("HALF AT", rank=3, right=True),
        Column("BENDS AT", rank=4, least=9),
    )
    return lay_out(page, columns, rows)


def _rows(page: Page, curves: Sequence[_Curve], sizes: Sequence[int], wide: int, top: float) -> Iterator[Row]:
    known = [curve.fit for curve in curves if curve.fit]
    times = time_unit(fit.latency_seconds for fit in known)
    rates = rate_unit(fit.bandwidth_bytes_per_second for fit in known)
    for curve in curves:
        drawn = "".join(_block(page, _at(curve.rates, place, wide, sizes), top) for place in range(wide)).rstrip()
        told = [INAPPLICABLE if known else ""] * 4
        if (fit := curve.fit) and len(fit.off_sizes_bytes) > _MOST_BENDS * curve.sizes:
            told = [INAPPLICABLE] * 3 + ["at most sizes"]
        elif fit:
            bends = ", ".join(map(size, fit.off_sizes_bytes)) or INAPPLICABLE
            latency, bandwidth = times.told(fit.latency_seconds), rates.told(fit.bandwidth_bytes_per_second)
            told = [latency, bandwidth, about(fit.half_bandwidth_bytes), bends]
        told_spans: list[Span] = [(text, "dim" if text == INAPPLICABLE else "") for text in told]
        yield [(curve.name, ""), (drawn, ""), *told_spans]


def _curves(pair: Pair, fits: Sequence[Fit]) -> list[_Curve]:
    """What can be trusted, the fastest first; the way back too where it differs."""
    names = bench_names.lines(map(key, pair.runs))
    found: list[_Curve] = []
    both = differ(pair)
    for arrow, runs in zip((" →", " ←") if both else ("",), pair.ways):
        by_line: dict[Key, list[Run]] = {}
        for run in runs:
            by_line.setdefault(key(run), []).append(run)
        for line, own in by_line.items():
            if line.transport in CEILINGS and len({run.transport for run in runs}) > 1:
                continue
            rates = {run.size_bytes: _rate(run) for run in own if run.size_bytes > 0 and _rate(run) > 0}
            if len(rates) >= _LEAST_SIZES and not any(run.status in m.WRONG for run in own):
                fit = next((one for one in fits if _is_of(one, line, runs[0])), None)
                found.append(_Curve(names[line] + arrow, rates, fit, len({run.size_bytes for run in own})))
    return sorted(found, key=lambda curve: -curve.rates[max(curve.rates)])


def _rate(run: Run) -> float:
    if run.bandwidth_bytes_per_second is None or run.status in _UNTRUSTED:
        return 0.0
    return run.bandwidth_bytes_per_second.median


def _is_of(fit: Fit, line: Key, run: Run) -> bool:
    return (fit.transport, fit.source, fit.target) == (line.transport, run.source, run.target)


def _at(curve: Mapping[int, float], place: int, wide: int, sizes: Sequence[int]) -> float | None:
    """The bandwidth over a place of the axis; between two sizes by their times, None beyond what was measured."""
    wanted: float = sizes[0] * (sizes[-1] / sizes[0]) ** (place / (wide - 1))
    below = max((one for one in curve if one <= wanted * 1.0001), default=None)
    above = min((one for one in curve if one >= wanted * 0.9999), default=None)
    if below is None or above is None:
        return None
    if below == above:
        return curve[below]
    first, last = below / curve[below], above / curve[above]
    return wanted / (first + (last - first) * (wanted - below) / (above - below))


def _block(page: Page, value: float | None, top: float) -> str:
    blocks = _BLOCKS if page.unicode else _ASCII_BLOCKS
    if value is None:
        return " "
    return blocks[max(0, min(len(blocks) - 1, round(value / top * len(blocks)) - 1))]


def _axis(page: Page, places: Mapping[int, int], wide: int) -> str:
    tick, line = ("┴", "─") if page.unicode else ("+", "-")
    return "".join(tick if place in places.values() else line for place in range(wide))


def _labels(places: Mapping[int, int], wide: int) -> str:
    """The sizes below their ticks, the last one ending at the axis's end; those without room are left out."""
    sizes = list(places)
    last = size(sizes[-1])
    text, room = "", wide - display_width(last) - 1
    for one in sizes[:-1]:
        label = size(one)
        if (places[one] > len(text) or not text) and places[one] + len(label) <= room:
            text = f"{text:{places[one]}}{label}"
    return f"{text:{wide - len(last)}}{last}"
