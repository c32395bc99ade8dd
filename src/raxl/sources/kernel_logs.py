"""Several logs of one kernel as one: what they tell together, in one order as far as their stamps give one.

Logs of one clock are sorted by it, and one that ends before another one's boot is of an earlier boot. Where the stamps
cannot be compared (seconds since a boot against days), each log counts as the present, one behind the other. A line
that stands in several counts once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Optional

from raxl.model.facts import KernelEvent, KernelLog, Reading
from raxl.sources.kernel_times import time

_DAY = re.compile(r"\d{4}-\d\d-\d\dT")
_DATED, _LOCAL, _UPTIME, _YEARLESS = "dated", "local", "uptime", "without a year"


class _Place(NamedTuple):
    """Where a line stands among those of all logs."""

    boot: int
    """As a number that grows with time."""
    seconds: float
    log: int
    number: int


class _Placed(NamedTuple):
    event: KernelEvent
    begins: _Place
    ends: _Place


def joined(logs: Sequence[KernelLog]) -> KernelLog:
    """The logs as one; those of which nothing could be read count where none could be."""
    known = [log for log in logs if log.read.known]
    if len(known) < 2:
        return known[0] if known else logs[0]
    is_timed = _is_timed(known)
    placed = [one for place, log in enumerate(_in_boots(known, is_timed)) for one in _placed(place, log, is_timed)]
    once: dict[tuple[object, ...], _Placed] = {}
    for one in sorted(placed, key=lambda one: one.begins):
        key = _key(one.event)
        once[key] = _as_one(once[key], one) if key in once else one
    sources = dict.fromkeys(log.read.source for log in known)
    return KernelLog(
        Reading(sum(int(log.read.value) for log in known), ", ".join(sources)),
        _numbered(list(once.values())),
        _is_whole(known),
        min((log.covers_from for log in known if log.covers_from), default=None) if is_timed else known[0].covers_from,
        _left_out(known),
    )


def _left_out(logs: Sequence[KernelLog]) -> dict[str, int]:
    kinds = {kind for log in logs for kind in log.left_out}
    return {kind: sum(log.left_out.get(kind, 0) for log in logs) for kind in sorted(kinds)}


def _is_whole(logs: Sequence[KernelLog]) -> Optional[bool]:
    told = {log.is_whole for log in logs}
    return True if True in told else None if None in told else False


def _is_timed(logs: Sequence[KernelLog]) -> bool:
    """Whether one clock places the lines of all of them: that of the boot only where they have a line in common."""
    clocks = {_clock(log) for log in logs}
    if len(clocks) > 1 or None in clocks:
        return False
    return _UPTIME not in clocks or all(_share(logs[0], log) for log in logs[1:])


def _clock(log: KernelLog) -> Optional[str]:
    stamp = next((one for one in (*(event.first for event in log.events), log.covers_from) if one), None)
    if stamp is None or time(stamp).seconds is None:
        return None
    if _DAY.match(stamp):
        return _DATED if stamp.endswith("Z") else _LOCAL
    return _UPTIME if stamp[0].isdigit() else _YEARLESS


def _share(one: KernelLog, other: KernelLog) -> bool:
    lines = {(event.text, event.first) for event in one.events}
    return any((event.text, event.first) in lines for event in other.events)


def _in_boots(logs: Sequence[KernelLog], is_timed: bool) -> list[KernelLog]:
    """The logs with their events' boots counted from the last boot of all; where days do not tell, each one's end is
    taken for the present."""
    if not is_timed or _clock(logs[0]) not in (_DATED, _LOCAL):
        return list(logs)
    return [_earlier(log, max(map(_boots, _later(log, logs)), default=0)) for log in logs]


def _later(log: KernelLog, logs: Sequence[KernelLog]) -> list[KernelLog]:
    """The logs that begin, with a boot of their own, after this one's last line."""
    end = max((_seconds(event.last) for event in log.events), default=float("inf"))
    return [one for one in logs if one is not log and one.is_whole and _seconds(one.covers_from, float("-inf")) > end]


def _boots(log: KernelLog) -> int:
    return max((event.boot for event in log.events), default=0) + 1


def _earlier(log: KernelLog, boots: int) -> KernelLog:
    return replace(log, events=tuple(replace(event, boot=event.boot + boots) for event in log.events))


def _seconds(stamp: Optional[str], unknown: float = float("inf")) -> float:
    seconds = time(stamp).seconds if stamp else None
    return unknown if seconds is None else seconds


def _placed(place: int, log: KernelLog, is_timed: bool) -> list[_Placed]:
    found = []
    last = float("-inf")
    for event in log.events:
        last = max(last, _seconds(event.first, last)) if is_timed else 0.0
        end = max(last, _seconds(event.last, last)) if is_timed else 0.0
        boot = -event.boot if is_timed else 0
        begins, ends = _Place(boot, last, place, event.order), _Place(boot, end, place, event.ends)
        found.append(_Placed(event, begins, ends))
    return found


def _key(event: KernelEvent) -> tuple[object, ...]:
    """Events of one boot with the same key are one."""
    return event.boot, event.kind, event.code, event.device, tuple(sorted(event.detail.items()))


def _as_one(first: _Placed, second: _Placed) -> _Placed:
    """The same event of two logs: its copies are added up where the stamps tell that they are others."""
    are_others = first.ends.log == second.begins.log or first.ends.seconds < second.begins.seconds
    counts = (first.event.count, second.event.count)
    latest = max(first, second, key=lambda one: one.ends)
    event = replace(first.event, count=sum(counts) if are_others else max(counts), last=latest.event.last)
    return _Placed(event, first.begins, latest.ends)


def _numbered(placed: Sequence[_Placed]) -> tuple[KernelEvent, ...]:
    """The events with numbers of lines that put all of them in one order."""
    places = sorted({place for one in placed for place in (one.begins, one.ends)})
    numbers = {place: number for number, place in enumerate(places, 1)}
    return tuple(replace(one.event, order=numbers[one.begins], ends=numbers[one.ends]) for one in placed)
