"""The last lines of a benchmark: what was measured, what was not, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from raxl.model import measurement as m
from raxl.model.measurement import Bench, Regression, Run
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_faults import badness, tried
from raxl.render.bench_notes import measured
from raxl.render.bench_pairs import CEILINGS, Group, differ, key, middle
from raxl.render.bench_screening import further, screened
from raxl.render.bench_slow import subject
from raxl.render.bench_sync import summary
from raxl.render.bench_units import percent, rate, size
from raxl.render.naming import counted
from raxl.render.quantity import listed

_MOST_NAMES = 3
_STEPS = ("install", "smaller --sizes")
"""What a reason says that has a step to take in it."""
_STATES = {m.MISMATCH: "did not go where it claims", m.SUSPECT: "is faster than it can be", m.CORRUPT: "is corrupt"}
_STATES_OF_MANY = {
    m.MISMATCH: "did not go where they claim",
    m.SUSPECT: "are faster than they can be",
    m.CORRUPT: "are corrupt",
}


def sentences(document: Bench, groups: Sequence[Group]) -> list[str]:
    """What could be read out on a call; the last one says what to do, where there is something to do."""
    told = [_measured(document, groups), _wrong(document), _analysed(document)]
    return [" ".join(filter(None, told)), *filter(None, [further(document), _next(document)])]


def _measured(document: Bench, groups: Sequence[Group]) -> str:
    names = measured(document)
    missing = {run.transport for run in document.runs if run.status == m.UNAVAILABLE}
    if not groups and (told := summary(document.runs)):
        return told
    if not groups and document.faults and not missing:
        done = len(tried(document.faults))
        return f"{counted(done, 'fault')} tried; no speed was measured." if done else "No fault could be tried."
    if not groups:
        if missing:
            every = "the transport" if len(missing) == 1 else f"none of the {len(missing)} transports"
            return f"Nothing was measured: {every} can{'not' if len(missing) == 1 else ''} be used here."
        return "Nothing was measured."
    ways = sum(len(group.pairs) for group in groups)
    sizes = len({run.size_bytes for group in groups for run in group.runs})
    if not names:
        return f"No figure of {counted(ways, 'pair')} counts."
    what = f"Measured {counted(len(names), 'transport')} on {counted(ways, 'pair')} at {counted(sizes, 'size')}"
    what = f"{words}, on {counted(ways, 'pair')}" if (words := screened(document)) else what
    if all(run.verified for run in document.runs if _counts(run) and run.status != m.UNAVAILABLE):
        what += ", every byte compared"
    never = len(missing - set(names))
    lacking = f" {counted(never, 'transport')} {'is' if never == 1 else 'are'} not available." if never else ""
    return f"{what}{_fastest(groups)}.{lacking}"


def _fastest(groups: Sequence[Group]) -> str:
    """`; tcp is the fastest at 64 MiB, 119 MB/s, 99 % of the ceiling`: of the pairs that are most."""
    rule = max(groups, key=lambda group: len(group.pairs))
    runs = [run for run in _at_headline(rule) if run.bandwidth_bytes_per_second and _counts(run)]
    few = 2 * len(rule.pairs) < sum(len(group.pairs) for group in groups)
    if not runs or few or rule.pairs[0].pattern in m.COLLECTIVES:
        return ""
    chosen = [middle([run for run in runs if key(run) == line]) for line in dict.fromkeys(map(key, runs))]
    rivals = [run for run in chosen if run and run.transport not in CEILINGS] or [run for run in chosen if run]
    best = max(rivals, key=lambda run: _speed(run))
    of = f", {percent(best.ceiling.ratio)} of the ceiling" if best.ceiling else ""
    where = "" if len(groups) == 1 else f" on {counted(len(rule.pairs), 'pair')}"
    name = bench_names.lines(rule.keys)[key(best)]
    of_what = " of those that move bytes" if any(run.status == m.MAPPED for run in _at_headline(rule)) else ""
    does = f"is the fastest{of_what}{where}:" if len(rivals) > 1 else f"reaches{where}"
    ways = [_speed(run) for run in runs if key(run) == key(best)]
    if rule.is_one and differ(rule.pairs[0]) and len(ways) > 1:
        return f"; {name} {does} {rate(max(ways))} one way, {rate(min(ways))} the other at {size(rule.headline)}"
    return f"; {name} {does} {rate(_speed(best))} at {size(rule.headline)}{of}"


def _at_headline(group: Group) -> list[Run]:
    return [run for run in group.runs if run.size_bytes == group.headline]


def _counts(run: Run) -> bool:
    return run.status not in (*m.WRONG, m.FAILED, m.MAPPED)


def _speed(run: Run) -> float:
    return run.bandwidth_bytes_per_second.median if run.bandwidth_bytes_per_second else 0.0


def _wrong(document: Bench) -> str:
    """`1 row did not go where it claims (rdt-nixl). 2 rows failed (tcp).`"""
    counts = Counter(run.status for run in document.runs)
    told = []
    for status in (m.CORRUPT, m.MISMATCH, m.SUSPECT, m.FAILED):
        if not counts[status]:
            continue
        names = list(dict.fromkeys(run.transport for run in document.runs if run.status == status))
        which = [bench_names.transport(name) for name in names[:_MOST_NAMES]]
        more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        words = (_STATES if counts[status] == 1 else _STATES_OF_MANY).get(status, "failed")
        told.append(f"{counted(counts[status], 'row')} {words} ({listed([*which, *more])}).")
    return " ".join(told)


def _analysed(document: Bench) -> str:
    told = []
    if document.slow:
        names = list(dict.fromkeys(map(subject, document.slow)))
        more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        told.append(f"Slow: {listed([*names[:_MOST_NAMES], *more])}.")
    if document.regressions:
        told.append(_beside_baseline(document.regressions))
    if done := tried(document.faults):
        bad = sum(badness(one) > 0 for one in done)
        of = counted(len(done), "fault")
        badly = of if bad == len(done) else f"{bad} of {of}"
        told.append(f"{of}: each gave an error and left nothing." if not bad else f"{badly} did not end well.")

    return " ".join(told)


def _beside_baseline(found: Sequence[Regression]) -> str:
    """`Nothing worse than the baseline, 2 not comparable.`: well is only what was compared."""
    counts = Counter(one.status for one in found)
    worse = f"{counted(counts[m.REGRESSED], 'figure')} worse than the baseline" if counts[m.REGRESSED] else ""
    unlike = f"{counts[m.INCOMPARABLE]} not comparable" if counts[m.INCOMPARABLE] else ""
    well = "nothing worse than the baseline"
    if counts[m.INCOMPARABLE] == len(found):
        well, unlike = "no figure could be compared with the baseline", ""
    text = ", ".join(filter(None, (worse or well, unlike)))
    return f"{text[:1].upper()}{text[1:]}."


def _next(document: Bench) -> str:
    """The one step to take first."""
    if document.slow:
        return f"Next: {_step(document.slow[0].next_command)}" if document.slow[0].next_command else ""
    states = {run.status for run in document.runs}
    if states & set(m.WRONG):
        return "Next: put right what is marked above and measure again."
    if any(one.status == m.REGRESSED for one in document.regressions):
        return "Next: raxl diff with a snapshot of before says what changed."
    is_usable = bool(states - {m.UNAVAILABLE, m.FAILED})
    # What is not available is no step where others are.
    without = [run for run in document.runs if run.status == m.FAILED or not is_usable]
    steps = [run.error for run in without if run.error and any(word in run.error for word in _STEPS)]
    if steps or (states and not is_usable):
        return f"Next: {_step(steps[0])}" if steps else ""
    if not document.runs and not document.faults:
        return "Next: raxl bench-transport --pairs all."
    if states & {m.NOISY, m.UNSTABLE}:
        return "Next: measure again when the nodes are idle."
    return ""


def _step(text: str) -> str:
    shown = clean(text).strip()
    return shown if shown.endswith(".") else f"{shown}."
