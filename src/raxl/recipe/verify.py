"""A recipe's report: what holds of it on its nodes, and what was not verified. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from raxl import __version__
from raxl.checks.words import counted, listed
from raxl.model import printable
from raxl.model.finding import FAIL, OK, SKIP, UNKNOWN, Finding, Findings
from raxl.model.node import Node
from raxl.model.plan import UNMET, UNREAD, Plan, Precondition
from raxl.model.recipe import BLOCK, Shelved
from raxl.model.verification import (
    FAILED,
    INCOMPLETE,
    MISSING,
    PASSED,
    REPORT,
    SAME,
    Figure,
    InForce,
    Report,
    ReportedRecipe,
    SkippedChecks,
    VerifiedNode,
    VerifiedSetting,
)
from raxl.model.verification import UNKNOWN as UNTOLD
from raxl.recipe import places
from raxl.recipe.places import Seen

_MOST = 8
"""Checks or settings that a sentence names."""
_MOST_TOLD = 3
"""Checks of one reason that have a sentence each."""


class Given(NamedTuple):
    """All that a report is made of."""

    shelved: Shelved
    created: str
    nodes: Sequence[tuple[Node, Plan, Seen]]
    in_force: InForce | None
    why_not_applied: str | None
    """Why nothing is in force; None where something is, and where a recording cannot say."""
    findings: Findings
    left_out: Mapping[str, str]
    """By id, the checks that the recipe leaves out, and why."""
    unsaid: Mapping[str, str]
    """By name, what the recipe expects and could not be said on these nodes, and why."""
    figures: Sequence[Figure] = ()
    remarks: Sequence[str] = ()
    """What else is not verified, a sentence each."""


def report(given: Given) -> Report:
    """The report, its status and its sentences."""
    recipe = given.shelved.recipe
    nodes = tuple(_node(*one) for one in given.nodes)
    told = [one for one in given.findings.findings if one.status != OK]
    left_out = _left_out(given.left_out)
    own = [one for one in told if one.status != SKIP or one.check not in given.left_out]
    wrong = tuple(_wrong(given, nodes, own))
    missing = tuple(_missing(given, nodes, own))
    made = Report(
        schema=REPORT,
        raxl_version=__version__,
        created=given.created,
        status=FAILED if wrong else INCOMPLETE if missing else PASSED,
        recipe=ReportedRecipe(recipe.name, recipe.title, recipe.maturity, given.shelved.sha256, given.shelved.origin),
        in_force=given.in_force,
        nodes=nodes,
        summary=given.findings.summary,
        findings=tuple(own),
        coverage=given.findings.coverage,
        left_out=left_out,
        figures=tuple(given.figures),
        wrong=wrong,
        not_verified=(*missing, *_unverified(given, nodes, left_out)),
        next_steps=tuple(_next_steps(given, bool(wrong))),
    )
    harmless: Report = printable.record(made)
    return harmless


def _node(node: Node, plan: Plan, seen: Seen) -> VerifiedNode:
    return VerifiedNode(
        name=node.name,
        source=node.source,
        hardware=hardware(node),
        software={one.name: one.version for one in node.software if one.version},
        requirements=plan.preconditions,
        versions=plan.versions,
        settings=places.settings(plan, seen),
    )


def hardware(node: Node) -> str:
    """`8 × H100 80GB HBM3, aws p5.48xlarge`."""
    models: dict[str, int] = {}
    for one in node.accelerators:
        name = one.model or f"{one.vendor} {one.kind}"
        models[name] = models.get(name, 0) + 1
    told = [f"{count} × {name}" for name, count in models.items()] or ["no accelerators"]
    where = node.placement
    stands = " ".join(word for word in (where.provider, where.instance_type) if word)
    return ", ".join([*told, stands] if stands else told)


def _left_out(by_check: Mapping[str, str]) -> tuple[SkippedChecks, ...]:
    """By reason, the checks that the recipe leaves out."""
    by_reason: dict[str, list[str]] = {}
    for check, why in by_check.items():
        by_reason.setdefault(why, []).append(check)
    return tuple(SkippedChecks(tuple(checks), why) for why, checks in by_reason.items())


def _wrong(given: Given, nodes: Sequence[VerifiedNode], own: Sequence[Finding]) -> Iterator[str]:
    """What makes the report fail."""
    for node in nodes:
        at = _at(node.name, given)
        for one in node.requirements:
            if one.level == BLOCK and one.held.status == UNMET:
                yield f"{at}{_required(one)}"
        for setting in node.settings:
            for place in setting.places:
                if place.is_applied and place.status != SAME and setting.status != UNTOLD:
                    now = "does not have it" if place.status == MISSING else f"has {place.value}"
                    wanted = "unset" if setting.value is None else setting.value
                    yield f"{at}{setting.name} is to be {wanted}, and {place.where} {now}"
    if given.in_force is not None and given.in_force.edited:
        yield f"{listed(list(given.in_force.edited))} was changed by hand since it was applied"
    for found in own:
        if found.status == FAIL and found.suppressed is None:
            yield f"{_at(found.node, given)}{found.check}: {found.message}"
    for figure in given.figures:
        if figure.status == "fail":
            yield f"{_figure(figure)}: {figure.message}"


def _missing(given: Given, nodes: Sequence[VerifiedNode], own: Sequence[Finding]) -> Iterator[str]:
    """What applies and could not be read or measured."""
    if given.why_not_applied is not None:
        yield given.why_not_applied
    for figure in given.figures:
        if figure.status == "unknown":
            yield f"{_figure(figure)}: {figure.message}"
    for node, plan, _ in given.nodes:
        for held in plan.candidates[:1]:
            if held.status == UNREAD:
                unread = [f"{one.fact} ({one.message})" for one in held.conditions if one.status == UNREAD]
                yield f"{_at(node.name, given)}whether the recipe is for it: {listed(unread)}"
    for verified in nodes:
        at = _at(verified.name, given)
        for one in verified.requirements:
            if one.level == BLOCK and one.held.status == UNREAD:
                yield f"{at}{_required(one)}"
        unread = [one.name for one in verified.settings if _is_unfilled(one)]
        if unread:
            yield f"{at}what {listed(unread, _MOST)} is to be could not be computed"
    for name, why in given.unsaid.items():
        yield f"what the recipe expects of {name}: {why}"
    yield from _unanswered(given, own)


def _is_unfilled(one: VerifiedSetting) -> bool:
    return one.status == UNTOLD and one.value is None and one.kind != "unset"


def _unanswered(given: Given, own: Sequence[Finding]) -> Iterator[str]:
    """Checks that could not be answered: one by one where they are few, else a sentence for each reason."""
    by_reason: dict[tuple[str, str], list[Finding]] = {}
    for one in own:
        if one.status == UNKNOWN and one.suppressed is None:
            by_reason.setdefault((one.node, one.reason or "failed"), []).append(one)
    for (node, reason), told in by_reason.items():
        checks = list(dict.fromkeys(one.check for one in told))
        if len(told) <= _MOST_TOLD:
            yield from (f"{_at(node, given)}{one.check}: {one.message}" for one in told)
        else:
            yield f"{_at(node, given)}{counted(len(checks), 'check')} not answered ({reason}): {listed(checks, _MOST)}"


def _at(node: str, given: Given) -> str:
    """The node that a sentence is about; of the only one nothing."""
    return "" if len(given.nodes) == 1 else f"{node or 'all nodes'}: "


def _unverified(given: Given, nodes: Sequence[VerifiedNode], left_out: Sequence[SkippedChecks]) -> Iterator[str]:
    """What the report says nothing about, for a reason that is no fault."""
    yield from given.remarks
    if given.in_force is None and given.why_not_applied is None:
        yield "whether the recipe's files are in force: a recording does not say"
    skipped: dict[str, list[str]] = {}
    for figure in given.figures:
        if figure.status == "skip":
            skipped.setdefault(figure.message, []).append(_figure(figure))
    yield from (f"{listed(names)}: {why}" for why, names in skipped.items())
    for node in nodes:
        at = _at(node.name, given)
        unseen = [one.name for one in node.settings if one.status == UNTOLD and not _is_unfilled(one)]
        if unseen:
            yield f"{at}whether {listed(unseen, _MOST)} is set: nothing that was read says it"
        unknown = [one.name for one in node.versions if one.status == UNREAD]
        if unknown:
            yield f"{at}the version of {listed(unknown, _MOST)}"
        for one in node.requirements:
            if one.level != BLOCK and one.held.status == UNREAD:
                yield f"{at}{_required(one)}"
    for coverage in given.findings.coverage:
        if coverage.not_possible_here:
            hidden = listed(list(coverage.not_possible_here), _MOST)
            yield f"{_at(coverage.node, given)}{hidden} cannot be checked {coverage.vantage}"
    for one_reason in left_out:
        yield f"{listed(list(one_reason.checks), _MOST)}: {one_reason.why}"


def _required(one: Precondition) -> str:
    wanted = " ".join(str(word) for word in (one.held.fact, one.held.op, one.held.value) if word is not None)
    if one.held.status == UNREAD:
        return f"{one.id} ({wanted}) could not be read: {one.held.message}"
    return f"{one.id} is not met: {wanted}, and it is {one.held.found}"


def _figure(one: Figure) -> str:
    return f"{one.id}, {one.between}" if one.between else one.id


def _next_steps(given: Given, is_wrong: bool) -> Iterator[str]:
    if given.why_not_applied is not None:
        yield f"raxl recipe apply {given.shelved.recipe.name}"
    if is_wrong and given.in_force is not None:
        yield f"raxl recipe rollback --root {shlex.quote(given.in_force.root)}"
