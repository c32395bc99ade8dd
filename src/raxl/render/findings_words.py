"""What is said of many findings together: how many, what could not be read, and what that amounts to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from raxl.model.finding import FAIL, OK, SKIP, STANDARD, UNKNOWN, WARN, Coverage, Finding, Findings
from raxl.model.problem import NOT_ASKED

_REASONS = {
    "not-asked": "what was given does not say it",
    "not-permitted": "not permitted to this user",
    "timed-out": "no answer in time",
    "failed": "reading failed",
    "not-installed": "what would read it is not installed",
    "not-present": "nothing there to read",
    "disagreement": "two readings contradict each other",
}
_FILE = "from a file"
_MOST_NAMES, _MOST_SUBJECTS = 12, 4
_UPTIME = re.compile(r"\d{1,9}\.\d{3,9}")


def counted(told: Sequence[Finding]) -> str:
    """`61 ok, 1 warn, 2 fail, 0 unknown, 9 skipped`"""
    count = Counter(one.status for one in told if one.suppressed is None)
    words = {OK: "ok", WARN: "warn", FAIL: "fail", UNKNOWN: "unknown", SKIP: "skipped"}
    return ", ".join(f"{count[status]} {word}" for status, word in words.items())


def healthy(coverage: Coverage, told: Sequence[Finding]) -> bool:
    """Whether all that matters was read of the node, and nothing is wrong."""
    return coverage.complete and all(one.status in (OK, SKIP) for one in told if one.suppressed is None)


def rest(one: Finding) -> str:
    """How often, and since when, where that says something."""
    if f"({one.count} times" in one.message:  # the message told it, of a part of the fault
        return ""
    if one.count <= 1:
        return f" ({_when(one.first_seen)})" if one.first_seen else ""
    if not one.first_seen or not one.last_seen:
        return f" ({one.count} times)"
    first, last = _when(one.first_seen), _when(one.last_seen)
    since = f"first {first}, last {last}" if first != last else first
    return f" ({one.count} times, {since})"


def _when(stamp: str) -> str:
    """`19 d 16 h after boot` of a stamp that counts from there in seconds; else the stamp as it is."""
    if not _UPTIME.fullmatch(stamp):
        return f"at {stamp}"
    minutes = int(float(stamp) / 60)
    hours, days = minutes // 60, minutes // 1440
    since = f"{days} d {hours % 24} h" if days else f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"
    return f"{since} after boot"


def named(subjects: Sequence[str]) -> str:
    """`nvidia:0, nvidia:1, nvidia:2 …`"""
    return ", ".join(subjects[:_MOST_SUBJECTS]) + (" …" if len(subjects) > _MOST_SUBJECTS else "")


_NAMED = ("node.inputs", "node.disagreement")
"""Checks of what was given: each of their answers is told by itself."""
_MOST_NAMED = 8


def gaps(told: Sequence[Finding]) -> list[str]:
    """What could not be answered, a sentence a reason; one that a single check has says what it was about."""
    by_reason: dict[str, list[Finding]] = {}
    named = [one for one in told if one.status == UNKNOWN and one.check in _NAMED]
    for one in told:
        if one.status == UNKNOWN and one not in named[:_MOST_NAMED]:
            by_reason.setdefault(one.reason or "failed", []).append(one)
    lines = [f"{one.check}: {one.message}" for one in named[:_MOST_NAMED]]
    for reason, group in by_reason.items():
        checks = list(dict.fromkeys(one.check for one in group))
        if reason != NOT_ASKED and len(group) <= 3:
            lines += [f"{one.check}: {one.message}" for one in group]
            continue
        names = f": {', '.join(checks)}" if len(checks) <= _MOST_NAMES else ""
        number = "1 check" if len(checks) == 1 else f"{len(checks)} checks"
        lines.append(f"{number} not answered, {_REASONS.get(reason, reason)}{names}")
    return lines


def closing(found: Findings) -> str:
    """The last line: what is wrong, and whether all that matters was read."""
    wrong = _wrong(found)
    nodes = found.coverage
    incomplete = [one for one in nodes if not one.complete]
    if not found.findings:
        return "No check ran: nothing is known."
    if found.recipe and {one.status for one in found.findings} == {SKIP}:
        reasons = dict.fromkeys(one.message for one in found.findings)
        return f"No check ran, by the recipe: {next(iter(reasons)) if len(reasons) == 1 else 'all are skipped'}."
    if not incomplete:
        level = nodes[0].levels[-1] if nodes else STANDARD
        essential = (
            "Everything that matters here was read." if level == STANDARD else f"All that {level} looks at was read."
        )
        return f"{wrong or 'Nothing wrong.'} {essential}"
    seen = wrong or "No fault seen, not the whole picture:"
    return f"{seen} {_missing(incomplete, len(nodes), bool(wrong))}"


def _wrong(found: Findings) -> str:
    faults, warnings = found.summary.fail, found.summary.warn
    words = []
    if faults:
        words.append("1 fault" if faults == 1 else f"{faults} faults")
    if warnings:
        words.append("1 warning" if warnings == 1 else f"{warnings} warnings")
    return f"{', '.join(words)}." if words else ""


def _missing(incomplete: Sequence[Coverage], nodes: int, begins: bool) -> str:
    """What of the picture is missing, and the one step that would give most of it."""
    where = "" if nodes == 1 else f" on {len(incomplete)} of {nodes} nodes"
    ruled = list(dict.fromkeys(check for one in incomplete for check in one.not_possible_here))
    unread: Counter[str] = Counter()
    for one in incomplete:
        unread.update(one.unknown_reasons)
    parts, steps = [], []
    if ruled:
        here = f" {incomplete[0].vantage}" if len(incomplete) == 1 else ""
        parts.append(f"{_checks(len(ruled))} not possible{here}{where}")
        steps.append("Run it as root on the host, or require them with --require p0.")
    if total := sum(unread.values()):
        reason = max(unread, key=lambda one: (unread[one], one))
        parts.append(f"{_checks(total)} not answered{where} ({_REASONS.get(reason, reason)})")
        if reason == NOT_ASKED and all(one.vantage == _FILE for one in incomplete):
            steps.append("A snapshot (raxl snapshot) of the machine says more.")
    text = "; ".join(parts) + "."
    text = text[0].upper() + text[1:] if begins else text
    return " ".join([text, *steps])


def _checks(count: int) -> str:
    return "1 check is" if count == 1 else f"{count} checks are"
