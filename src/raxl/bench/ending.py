"""How a run ends: 0, 1 or 3, and which rows make it so.

1 where something that was read is wrong: corrupt data, a path that is another, a figure that cannot be true, a node or
link that is named as slow, a regression. Else 3 where something could not be measured: a transport that is there and
failed; one that was named and is not available, or was not tried at all; a row that stands in the baseline and cannot
be compared, whichever of the two has no figure that counts.

With `--transport all`, what is unavailable has no effect, unless nothing at all could be measured. Nor has a row that
the baseline does not know, or that this run was not asked for, as long as one figure was compared: a baseline beside
which none is has not been passed. Nor has what a fault does, which is what was asked; one that could not be tried is
like a row that could not be measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from raxl.bench.compare import NOT_IN_BASELINE
from raxl.model.measurement import FAILED, INCOMPARABLE, OK, REGRESSED, UNAVAILABLE, WRONG, Bench, Endpoint, Regression

DONE, IS_WRONG, INCOMPLETE = 0, 1, 3


class Ending(NamedTuple):
    code: int
    reasons: tuple[str, ...]
    """What makes it so, one a line; empty with 0."""


def ending(bench: Bench, named: Collection[str] = (), *, has_baseline: bool = False) -> Ending:
    """`named` are the transports that the command line names; empty with `all`. `has_baseline`: one was given."""
    if wrong := tuple(dict.fromkeys(_wrong(bench))):
        return Ending(IS_WRONG, wrong)
    missing = [*_missing(bench, named), *(_uncompared(bench) if has_baseline else ())]
    if missing:
        return Ending(INCOMPLETE, tuple(dict.fromkeys(missing)))
    return Ending(DONE, ())


def _wrong(bench: Bench) -> Iterator[str]:
    for run in bench.runs:
        if run.status in WRONG:
            yield f"{_row(run.transport, run.source, run.target)}, {run.size_bytes} bytes: {run.status}"
    for slow in bench.slow:
        yield f"{slow.kind} {slow.subject} is slow"
    for one in bench.regressions:
        if one.status == REGRESSED:
            yield f"{_row(one.transport, one.source, one.target)}, {one.size_bytes} bytes: {one.status}"


def _missing(bench: Bench, named: Collection[str]) -> Iterator[str]:
    for run in bench.runs:
        if run.status == FAILED or (run.status == UNAVAILABLE and run.transport in named):
            yield f"{_row(run.transport, run.source, run.target)}: {run.status}"
    for fault in bench.faults:
        if fault.status == FAILED or (fault.status == UNAVAILABLE and fault.transport in named):
            yield f"{_row(fault.transport, fault.source, fault.target)}, {fault.kind}: {fault.status}"
    if bench.faults and all(fault.status != OK for fault in bench.faults):
        yield "no fault could be tried"
    tried = {run.transport for run in bench.runs} | {fault.transport for fault in bench.faults}
    for transport in named:
        if transport not in tried:
            yield f"{transport}: not measured"
    if not bench.faults and all(run.status == UNAVAILABLE for run in bench.runs):
        yield "nothing could be measured"
    for node in (bench.environment.get("screen") or {}).get("lost") or ():
        yield f"{node}: took no part in the screening to its end"


def _uncompared(bench: Bench) -> Iterator[str]:
    if all(one.status == INCOMPARABLE for one in bench.regressions):
        yield "no figure could be compared with the baseline"
    rows = {(run.transport, run.source, run.target, run.pattern, run.size_bytes) for run in bench.runs}
    for one in bench.regressions:
        if one.status == INCOMPARABLE and one.reason != NOT_IN_BASELINE and _key(one) in rows:
            row = _row(one.transport, one.source, one.target)
            yield f"{row}, {one.size_bytes} bytes: cannot be compared ({one.reason})"


def _key(one: Regression) -> tuple[str, Endpoint, Endpoint, str, int]:
    return one.transport, one.source, one.target, one.pattern, one.size_bytes


def _row(transport: str, source: Endpoint, target: Endpoint) -> str:
    return f"{transport} {source.node} → {target.node}"
