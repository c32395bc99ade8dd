"""What is odd about rows of a benchmark, in calm words; and what could not be measured, with how to get it."""

from __future__ import annotations

from collections.abc import Sequence

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
_CALM = (m.OK, m.MAPPED)
_MOST_NOTES = 8
_MOST_SIZES = 3
_MOST_REASONS = 6


def notes(page: Page, group: Group) -> list[Line]:
    """A line for each thing that is odd about a group's runs, the worst first."""
    names = bench_names.lines(group.keys)
    found: dict[tuple[str, str, bool, str], list[Run]] = {}
    for run in group.runs:
        is_compared = run.verified or run.status != m.OK
        if run.status != m.OK or run.error or run.stalls or not is_compared:
            why = clean(run.error or "").strip()
            found.setdefault((run.status, why, is_compared, run.transport if run.stalls else ""), []).append(run)
    ranked = sorted(found.items(), key=lambda item: -_badness(item[0][0]))
    lines: list[Line] = []
    for (status, *_), runs in ranked[:_MOST_NOTES]:
        style: Style = _STYLES.get(status, "dim" if status in _CALM else "warn")
        words = _words(max(runs, key=lambda run: run.size_bytes))
        lines += page.fold(unbroken(f"{_subject(group, runs, names)}: {words}"), 3, lead=(f"{REMARK}  ", style))
    if len(ranked) > _MOST_NOTES:
        lines += page.fold(f"{counted(len(ranked) - _MOST_NOTES, 'further note')} in the JSON", 3, "dim", ("   ", ""))
    return lines + (_one_sided(page, group.pairs[0], names) if group.is_one else [])


def _one_sided(page: Page, pair: Pair, names: dict[Key, str]) -> list[Line]:
    """Transports that are slower one way."""
    ways: dict[Way, list[str]] = {}
    for line, way in slower(pair).items():
        ways.setdefault(way, []).append(names[line])
    return [
        line
        for way, slow in ways.items()
        for line in page.fold(
            f"{listed(slow)}: slower {bench_names.way(*way)} than the other way", 3, lead=(f"{REMARK}  ", "warn")
        )
    ]


def _badness(status: str) -> int:
    return m.STATUSES.index(status) if status in m.STATUSES else len(m.STATUSES)


def _words(run: Run) -> str:
    """`did not go where it claims (eth0 moved 200 kB of 311 MB): …`; empty where nothing is odd."""
    why = clean(run.error or "").strip()
    told = {
        m.MISMATCH: f"did not go where it claims{_evidence(run.path)}",
        m.SUSPECT: f"faster than {clean(run.ceiling.name) if run.ceiling else 'it'} can be{_excess(run)}",
        m.CORRUPT: "other bytes arrived than were sent, so no figure of it counts",
        m.FAILED: "failed",
        m.UNSTABLE: "its times vary too much to be compared",
        m.NOISY: "the machine was busy meanwhile",
        m.QUANTISED: "its clock is coarser than the transfer is long",
        m.MAPPED: "mapped, nothing moved: the target sees the source’s memory",
    }.get(run.status, "" if run.status == m.OK else clean(run.status))
    odd = [told] if told else []
    if run.status == m.OK and not run.verified:
        odd.append("the bytes were not compared")
    if run.stalls:
        odd.append(f"{run.stalls} of {run.samples} transfers took more than three times the median")
    return ": ".join(filter(None, ("; ".join(odd), why)))


def _evidence(path: Path | None) -> str:
    """` (eth0 moved 200 kB of 311 MB; it went by cma)`."""
    if path is None:
        return ""
    told = [
        f"{clean(one.name)} moved {amount(one.moved_bytes)} of {amount(one.expected_bytes)}" for one in path.devices
    ]
    if path.protocol:
        told.append(f"it went by {clean(path.protocol)}")
    return f" ({'; '.join(told)})" if told else ""


def _excess(run: Run) -> str:
    if run.ceiling is None or run.bandwidth_bytes_per_second is None:
        return ""
    ceiling = rate(run.ceiling.bandwidth_bytes_per_second)
    return f" ({rate(run.bandwidth_bytes_per_second.median)}, ceiling {ceiling})"


def _subject(group: Group, runs: Sequence[Run], names: dict[Key, str]) -> str:
    """`rdt-nixl at 8 B`, `tcp and nixl on 3 of 31 pairs`."""
    keys = list(dict.fromkeys(map(key, runs)))
    sizes = sorted({run.size_bytes for run in runs})
    every = {run.size_bytes for run in group.runs if key(run) in keys}
    where = ""
    if len(sizes) < len(every):
        where = _sizes(sizes, sorted(every))
    ends = {frozenset((run.source, run.target)) for run in runs}
    if not group.is_one and len(ends) < len(group.pairs):
        one = bench_names.way(runs[0].source, runs[0].target)
        where += f" on {one}" if len(ends) == 1 else f" on {len(ends)} of {counted(len(group.pairs), 'pair')}"
    elif group.is_one and group.pairs[0].back and len({(run.source, run.target) for run in runs}) == 1:
        where += f", {bench_names.way(runs[0].source, runs[0].target)}"
    return listed([names[one] for one in keys]) + where


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
