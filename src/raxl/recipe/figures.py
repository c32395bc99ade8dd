"""A recipe's expectations beside what was measured. Pure.

A good number by another way is a failure, whatever it is; what could not be measured, or only on a busy machine, is
neither good nor bad.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from raxl.model.measurement import (
    CORRUPT,
    MAPPED,
    MISMATCH,
    NOISY,
    QUANTISED,
    SUSPECT,
    UNAVAILABLE,
    UNSTABLE,
    Run,
)
from raxl.model.measurement import FAILED as NOT_MEASURED
from raxl.model.measurement import OK as SOUND
from raxl.model.recipe import OWN_BASELINE, Expectation, Source
from raxl.model.verification import Baseline, Figure, OwnFigure
from raxl.recipe.carried import RIGHT, UNPROVEN, UNTOLD, WRONG, Carried, carried
from raxl.recipe.measurable import UNSIZED, Measured

FAIL, WARN, UNKNOWN, SKIP, FIRST, OK = "fail", "warn", "unknown", "skip", "baseline", "ok"
_LATENCY, _BUS = "latency_seconds", "bus_bandwidth_bytes_per_second"
_SHAKY = {
    NOISY: "the machine was busy",
    UNSTABLE: "the rate changed while it was measured",
    QUANTISED: "the transport's own clock is coarser than that",
}

_EXPLAINED = 0.25
"""A share of what fails: a row that is worse than that fails on a busy machine too, which does not explain it."""


class Beside(NamedTuple):
    """What figures are held against, besides the recipe's own."""

    sources: Mapping[str, Source]
    """The recipe's, by id."""
    baseline: Baseline | None = None
    """What this machine reached at its first verification; None where there is none yet."""
    baseline_file: str | None = None
    """Where it is kept; None where there is no place for it."""
    no_place: str = "the recipe is not applied"
    """Why."""
    has_accelerators: bool = False
    software: Mapping[str, str] = {}
    """The versions that were seen."""


def figures(
    expectations: Sequence[Expectation], measured: Sequence[Measured], refused: Mapping[str, str], beside: Beside
) -> tuple[Figure, ...]:
    """One a row that was measured; one for each expectation that was not, with the reason. In the recipe's order."""
    return tuple(one for expectation in expectations for one in _of(expectation, measured, refused, beside))


def _of(one: Expectation, measured: Sequence[Measured], refused: Mapping[str, str], beside: Beside) -> Iterator[Figure]:
    bare = _bare(one, beside)
    if one.id in refused:
        yield replace(bare, status=SKIP, message=refused[one.id])
        return
    rows = [run for had in measured for run in had.rows(one)]
    for run in rows:
        yield _held(one, run, bare, beside)
    if not rows:
        yield _unmeasured(one, measured, bare, beside)


def _bare(one: Expectation, beside: Beside) -> Figure:
    source = beside.sources.get(one.source or "")
    return Figure(
        id=one.id,
        collective=one.collective,
        nodes=one.nodes,
        ranks=one.ranks,
        size_bytes=one.size_bytes,
        algorithm=one.algorithm,
        transport=one.transport,
        metric=one.metric,
        kind=one.kind,
        expected=one.value,
        warn_below=one.warn_below,
        fail_below=one.fail_below,
        expected_path=one.path,
        status=UNKNOWN,
        message="",
        source=source.url if source else None,
        source_read=source.read if source else None,
        date=one.date,
        unverified=one.unverified,
        software=one.software,
    )


def _unmeasured(one: Expectation, measured: Sequence[Measured], bare: Figure, beside: Beside) -> Figure:
    """What was to be measured, and gave no row of this size."""
    about = [had for had in measured if had.is_about(one)]
    failed = next((had.failed for had in about if had.failed), None)
    if failed is not None:
        return replace(bare, message=f"it could not be measured: {failed}")
    # A transport that is unavailable, or never got as far, gives one row for all sizes.
    silent = (UNAVAILABLE, NOT_MEASURED)
    rows = [run for had in about for run in had.runs if run.transport == one.transport and run.status in silent]
    row = rows[0] if rows else None
    return _held(one, row, bare, beside) if row is not None else replace(bare, message="it was not measured")


def _held(one: Expectation, run: Run, bare: Figure, beside: Beside) -> Figure:
    """An expectation beside one row."""
    between = f"{run.source.node} → {run.target.node}"
    figure = replace(bare, between=between, row_status=run.status)
    if run.status == UNAVAILABLE:
        return _unavailable(one, run, figure, beside)
    if run.status == NOT_MEASURED:
        return replace(figure, message=f"it could not be measured: {run.error or 'it failed'}")
    went = carried(run, one.path)
    figure = replace(
        figure,
        measured_size_bytes=run.size_bytes,
        path=went.way,
        path_verdict=run.path.verdict if run.path else None,
        verified_bytes=run.verified,
    )
    figure = _with_value(one, run, figure)
    if run.status in (CORRUPT, SUSPECT, MISMATCH):
        return replace(figure, status=FAIL, message=_wrong(run, figure))
    if went.state == WRONG:
        words = f"it went by {went.way}, and the figure is one of {' or '.join(one.path)}: the number says nothing"
        return replace(figure, status=FAIL, message=words)
    return _compared(one, run, figure, went, beside)


def _wrong(run: Run, figure: Figure) -> str:
    words = {CORRUPT: "wrong data arrived", SUSPECT: "it cannot be true", MISMATCH: "it went another way"}[run.status]
    return f"{words}: {run.error or figure.path or run.status}"


def _unavailable(one: Expectation, run: Run, figure: Figure, beside: Beside) -> Figure:
    """What was never there is not missed; a figure that somebody published, or that was reached here, is."""
    why = run.error or "it is not available"
    was_here = one.kind == OWN_BASELINE and _own(one, figure, beside.baseline) is not None
    if was_here:
        return replace(figure, message=f"it was measured here before, and is not available now: {why}")
    if one.kind == OWN_BASELINE or not beside.has_accelerators:
        return replace(figure, status=SKIP, message=f"{one.transport} is not available here: {why}")
    return replace(figure, message=f"{one.transport} is not available: {why}")


def _with_value(one: Expectation, run: Run, figure: Figure) -> Figure:
    """With the row's own number, and the interval that holds it."""
    if one.metric == _LATENCY:
        time = run.latency_seconds
        return replace(figure, measured=time.p50, ci95_low=time.ci95_low, ci95_high=time.ci95_high) if time else figure
    rate = run.bandwidth_bytes_per_second
    if rate is None:
        return figure
    factor = 1.0
    if one.metric == _BUS:
        if run.bus_bandwidth_bytes_per_second is None:
            return figure
        factor = run.bus_bandwidth_bytes_per_second / rate.median
    return replace(
        figure, measured=rate.median * factor, ci95_low=rate.ci95_low * factor, ci95_high=rate.ci95_high * factor
    )


def _compared(one: Expectation, run: Run, figure: Figure, went: Carried, beside: Beside) -> Figure:
    if not figure.measured or figure.measured <= 0:
        words = "nothing was moved, so there is no rate" if run.status == MAPPED else "the row has no such figure"
        return replace(figure, message=words)
    expected = one.value
    if one.kind == OWN_BASELINE:
        own = _own(one, figure, beside.baseline)
        if own is None:
            return _first(run, figure, went, beside)
        expected = own.value
        figure = replace(figure, expected=expected, source=beside.baseline_file, date=own.created)
        if not one.path and _device(own.path) != _device(figure.path):
            words = f"it went by {figure.path or 'an unknown way'}, and the baseline by {own.path or 'an unknown one'}"
            return replace(figure, message=words)
    if expected is None or expected <= 0:
        return replace(figure, message="there is nothing to hold it against")
    reached = figure.measured or 0.0
    ratio = expected / reached if one.metric == _LATENCY else reached / expected
    status, words = _weighed(one, run, ratio, went)
    return replace(figure, ratio=ratio, status=status, message="; ".join([words, *_remarks(one, run, beside)]))


def _weighed(one: Expectation, run: Run, ratio: float, went: Carried) -> tuple[str, str]:
    """The status, and the reason for it."""
    share = f"{ratio:.0%} of the {_named(one)}"
    shaky = _SHAKY.get(run.status)
    if ratio < one.fail_below:
        if shaky and ratio >= _EXPLAINED * one.fail_below:
            return UNKNOWN, f"{share}, but {shaky}: measure it again when it is quiet"
        if one.size_bytes is None:
            return WARN, f"{share}, which was published without a size"
        return FAIL, f"{share}, below {one.fail_below:.0%}"
    if went.state == UNTOLD:
        return UNKNOWN, f"{share}, but nothing tells which way it went, and it counts by {' or '.join(one.path)} alone"
    if shaky:
        return WARN, f"{share}, though {shaky}"
    if not run.verified:
        return WARN, f"{share}, but the bytes were not compared"
    if ratio < one.warn_below:
        return WARN, f"{share}, below {one.warn_below:.0%}"
    if went.state == UNPROVEN:
        return WARN, f"{share}, but no counter proves that it went by {went.way}"
    return OK, share


def _named(one: Expectation) -> str:
    return {OWN_BASELINE: "own baseline", "vendor-floor": "vendor's floor"}.get(one.kind, "published figure")


def _remarks(one: Expectation, run: Run, beside: Beside) -> list[str]:
    """What makes the two less comparable than they look."""
    told = []
    other = [
        f"{name} {version}, here {beside.software[name]}"
        for name, version in one.software.items()
        if name in beside.software and beside.software[name] != version
    ]
    if other:
        told.append(f"it was measured with {' and '.join(other)}")
    if one.size_bytes is None and one.kind != OWN_BASELINE:
        told.append(f"measured with {run.size_bytes >> 20} MiB")
    return told


def _first(run: Run, figure: Figure, went: Carried, beside: Beside) -> Figure:
    """The first figure of this machine: later ones are held against it, where there is a place to keep it."""
    if went.state not in (RIGHT, UNPROVEN):
        return replace(figure, message="no baseline: nothing tells which way it went")
    if not run.verified:
        return replace(figure, message="no baseline: the bytes were not compared")
    shaky = _SHAKY.get(run.status)
    if beside.baseline_file is None:
        words = f"nothing to compare with, and no place to keep it: {beside.no_place}"
        return replace(figure, status=SKIP, message=words)
    until = f", until one is measured without that: {shaky}" if shaky else ""
    return replace(
        figure, status=FIRST, source=beside.baseline_file, message=f"the first figure here, kept as the baseline{until}"
    )


def _own(one: Expectation, figure: Figure, baseline: Baseline | None) -> OwnFigure | None:
    """What this machine reached before, between the same ends with the same transport and size."""
    wanted = (one.id, figure.between, one.metric, one.transport)
    for was in baseline.figures if baseline else ():
        if (was.id, was.between, was.metric, was.transport) == wanted and was.size_bytes == (one.size_bytes or UNSIZED):
            return was
    return None


def _device(way: str | None) -> str | None:
    """Of a way in words its device: what a library says of it may change from run to run."""
    return way.partition(" (")[0] if way is not None else None


def kept(found: Sequence[Figure], baseline: Baseline | None, created: str) -> tuple[OwnFigure, ...]:
    """The baseline with the figures that were measured for the first time; one of a quiet machine takes the place of
    one that was not."""
    own = {(one.id, one.between): one for one in (baseline.figures if baseline else ())}
    for one in found:
        was = own.get((one.id, one.between or ""))
        is_better = was is not None and was.status != SOUND and one.row_status == SOUND and one.status in (OK, WARN)
        if one.kind == OWN_BASELINE and (one.status == FIRST or is_better):
            own[one.id, one.between or ""] = _own_figure(one, created)
    return tuple(own.values())


def _own_figure(one: Figure, created: str) -> OwnFigure:
    return OwnFigure(
        id=one.id,
        between=one.between or "",
        metric=one.metric,
        value=one.measured or 0.0,
        size_bytes=one.measured_size_bytes or 0,
        transport=one.transport or "",
        path=one.path,
        status=one.row_status or "",
        created=created,
    )
