"""The plans of many nodes: those that say the same are told once, and what stands in the way comes first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from raxl.model.plan import (
    BLOCKED,
    EDITED,
    INCOMPLETE,
    MET,
    NEEDS_CODE,
    NOTHING,
    READY,
    HeldCondition,
    Plan,
    Refusal,
)

_ORDER = (EDITED, BLOCKED, INCOMPLETE, NEEDS_CODE, READY, NOTHING)
_OF_PROCESS = re.compile(r"/proc/\d+/")


def grouped(plans: Sequence[Plan], verbose: bool) -> list[tuple[list[str], Plan]]:
    """The nodes with the same plan, and that plan. What is met there, and was found otherwise on each, has no value
    in it. `verbose` keeps apart what was read from different places."""
    found: dict[str, list[Plan]] = {}
    for one in plans:
        bare = replace(one, node="", facts={}, facts_unread={}, facts_sha256="")
        key = repr(bare) if verbose else _OF_PROCESS.sub("/proc/", repr(_without_measures(bare)))
        found.setdefault(key, []).append(one)
    groups = sorted(found.values(), key=lambda members: _place(members[0].status))
    return [([one.node for one in members], _merged(members)) for members in groups]


def refused(refusals: Sequence[Refusal]) -> list[tuple[list[str], str]]:
    """The nodes that have no plan for the same reason, and that reason."""
    found: dict[str, list[str]] = {}
    for one in refusals:
        found.setdefault(one.message, []).append(one.node)
    return [(names, message) for message, names in found.items()]


def _place(status: str) -> int:
    return _ORDER.index(status) if status in _ORDER else 0


def _without_measures(plan: Plan) -> Plan:
    """The plan without the values of conditions that are met, and without what said them."""
    own, *others = plan.candidates
    return replace(
        plan,
        candidates=(
            replace(own, conditions=tuple(map(_bare, own.conditions))),
            *(replace(one, conditions=()) for one in others),
        ),
        preconditions=tuple(replace(one, held=_bare(one.held)) for one in plan.preconditions),
        computed=tuple(replace(one, evidence="") for one in plan.computed),
        versions=tuple(replace(one, evidence="") for one in plan.versions),
    )


def _bare(one: HeldCondition) -> HeldCondition:
    return replace(one, evidence="", found=None if one.status == MET else one.found)


def _merged(members: Sequence[Plan]) -> Plan:
    """The first, without what the others do not have."""
    first = members[0]
    held = [[one.held for one in plan.preconditions] for plan in members]
    matched = [plan.candidates[0].conditions for plan in members]
    own, *others = first.candidates
    conditions = tuple(map(_common, zip(*matched, strict=True)))
    common = list(map(_common, zip(*held, strict=True)))
    return replace(
        first,
        candidates=(replace(own, conditions=conditions), *others),
        preconditions=tuple(replace(one, held=all_) for one, all_ in zip(first.preconditions, common, strict=True)),
    )


def _common(several: Sequence[HeldCondition]) -> HeldCondition:
    first = several[0]
    return first if all(one.found == first.found for one in several) else replace(first, found=None)
