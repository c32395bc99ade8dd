"""What is odd about rows of a benchmark, in calm words; and what could not be measured, with how to get it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from raxl.model import measurement as m
from raxl.model.measurement import Bench, Path, Run
from raxl.model.printable import clean
from raxl.render import bench_names
from raxl.render.bench_pairs import Group, Key, Pair, Way, key, pairs, slower
from raxl.render.bench_units import amount, rate, size, unbroken
from raxl.render.naming import counted
from raxl.render.quantity import listed
from raxl.render.text import Line, Page, Style
from raxl.render.unknown import REMARK, UNKNOWN

_STYLES: dict[str, Style] = {m.SUSPECT: "fail", m.MISMATCH: "fail", m.CORRUPT: "fail", m.FAILED: "fail"}
_WENT = "it went by "
_OF_STATUS = re.compile(
    r".* moved [0-9]+ of [0-9]+ bytes"
    rf"|{_WENT}.*"
    r"|faster than its .* can be: another path, or a cache"
    r"|the rate changed while it was measured, by a factor of [0-9.]+"
    r"|[0-9.]+ processes wanted to run on [0-9]+ cores before raxl began"
    r"|the transport waits in steps of .*"
)
"""Parts of a row's words that say no more than its status, told once for all rows of it."""
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MOST_NOTES = 5
_MOST_SIZES = 3
_MOST_REASONS = 6
_MOST_STALLS = 3
_STALLED = 0.05
"""Stalls of fewer transfers than this share are in the JSON alone."""
_LAST = len(m.STATUSES)


class _Note(NamedTuple):
    """A line below a table."""

    rank: int
    """The highest first."""
    style: Style
    text: str


def notes(page: Page, group: Group, load: str = "") -> list[Line]:
    """A line for each thing that is odd about a group's runs, the worst first. `load`: what is told of nodes that were
    busy (`busy`), where it is told here."""
    names = bench_names.lines(group.keys)
    found = [*_of_states(group, names), *_remarks(group, names), *_stalled(group, names)]
    found += _one_sided(group.pairs[0], names) if group.is_one else []
    found.sort(key=lambda note: -note.rank)
    lines = page.fold(unbroken(f"noisy: {load}"), 3, lead=(f"{REMARK}  ", "warn")) if load else []
    for note in found[:_MOST_NOTES]:
        lines += page.fold(unbroken(note.text), 3, lead=(f"{REMARK}  ", note.style))
    if len(found) > _MOST_NOTES:
        lines += page.fold(f"{counted(len(found) - _MOST_NOTES, 'further note')} in the JSON", 3, "dim", ("   ", ""))
    return lines


def busy(runs: Iterable[Run]) -> str:
    """`3.9 processes wanted to run on 2 cores before raxl began`: the most that a noisy row says; empty without one."""
    told = [part for run in runs if run.status == m.NOISY for part in _parts(run) if _OF_STATUS.fullmatch(part)]
    return max(told, key=_first_number, default="the machine was busy meanwhile" if _has_noise(runs) else "")


def _has_noise(runs: Iterable[Run]) -> bool:
    return any(run.status == m.NOISY for run in runs)


def _first_number(text: str) -> float:
    found = _NUMBER.search(text)
    return float(found[0]) if found else 0.0


def _parts(run: Run) -> list[str]:
    return [part for part in clean(run.error or "").strip().split("; ") if part]


def _own(run: Run) -> list[str]:
    """The parts of a row's words that its status alone does not say."""
    return [part for part in _parts(run) if not _OF_STATUS.fullmatch(part)]


def _of_states(group: Group, names: dict[Key, str]) -> list[_Note]:
    """What makes a status, once for all rows that have it for the same reason."""
    found: dict[tuple[str, ...], list[Run]] = {}
    for run in group.runs:
        if run.status in (m.OK, m.NOISY):
            continue
        # What a figure is wrong by is a transport's own; what failed says why; the rest is alike for all.
        one = (run.transport,) if run.status in (m.MISMATCH, m.SUSPECT) else ()
        why = tuple(_NUMBER.sub("0", part) for part in _own(run)) if run.status in (*m.WRONG, m.FAILED) else ()
        found.setdefault((run.status, *one, *why), []).append(run)
    return [
        _Note(
            m.STATUSES.index(status) if status in m.STATUSES else _LAST,
            _STYLES.get(status, "dim" if status == m.MAPPED else "warn"),
            f"{_subject(group, runs, names)}: {_words(runs)}",
        )
        for (status, *_), runs in found.items()
    ]


def _words(runs: Sequence[Run]) -> str:
    """`did not go where it claims (eth0 moved 200 kB of 311 MB; it went by cma/memory)`: what the status means, by the
    largest of the rows."""
    run = max(runs, key=lambda one: one.size_bytes)
    status = clean(run.status)
    told = {
        m.MISMATCH: f"did not go where it claims{_evidence(run)}",
        m.SUSPECT: f"faster than {clean(run.ceiling.name) if run.ceiling else 'it'} can be{_excess(run)}",
        m.CORRUPT: "other bytes arrived than were sent, so no figure of it counts",
        m.FAILED: "failed",
        m.UNSTABLE: f"the rate changed while it was measured{_factor(runs)}",
        m.QUANTISED: f"the clock of the transport is coarser than the transfer is long{_steps(run)}",
        m.MAPPED: "mapped, nothing moved: the target sees the source’s memory",
    }.get(run.status, status)
    return ": ".join([told, *(["; ".join(_own(run))] if run.status in (*m.WRONG, m.FAILED) and _own(run) else [])])


def _factor(runs: Sequence[Run]) -> str:
    """`, by a factor of up to 4.9`."""
    factors = [_first_number(part) for run in runs for part in _parts(run) if _OF_STATUS.fullmatch(part)]
    return f", by a factor of {'up to ' if len(factors) > 1 else ''}{max(factors):g}" if factors else ""


def _steps(run: Run) -> str:
    """` (it waits in steps of 1 ms)`."""
    told = [part.removeprefix("the transport ") for part in _parts(run) if _OF_STATUS.fullmatch(part)]
    return f" (it {told[0]})" if told else ""


def _remarks(group: Group, names: dict[Key, str]) -> list[_Note]:
    """What a transport says of its rows beside their status, and rows whose bytes were not compared."""
    found: dict[str, list[Run]] = {}
    for run in group.runs:
        if run.status == m.OK and not run.verified:
            found.setdefault("the bytes were not compared", []).append(run)
        for part in _own(run) if run.status not in (*m.WRONG, m.FAILED) else ():
            found.setdefault(part, []).append(run)
    return [
        _Note(0 if runs[0].verified else 1, "dim", f"{_subject(group, runs, names)}: {words}")
        for words, runs in found.items()
    ]


def _stalled(group: Group, names: dict[Key, str]) -> list[_Note]:
    """`some transfers took more than three times the median: rdt-gloo at 8 B (10 of 78)`, the worst first. On a busy
    machine that is what one expects."""
    found = [run for run in group.runs if run.stalls > max(1, _STALLED * run.samples) and run.status != m.NOISY]
    if not found:
        return []
    found.sort(key=lambda run: -run.stalls / run.samples)
    told = [f"{names[key(run)]} at {size(run.size_bytes)} ({run.stalls} of {run.samples})" for run in found]
    more = len(found) - _MOST_STALLS
    told = [*told[:_MOST_STALLS], *([counted(more, "other row")] if more > 0 else [])]
    text = f"some transfers took more than three times the median: {listed(told)}"
    return [_Note(m.STATUSES.index(m.NOISY), "warn", text)]


def _one_sided(pair: Pair, names: dict[Key, str]) -> list[_Note]:
    """Transports that are slower one way."""
    ways: dict[Way, list[str]] = {}
    for line, way in slower(pair).items():
        ways.setdefault(way, []).append(names[line])
    return [
        _Note(
            m.STATUSES.index(m.UNSTABLE), "warn", f"{listed(slow)}: slower {bench_names.way(*way)} than the other way"
        )
        for way, slow in ways.items()
    ]


def _evidence(run: Run) -> str:
    """` (eth0 moved 200 kB of 311 MB; it went by cma)`."""
    path: Path | None = run.path
    if path is None:
        return ""
    told = [
        f"{clean(one.name)} moved {amount(one.moved_bytes)} of {amount(one.expected_bytes)}" for one in path.devices
    ]
    if path.protocol:
        told.append(f"{_WENT}{clean(path.protocol)}")
    elif len(path.devices) < 2:
        told += [part for part in _parts(run) if part.startswith(_WENT)]
    return f" ({'; '.join(told)})" if told else ""


def _excess(run: Run) -> str:
    if run.ceiling is None or run.bandwidth_bytes_per_second is None:
        return ""
    ceiling = rate(run.ceiling.bandwidth_bytes_per_second)
    return f" ({rate(run.bandwidth_bytes_per_second.median)}, ceiling {ceiling}): another path, or a cache"


def _subject(group: Group, runs: Sequence[Run], names: dict[Key, str]) -> str:
    """`rdt-nixl at 8 B`, `tcp up to 1 KiB, rdt-gloo at 1 MiB`, `tcp and nixl on 3 of 31 pairs`."""
    told: dict[str, list[str]] = {}
    for line in dict.fromkeys(map(key, runs)):
        sizes = sorted({run.size_bytes for run in runs if key(run) == line})
        every = sorted({run.size_bytes for run in group.runs if key(run) == line})
        told.setdefault(_sizes(sizes, every) if len(sizes) < len(every) else "", []).append(names[line])
    where = ""
    ends = {frozenset((run.source, run.target)) for run in runs}
    if not group.is_one and len(ends) < len(group.pairs):
        one = bench_names.way(runs[0].source, runs[0].target)
        where = f" on {one}" if len(ends) == 1 else f" on {len(ends)} of {counted(len(group.pairs), 'pair')}"
    elif group.is_one and group.pairs[0].back and len({(run.source, run.target) for run in runs}) == 1:
        where = f", {bench_names.way(runs[0].source, runs[0].target)}"
    return ", ".join(f"{listed(lines)}{at}" for at, lines in told.items()) + where


def _sizes(sizes: Sequence[int], every: Sequence[int]) -> str:
    """` at 8 B`, ` up to 1 MiB`, ` from 16 MiB`: which of all sizes."""
    if len(sizes) > 1 and list(sizes) == list(every[: len(sizes)]):
        return f" up to {size(sizes[-1])}"
    if len(sizes) > 1 and list(sizes) == list(every[-len(sizes) :]):
        return f" from {size(sizes[0])}"
    told = [size(one) for one in sizes[:_MOST_SIZES]]
    more = len(sizes) - len(told)
    return f" at {listed([*told, *([counted(more, 'other size')] if more else [])])}"


def unavailable(page: Page, document: Bench) -> list[Line]:
    """What could not be measured: transports by their reason, in one paragraph."""
    found: dict[str, dict[str, set[Way]]] = {}
    for run in document.runs:
        if run.status == m.UNAVAILABLE:
            why = clean(run.error or "").strip().rstrip(".") or "no reason given"
            found.setdefault(why, {}).setdefault(run.transport, set()).add(Way(run.source, run.target))
    if not found:
        return []
    every = {Way(run.source, run.target) for run in document.runs}
    reasons = sorted(found.items(), key=lambda item: -len(item[1]))
    told = [f"{_transports(transports, every)}: {why}" for why, transports in reasons[:_MOST_REASONS]]
    if len(reasons) > _MOST_REASONS:
        told.append(f"{counted(len(reasons) - _MOST_REASONS, 'other reason')} in the JSON")
    return page.fold(f"not available  {'; '.join(told)}", 3, "dim", (f"{UNKNOWN}  ", "dim"))


def _transports(transports: dict[str, set[Way]], every: set[Way]) -> str:
    names = ", ".join(bench_names.transport(name) for name in transports)
    ways = set[Way]().union(*transports.values())
    if ways == every:
        return names
    return f"{names} on {bench_names.ways(sorted(ways, key=str))}"


def measured(document: Bench) -> list[str]:
    """The transports of which a figure counts, in the order in which they were measured."""
    found = [run for pair in pairs(document.runs) for run in pair.runs]
    return list(dict.fromkeys(run.transport for run in found if run.status not in (*m.WRONG, m.FAILED)))
