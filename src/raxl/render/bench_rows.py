"""The table of one pair, or of pairs that are alike: a heading, and a line for each transport."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from raxl.model import measurement as m
from raxl.model.measurement import Bandwidth, Ceiling, Run
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_pairs import CEILINGS, Group, Key, key, middle, worst
from raxl.render.bench_units import Unit, percent, rate, rate_unit, size, time_unit, unbroken
from raxl.render.columns import Column, Row, lay_out
from raxl.render.quantity import listed
from raxl.render.text import Line, Page, Span, Style, display_width
from raxl.render.unknown import INAPPLICABLE, UNKNOWN


class _Shape(NamedTuple):
    """How much a table tells; the first of these that is not wider than the page."""

    more: int
    """How many of END TO END and COLD there are."""
    bar: int
    """How long the bar of a whole ceiling is."""
    has_protocol: bool = False
    has_intervals: bool = True


_SHAPES = (
    _Shape(2, 10, has_protocol=True),
    _Shape(2, 10),
    _Shape(1, 10),
    _Shape(0, 10),
    _Shape(0, 5),
    _Shape(0, 0),
    _Shape(0, 0, has_intervals=False),
)
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_STATES: dict[str, Style] = {
    m.OK: "",
    m.MAPPED: "dim",
    m.NOISY: "warn",
    m.UNSTABLE: "warn",
    m.QUANTISED: "warn",
    m.SUSPECT: "fail",
    m.MISMATCH: "fail",
    m.CORRUPT: "fail",
    m.FAILED: "fail",
}
_VERDICTS = {m.PROVEN: "proven", m.UNVERIFIED: "not proven", m.WENT_ELSEWHERE: "not taken"}
_NO_RATE = (m.MAPPED, m.CORRUPT, m.FAILED)
_MOST_CEILINGS = 3
_WIDE = 0.5
"""Of an interval that reaches further than this share of the median, both ends are told."""
_MEMORY = "memory"


def table(page: Page, group: Group) -> list[Line]:
    """The heading, an empty line, and the lines of all transports: the fastest first, those to be distrusted last."""
    return [*_heading(page, group), [], *_rows(page, group)]


def _heading(page: Page, group: Group) -> list[Line]:
    runs = [run for run in group.runs if run.size_bytes == group.headline]
    first = group.pairs[0]
    samples = sorted({run.samples for run in runs if run.samples})
    destinations = {run.destination for run in runs}
    common = bench_names.usual(group.keys)
    timed = any(run.latency_seconds for run in runs)
    facts = [
        "" if first.pattern == m.P2P else clean(first.pattern),
        size(group.headline),
        "fetch" if timed and first.pattern not in m.COLLECTIVES else "",
        f"median of {'–'.join(map(str, dict.fromkeys((samples[0], samples[-1]))))}" if samples else "",
        f"{clean(common)} destination{' unless named' if len(destinations) > 1 else ''}" if common else "",
        _ceilings(runs),
    ]
    return page.fold(unbroken(", ".join(filter(None, facts))), 2, lead=(f"{bench_names.group(group)}   ", "bold"))


def _ceilings(runs: Iterable[Run]) -> str:
    """`ceiling 119.6 MB/s (1 Gbit/s line, MTU 1500)`; where transports have several, each with its own."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        if run.ceiling:
            found.setdefault(run.ceiling.name, []).append(run)
    told = [_ceiling(of_name) for of_name in found.values()]
    if len(told) <= 1:
        return f"ceiling {told[0]}" if told else ""
    more = len(told) - _MOST_CEILINGS
    return f"ceilings {listed([*told[:_MOST_CEILINGS], *([f'{more} more'] if more > 0 else [])])}"


def _ceiling(runs: Sequence[Run]) -> str:
    ceilings = [run.ceiling for run in runs if run.ceiling]
    rates = sorted({rate(one.bandwidth_bytes_per_second) for one in ceilings})
    told = rates[0] if len(rates) == 1 else f"{rate(min(map(_rate, ceilings)))} to {rate(max(map(_rate, ceilings)))}"
    return f"{told} ({clean(ceilings[0].name)})"


def _rate(ceiling: Ceiling) -> float:
    return ceiling.bandwidth_bytes_per_second


class _Figures:
    """The numbers of a table, in one unit for each column."""

    def __init__(self, group: Group, shape: _Shape) -> None:
        self._group, self._shape = group, shape
        self._names = bench_names.lines(group.keys)
        self._arrows = (" →", " ←") if group.is_one and group.pairs[0].back else ("",)
        self.is_collective = group.pairs[0].pattern in m.COLLECTIVES
        runs = group.runs
        small = [run for run in runs if run.size_bytes == group.smallest and run.latency_seconds]
        large = [run for run in runs if run.size_bytes == group.headline and run.status not in _NO_RATE]
        self._times = time_unit(run.latency_seconds.p50 for run in small if run.latency_seconds)
        sent = [run for run in large if run.transport not in CEILINGS]
        trusted = [run for run in sent if run.status not in m.WRONG] or sent or large
        values = [run.bandwidth_bytes_per_second for run in trusted if run.bandwidth_bytes_per_second]
        self._rates = rate_unit(value.median for value in values)
        self._bus = rate_unit(run.bus_bandwidth_bytes_per_second or 0 for run in trusted)
        long = [run for run in runs if run.size_bytes == group.headline]
        self._ends = time_unit(run.end_to_end_seconds or 0 for run in long)
        self._colds = time_unit(run.cold_seconds or 0 for run in long)

    @property
    def columns(self) -> list[Column]:
        one_size = self._group.smallest == self._group.headline
        small, large = "TIME" if one_size else size(self._group.smallest), size(self._group.headline)
        times = [Column(f"{small}{arrow}", rank=4 if arrow == " ←" else 0) for arrow in self._arrows]
        algorithm = " algbw" if self.is_collective else ""
        rates = [Column(f"{large}{algorithm}{arrow}", least=10) for arrow in self._arrows]
        return [
            Column("TRANSPORT", least=14),
            *times,
            *rates,
            Column("ACROSS PAIRS", rank=3),
            Column("BUSBW"),
            Column("OF CEILING"),
            Column("END TO END", rank=5),
            Column("COLD", rank=6),
            Column("STATE"),
            Column("PATH", rank=1, least=12),
        ]

    def ordered(self) -> list[Key]:
        """The fastest first, and what they are held against; then those that cannot be trusted, or failed."""

        def rank(line: Key) -> tuple[int, float]:
            runs = [run for way in self._group.at(line, self._group.headline) for run in way]
            state = worst(runs).status if runs else m.FAILED
            rates = [run.bandwidth_bytes_per_second.median for run in runs if run.bandwidth_bytes_per_second]
            tier = m.STATUSES.index(state) if state in (*_NO_RATE, *m.WRONG) else int(line.transport in CEILINGS)
            return tier, -min(rates, default=0.0)

        return sorted(self._group.keys, key=rank)

    def cells(self, unicode: bool) -> list[Row]:
        """A row for each transport."""
        rows = self.ordered()
        names: list[Span] = [(self._names[line], "") for line in rows]
        small = [[middle(runs) for runs in self._group.at(line, self._group.smallest)] for line in rows]
        large = [[middle(runs) for runs in self._group.at(line, self._group.headline)] for line in rows]
        every = [[run for runs in self._group.at(line, self._group.headline) for run in runs] for line in rows]
        shape = self._shape
        # Of several pairs the one in the middle, whose bandwidth is told; of two directions the worse.
        shares = every if self._group.is_one else [_middle(runs) for runs in every]
        bare: list[list[Run]] = [[]] * len(rows)
        columns = [
            names,
            *(self._time_column([of_way[place] for of_way in small]) for place in range(len(self._arrows))),
            *(self._rate_column([of_way[place] for of_way in large]) for place in range(len(self._arrows))),
            self._spread_column(every),
            self._number_column(every, self._bus, lambda run: run.bus_bandwidth_bytes_per_second),
            _share_column(shares, shape.bar, unicode),
            self._number_column(every if shape.more > 0 else bare, self._ends, lambda run: run.end_to_end_seconds),
            self._number_column(every if shape.more > 1 else bare, self._colds, lambda run: run.cold_seconds),
            # Where nothing was tried at the headline's size, what came of the sizes before it.
            _state_column([at or self._runs(line) for at, line in zip(every, rows, strict=True)]),
            _path_column(every, shape.has_protocol),
        ]
        return [[column[place] for column in columns] for place in range(len(rows))]

    def _runs(self, line: Key) -> list[Run]:
        return [run for run in self._group.runs if key(run) == line]

    def _time_column(self, runs: Sequence[Run | None]) -> list[Span]:
        numbers = [self._times.number(run.latency_seconds.p50) if run and run.latency_seconds else "" for run in runs]
        wide = max(map(len, numbers), default=0)
        cells: list[Span] = []
        for run, number in zip(runs, numbers, strict=True):
            if not number or run is None:
                cells.append((INAPPLICABLE, "dim"))
            else:
                cells.append((f"{number:>{wide}} {self._times.name}", _doubt(run)))
        return cells

    def _rate_column(self, runs: Sequence[Run | None]) -> list[Span]:
        numbers, errors = [], []
        has_intervals = self._group.is_one and self._shape.has_intervals
        for run in runs:
            speed = run.bandwidth_bytes_per_second if run and run.status not in _NO_RATE else None
            numbers.append(self._rates.number(speed.median) if speed else "")
            errors.append(f" {self._interval(speed)}" if speed and has_intervals else "")
        wide, after = max(map(len, numbers), default=0), max(map(len, errors), default=0)
        cells: list[Span] = []
        for run, number, error in zip(runs, numbers, errors, strict=True):
            if not number or run is None:
                cells.append((INAPPLICABLE, "dim"))
            else:
                cells.append((f"{number:>{wide}} {self._rates.name}{error:<{after}}".rstrip(), _doubt(run)))
        return cells

    def _interval(self, speed: Bandwidth) -> str:
        """`±0.7`; `61.2–240.9` where one side is so wide that it says nothing of the other."""
        half = max(speed.ci95_high - speed.median, speed.median - speed.ci95_low)
        if half <= _WIDE * speed.median:
            return f"±{self._rates.number(half)}"
        return f"{self._rates.number(speed.ci95_low)}–{self._rates.number(speed.ci95_high)}"

    def _spread_column(self, every: Sequence[Sequence[Run]]) -> list[Span]:
        """`118.2–119.4`: the slowest and the fastest of the pairs that are alike."""
        if self._group.is_one:
            return [("", "")] * len(every)
        cells: list[Span] = []
        for runs in every:
            told = [run.bandwidth_bytes_per_second for run in runs if run.status not in _NO_RATE]
            speeds = [speed.median for speed in told if speed]
            text = f"{self._rates.number(min(speeds))}–{self._rates.number(max(speeds))}" if speeds else INAPPLICABLE
            cells.append((text, "" if speeds else "dim"))
        return cells

    def _number_column(
        self, every: Sequence[Sequence[Run]], unit: Unit, figure: Callable[[Run], float | None]
    ) -> list[Span]:
        """One number a row, of the run in the middle; nothing where no row has one, so that the column is left out."""
        chosen = [middle(runs) for runs in every]
        values = [figure(run) if run and run.status not in (m.CORRUPT, m.FAILED) else None for run in chosen]
        if all(value is None for value in values):
            return [("", "")] * len(every)
        numbers = ["" if value is None else unit.number(value) for value in values]
        wide = max(map(len, numbers))
        return [(f"{number:>{wide}} {unit.name}", "") if number else (INAPPLICABLE, "dim") for number in numbers]


def _rows(page: Page, group: Group) -> list[Line]:
    for shape in _SHAPES:
        figures = _Figures(group, shape)
        rows = figures.cells(page.unicode)
        wide = lay_out(page._replace(width=10_000), figures.columns, rows)
        if max(sum(display_width(text) for text, _ in line) for line in wide) <= page.width:
            return wide
    return lay_out(page, figures.columns, rows, refill=True)


def _middle(runs: Sequence[Run]) -> list[Run]:
    found = middle(runs)
    return [found] if found else []


def _doubt(run: Run) -> Style:
    return "dim" if run.status in m.WRONG else ""


def _share_column(every: Sequence[Sequence[Run]], bar: int, unicode: bool) -> list[Span]:
    chosen = [worst([run for run in runs if run.ceiling]) if any(r.ceiling for r in runs) else None for runs in every]
    shares = [
        percent(run.ceiling.ratio) if run and run.ceiling and run.status not in _NO_RATE else INAPPLICABLE
        for run in chosen
    ]
    if all(share == INAPPLICABLE for share in shares):
        return [("", "")] * len(every)
    wide = max(map(len, shares))
    cells: list[Span] = []
    for run, share in zip(chosen, shares, strict=True):
        if run is None or run.ceiling is None or share == INAPPLICABLE:
            cells.append((f"{'':{bar}}{'  ' if bar else ''}{share:>{wide}}", "dim"))
            continue
        drawn = "" if run.status in m.WRONG else _bar(run.ceiling.ratio, bar, unicode)
        cells.append((f"{drawn:{bar}}{'  ' if bar else ''}{share:>{wide}}", "fail" if run.status in m.WRONG else ""))
    return cells


def _bar(ratio: float, length: int, unicode: bool) -> str:
    share = max(0.0, min(1.0, ratio)) * length
    if not unicode:
        return "#" * round(share)
    whole = int(share)
    return "▉" * whole + _EIGHTHS[int((share - whole) * 8)]


def _state_column(every: Sequence[Sequence[Run]]) -> list[Span]:
    """The worst state of each row, with how many have it where not all do; nothing where all are ok."""
    if all(run.status == m.OK for runs in every for run in runs):
        return [("", "")] * len(every)
    cells: list[Span] = []
    for runs in every:
        if not runs:
            cells.append((UNKNOWN, "dim"))
            continue
        state = worst(runs).status
        count = sum(run.status == state for run in runs)
        of = f" in {count} of {len(runs)}" if count < len(runs) and state != m.OK and len(runs) > 1 else ""
        cells.append((f"{clean(state)}{of}", _STATES.get(state, "warn")))
    return cells


def _path_column(every: Sequence[Sequence[Run]], has_protocol: bool) -> list[Span]:
    """`eth0, proven`; `memory`, which no counter proves; `–` for what is mapped, or never arrived."""
    cells: list[Span] = []
    for runs in every:
        paths = [run.path for run in runs if run.path]
        path = next((one for one in paths if one.verdict == m.WENT_ELSEWHERE), paths[0] if paths else None)
        if path is None:
            went = any(run.status not in _NO_RATE for run in runs)
            cells.append((UNKNOWN if went else INAPPLICABLE, "dim"))
            continue
        is_plain = path.claimed == _MEMORY and path.verdict == m.UNVERIFIED
        told = [path.claimed, "" if is_plain else _VERDICTS.get(path.verdict, path.verdict)]
        if has_protocol and path.verdict != m.WENT_ELSEWHERE:
            told.append(path.protocol or "")
        style: Style = (
            "fail"
            if path.verdict == m.WENT_ELSEWHERE
            else "dim"
            if path.verdict == m.UNVERIFIED and not is_plain
            else ""
        )
        cells.append((clean(", ".join(filter(None, told))), style))
    return cells
