"""Runs checks on what was read, and weighs how much of it was seen. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NamedTuple, Optional

from raxl.checks import P0, Case, Check, Verdict, unknown
from raxl.checks.vantage import ruled_out, words
from raxl.model.finding import (
    FAIL,
    LEVELS,
    OK,
    SKIP,
    STATUSES,
    UNKNOWN,
    WARN,
    Coverage,
    Finding,
    Summary,
    Suppressed,
)
from raxl.model.policy import Policy
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED


class Required(NamedTuple):
    """Ids of checks that must be answered."""

    by_name: Collection[str] = ()
    """Also where it was not asked for what they go by: Ray, a log."""
    of_vantage: Collection[str] = ()
    """Where a container or a missing right hides it."""


NOTHING = Required()


def findings(
    chosen: Sequence[Check], cases: Sequence[Case], policy: Policy, today: str, required: Required = NOTHING
) -> tuple[Finding, ...]:
    """What the checks find, the worst first.

    `today` (`2026-12-31`) tells which suppressions still hold; what is `required` and was skipped because it could not
    be read, or was not asked, is unknown.
    """
    told = [
        one
        for check in chosen
        for one in (_of_fleet(check, cases, policy) if check.is_of_fleet else _of_nodes(check, cases, policy))
    ]
    found = [_suppressed(finding, policy, today) for finding in _marked(list(_without_parts(told)))]
    found = [_demanded(one) if _is_owed(one, required) else one for one in found]
    nodes = {case.node.name: place for place, case in enumerate(cases)}
    return tuple(sorted(found, key=lambda one: (STATUSES.index(one.status), nodes.get(one.node, -1), _weight(one))))


def left_out(check: Check, node: str, why: str) -> Finding:
    """That a check was not asked of a node, on purpose."""
    mark = _fingerprint(check.id, node, "node", "left out")
    return Finding(check.id, "node", node, SKIP, why, reason=NOT_APPLICABLE, fingerprint=mark)


_HEAVIEST = ("rma", "power-cycle", "reboot", "vendor", "drain", "reset", "restart-service", "config", "app", "none")
"""Classes of remedies, that of a broken machine first: what a wrong setting does comes after it."""


def _without_parts(told: Sequence[tuple[Finding, tuple[str, str] | None]]) -> Iterator[Finding]:
    """One finding a fault: what is a part of another one that is told is skipped, and names it."""
    faults = {(one.check, one.subject, one.node) for one, _ in told if one.status in (FAIL, WARN)}
    for one, under in told:
        if under is not None and one.status in (FAIL, WARN) and (*under, one.node) in faults:
            words = f"{one.message}: {under[0]} tells it"
            yield replace(
                one, status=SKIP, message=words, reason=NOT_APPLICABLE, remedy=None, remedy_class="none", reference=None
            )
        else:
            yield one


def _marked(found: Sequence[Finding]) -> Sequence[Finding]:
    """The findings with fingerprints that are unique: a fault keeps its own, whatever is told beside it of the same
    subject (a part that is well, one that could not be read)."""
    taken: set[str] = set()
    own: dict[int, str] = {}
    for place, one in sorted(enumerate(found), key=lambda pair: STATUSES.index(pair[1].status)):
        mark = one.fingerprint
        if mark in taken and one.status not in (FAIL, WARN):
            mark = _fingerprint(mark, one.status, one.reason or "")
            while mark in taken:
                mark = _fingerprint(mark, "another")
        taken.add(mark)
        own[place] = mark
    return [replace(one, fingerprint=own[place]) for place, one in enumerate(found)]


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _weight(finding: Finding) -> int:
    return _HEAVIEST.index(finding.remedy_class) if finding.status in (FAIL, WARN) else 0


def summary(found: Iterable[Finding]) -> Summary:
    """How many there are of each status."""
    counts = Counter(one.status for one in found if one.suppressed is None)
    return Summary(counts[OK], counts[WARN], counts[FAIL], counts[UNKNOWN], counts[SKIP])


def coverage(found: Sequence[Finding], cases: Sequence[Case], level: str, chosen: Sequence[Check]) -> list[Coverage]:
    """Of each node, how much of it was seen."""
    essential = {check.id for check in chosen if check.priority == P0}
    told = []
    for case in cases:
        own = [one for one in found if one.node == case.node.name]
        not_possible = tuple(dict.fromkeys(one.check for one in own if one.is_ruled_out))
        missing = [one for one in own if one.status == UNKNOWN]
        complete = not missing and not essential.intersection(not_possible)
        reasons = Counter(reason for _, reason in {(one.check, one.reason or FAILED) for one in missing})
        levels = LEVELS[: LEVELS.index(level) + 1]
        told.append(
            Coverage(case.node.name, words(case), levels, complete, not_possible, dict(sorted(reasons.items())))
        )
    return told


_Told = Iterator[tuple[Finding, Optional[tuple[str, str]]]]
"""Each finding, with the check and the subject of what it may be a part of."""


def _of_nodes(check: Check, cases: Sequence[Case], policy: Policy) -> _Told:
    for case in cases:
        for verdict in _verdicts(check, case, policy):
            yield _finding(check, ruled_out(check, case, verdict), case.node.name), verdict.under


def _of_fleet(check: Check, cases: Sequence[Case], policy: Policy) -> _Told:
    for verdict in _verdicts(check, cases, policy):
        yield _finding(check, (verdict, False), verdict.node or ""), verdict.under


def _verdicts(check: Check, given: Case | Sequence[Case], policy: Policy) -> Sequence[Verdict]:
    """A check that breaks costs its own answer, and says so."""
    try:
        told = list(check.run(given, **{**check.thresholds, **policy.thresholds.get(check.id, {})}))
    except Exception as error:  # a check may be another package's
        return [unknown("node", FAILED, f"the check itself failed: {type(error).__name__}: {error}"[:300])]
    return told or [unknown("node", FAILED, "the check gave no answer")]


def _finding(check: Check, told: tuple[Verdict, bool], node: str) -> Finding:
    verdict, is_ruled_out = told
    own = vars(verdict) | {"node": node}
    root, _ = own.pop("root"), own.pop("under")
    mark = _fingerprint(check.id, node, verdict.subject, root)
    reference = check.reference if verdict.status in (FAIL, WARN) else None
    return Finding(check.id, reference=reference, is_ruled_out=is_ruled_out, fingerprint=mark, **own)


def _is_owed(finding: Finding, required: Required) -> bool:
    is_hidden = finding.is_ruled_out and finding.check in required.of_vantage
    is_unasked = finding.reason == NOT_ASKED and finding.check in required.by_name
    return finding.status == SKIP and (is_hidden or is_unasked)


def _demanded(finding: Finding) -> Finding:
    return replace(finding, status=UNKNOWN, is_ruled_out=False)


def _suppressed(finding: Finding, policy: Policy, today: str) -> Finding:
    """The finding with the suppression that holds for it: of what warns or fails alone."""
    if finding.status not in (FAIL, WARN):
        return finding
    for one in policy.suppressions:
        fits = (
            fnmatchcase(finding.check, one.check)
            and fnmatchcase(finding.subject, one.subject)
            and fnmatchcase(finding.node, one.node)
        )
        if fits and today <= one.until:
            return replace(finding, suppressed=Suppressed(one.reason, one.until))
    return finding
