"""A run beside that of a baseline: which rows became slower, which faster, and which cannot be compared.

A row has changed when the intervals are disjoint and the change exceeds the tolerance: the first alone tells of a
fraction of a percent, the second alone of noise. What was measured on other hardware, with other versions or over
another path is incomparable, which is no pass.

`environment["nodes"][NODE]` is read for `hardware` (what the node is, in any form) and `versions` (by library).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from raxl.bench import hardware
from raxl.errors import UsageError
from raxl.model.measurement import (
    CORRUPT,
    FAILED,
    IMPROVED,
    INCOMPARABLE,
    MISMATCH,
    QUANTISED,
    REGRESSED,
    SAME,
    SINGLE,
    SUSPECT,
    UNAVAILABLE,
    Bench,
    Endpoint,
    Path,
    Regression,
    Run,
)
from raxl.transfer.statistics import LEAST_FOR_INTERVAL, Interval

TOLERANCE = 0.10
LATENCY_UP_TO = 65536
"""Up to this size a row is about latency, above it about bandwidth: one verdict a row."""
LATENCY, BANDWIDTH = "latency_seconds", "bandwidth_bytes_per_second"
NOT_IN_BASELINE, NOT_MEASURED = "not in the baseline", "not measured now"
_NO_FIGURE = (SUSPECT, MISMATCH, CORRUPT, FAILED, UNAVAILABLE)

Operation = tuple[str, str, str, str, int, "int | None", str]
"""Transport, pattern, mode, destination, size, window; of weight-sync the tensors and how many actors."""


class Figure(NamedTuple):
    """What is compared of a row, and the interval that holds it."""

    metric: str
    value: float
    known: Interval | None
    """None where an older raxl kept none."""


def tolerance(text: str) -> float:
    """`10%` or `0.1`; a bare number from 1 on could be either, and is refused."""
    words = text.strip()
    try:
        share = float(words[:-1]) / 100 if words.endswith("%") else float(words)
    except ValueError:
        share = math.nan
    if not 0 <= share < 1:
        raise UsageError(f"--tolerance {text!r} is no share", "from 0% to below 100%", "Write 10% or 0.1")
    return share


def regressions(
    before: Bench,
    after: Bench,
    tolerance: float = TOLERANCE,
    libraries: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Regression, ...]:
    """One for each row of `after`, then one for each row of `before` that was not measured again.

    A row's partner is that between the same ends, else, where the baseline knows neither end's node, the middle one of
    those between nodes of the same hardware; what was unavailable then is not in the baseline. `libraries` names by
    transport those whose version matters; all of them where it says nothing. Rows of transports that did not run at all
    are not missed.
    """
    old = _Baseline(before)
    found = [_compared(old.partner(run, after), run, before, after, tolerance, libraries or {}) for run in after.runs]
    ran = {run.transport for run in after.runs}
    there = {_key(run) for run in after.runs}
    missed = (run for run in before.runs if run.transport in ran and _key(run) not in there and old.is_unmatched(run))
    return (*found, *(_incomparable(run, NOT_MEASURED, run, None) for run in missed if _figure(run)))


def _key(run: Run) -> tuple[Operation, Endpoint, Endpoint]:
    return _operation(run), run.source, run.target


def _operation(run: Run) -> Operation:
    who = run.sync
    sync = f"{who.name} {who.tensors} {len(who.trainers)}x{len(who.readers)}" if who is not None else ""
    return (run.transport, run.pattern, run.mode, run.destination, run.size_bytes, run.window, sync)


class _Baseline:
    """The rows of a baseline, to be found by ends or by hardware."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._by_ends = {_key(run): run for run in bench.runs}
        self._by_hardware: dict[Any, list[Run]] = {}
        self._nodes = {node for run in bench.runs for node in (run.source.node, run.target.node)}
        self._matched: set[int] = set()
        for run in bench.runs:
            if (kind := _hardware_key(run, bench)) is not None:
                self._by_hardware.setdefault(kind, []).append(run)

    def partner(self, run: Run, bench: Bench) -> Run | None:
        found = self._by_ends.get(_key(run))
        if found is None and self._nodes.isdisjoint((run.source.node, run.target.node)):
            alike = [one for one in self._by_hardware.get(_hardware_key(run, bench), ()) if _figure(one)]
            alike.sort(key=lambda one: _value(one))
            found = alike[len(alike) // 2] if alike else None
            self._matched.update(map(id, alike))
        return found

    def is_unmatched(self, run: Run) -> bool:
        return id(run) not in self._matched


def _value(run: Run) -> float:
    figure = _figure(run)
    return figure.value if figure else 0.0


def _hardware_key(run: Run, bench: Bench) -> Any:
    ends = [(hardware.of(bench, end.node), end.device.split(":")[0]) for end in (run.source, run.target)]
    if any(known is None for known, _ in ends):
        return None
    return (_operation(run), tuple(repr(end) for end in ends), run.source.node == run.target.node)


def _compared(
    old: Run | None,
    run: Run,
    before: Bench,
    after: Bench,
    tolerance: float,
    libraries: Mapping[str, Sequence[str]],
) -> Regression:
    if old is None or old.status == UNAVAILABLE:
        return _incomparable(run, NOT_IN_BASELINE, None, run)
    why = _differs(old, run, before, after, libraries.get(run.transport))
    was, now = _figure(old), _figure(run)
    if was is not None and now is not None and was.metric != now.metric:
        was, now = _latency(old), _latency(run)
    if why is None and (was is None or now is None):
        why = "no figure in the baseline" if was is None else "no figure now"
    if why is not None or was is None or now is None:
        return _incomparable(run, why or "", old, run)
    change = (now.value - was.value) / was.value
    gain = change if now.metric == BANDWIDTH else -change
    status = SAME
    if abs(change) > tolerance and not _overlap(was, now):
        status = IMPROVED if gain > 0 else REGRESSED
    return _regression(run, now.metric, was.value, now.value, change, status, _remark(old, run, was, now))


def _overlap(one: Figure, other: Figure) -> bool:
    """Whether the noise explains the difference. Of a median without an interval nobody knows, and it does not."""
    if one.known is None or other.known is None:
        return False
    return one.known.low <= other.known.high and other.known.low <= one.known.high


def _remark(old: Run, run: Run, was: Figure, now: Figure) -> str | None:
    words = []
    if old.source != run.source or old.target != run.target:
        words.append(f"beside {old.source.node} → {old.target.node} of the same hardware")
    lacking = [when for when, figure in (("in the baseline", was), ("now", now)) if figure.known is None]
    if lacking:
        words.append(f"no interval {lacking[0]}: by the medians and the tolerance alone")
    return "; ".join(words) or None


def _regression(
    run: Run,
    metric: str,
    before: float | None,
    after: float | None,
    change: float | None,
    status: str,
    reason: str | None,
) -> Regression:
    return Regression(
        run.transport,
        run.source,
        run.target,
        run.pattern,
        run.size_bytes,
        metric,
        before,
        after,
        change,
        status,
        reason,
    )


def _incomparable(run: Run, reason: str, old: Run | None, new: Run | None) -> Regression:
    was, now = (_figure(one) if one else None for one in (old, new))
    known = now or was
    metric = known.metric if known else LATENCY if run.size_bytes <= LATENCY_UP_TO else BANDWIDTH
    values = [figure.value if figure and figure.metric == metric else None for figure in (was, now)]
    return _regression(run, metric, values[0], values[1], None, INCOMPARABLE, reason)


def _figure(run: Run) -> Figure | None:
    """The latency of a small row, the bandwidth of a large one, its latency where it has none."""
    if run.status in _NO_FIGURE:
        return None
    speed = run.bandwidth_bytes_per_second
    if speed is None or run.size_bytes <= LATENCY_UP_TO:
        return _latency(run)
    return Figure(BANDWIDTH, speed.median, Interval(speed.ci95_low, speed.ci95_high)) if speed.median > 0 else None


def _latency(run: Run) -> Figure | None:
    """With its interval, which files of an older raxl have in the bandwidth of the same samples alone; with fewer
    than six samples, from the fastest to the slowest."""
    known, speed = run.latency_seconds, run.bandwidth_bytes_per_second
    if known is None or known.p50 <= 0 or run.status in _NO_FIGURE:
        return None
    if known.ci95_low is not None and known.ci95_high is not None:
        return Figure(LATENCY, known.p50, Interval(known.ci95_low, known.ci95_high))
    if speed is not None and run.mode == SINGLE and speed.ci95_low > 0:
        return Figure(LATENCY, known.p50, Interval(run.size_bytes / speed.ci95_high, run.size_bytes / speed.ci95_low))
    # Of more samples the slowest is what one of them was held up by: as an interval it would explain everything.
    is_all = run.samples < LEAST_FOR_INTERVAL
    return Figure(LATENCY, known.p50, Interval(known.min, known.max) if is_all else None)


def _differs(old: Run, new: Run, before: Bench, after: Bench, libraries: Sequence[str] | None) -> str | None:
    """Why the two rows are not about the same thing; None where they are."""
    for when, run in (("before", old), ("now", new)):
        if run.status in _NO_FIGURE:
            return f"{run.status} {when}"
    if (old.status == QUANTISED) != (new.status == QUANTISED):
        return f"quantised {'before' if old.status == QUANTISED else 'now'}"
    for was, now in ((old.source, new.source), (old.target, new.target)):
        if words := hardware.differs(hardware.of(before, was.node), hardware.of(after, now.node)):
            return f"other hardware: {words}"
        old_ones, new_ones = (hardware.said(*one, "versions") for one in ((before, was.node), (after, now.node)))
        if words := _other_versions(old_ones, new_ones, libraries):
            return f"other versions: {words}"
    return _other_path(old.path, new.path)


def _word(value: Any) -> str:
    return "not known" if value is None else str(value)


def _other_versions(before: Any, after: Any, libraries: Sequence[str] | None) -> str:
    old, new = (said if isinstance(said, Mapping) else {} for said in (before, after))
    names: Iterable[str] = sorted({*old, *new}, key=str) if libraries is None else libraries
    return ", ".join(
        f"{name} {_word(old.get(name))} before, {_word(new.get(name))} now"
        for name in names
        if old.get(name) != new.get(name)
    )


def _other_path(old: Path | None, new: Path | None) -> str | None:
    was, now = (_way(path) for path in (old, new))
    return None if was == now else f"other path: {was} before, {now} now"


def _way(path: Path | None) -> str:
    if path is None:
        return "not known"
    return f"{path.claimed} by {path.protocol}" if path.protocol else path.claimed
