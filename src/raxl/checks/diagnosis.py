"""All of `raxl diagnose` but for reading and writing: which checks, on which nodes, and what they add up to. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import NamedTuple

from raxl import __version__
from raxl.checks import P0, Case, Check, engine, expected, registry
from raxl.checks.engine import Required
from raxl.errors import UsageError
from raxl.model import printable
from raxl.model.cluster import RayNode
from raxl.model.facts import Facts
from raxl.model.finding import (
    CHECKS,
    FINDINGS,
    LEVELS,
    STANDARD,
    STATUSES,
    CheckRecord,
    ChecksDocument,
    Finding,
    Findings,
)
from raxl.model.inventory import Inventory
from raxl.model.policy import Policy


class Wanted(NamedTuple):
    """What is to be checked."""

    level: str = STANDARD
    only: Sequence[str] = ()
    """Globs of ids; none means all."""
    skip: Sequence[str] = ()
    require: Sequence[str] = ()
    """Globs of ids, or `p0`: what may not be skipped because it cannot be read from here."""
    policy: Policy = Policy()
    recipe: str | None = None
    """The name of the recipe that says so, where one does."""
    left_out: Mapping[str, str] = MappingProxyType({})
    """By id of a check that the recipe leaves out, why: skipped, and told."""


EVERYTHING = Wanted()
"""All checks of the level that is the default."""


def held(wanted: Wanted) -> None:
    """Raises UsageError, before anything is read, for a glob, an id or a threshold of the policy that no check has, for
    a choice that leaves no check, and for a check that is required and left out; UnreadableInput for what the policy
    cannot expect."""
    known = registry.checks()
    chosen = {one.id for one in _chosen(wanted, known)}
    for glob in wanted.require:
        own = _matched([glob], known, "--require")
        if missing := sorted(set(own) - chosen) if glob != P0 else []:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UsageError(
                f"--require {glob} asks for {missing[0]}{others}", "--only, --skip or --level leaves it out"
            )
    if not chosen and not wanted.left_out:
        raise UsageError("--only and --skip leave no check")
    _policy_held(wanted.policy, known)


def findings(inventory: Inventory, facts: Sequence[Facts], wanted: Wanted = EVERYTHING) -> Findings:
    """What the checks find of these nodes; `facts` are theirs in the same order. `held` is asked before."""
    known = registry.checks()
    chosen = _chosen(wanted, known)
    cases = _cases(inventory, facts, wanted.policy)
    required = Required(
        by_name=_matched([glob for glob in wanted.require if glob != P0], known, "--require"),
        of_vantage=_matched(wanted.require, known, "--require"),
    )
    found = engine.findings(chosen, cases, wanted.policy, inventory.created[:10], required)
    told = [*found, *_left_out(wanted, known, cases)]
    told.sort(key=lambda one: STATUSES.index(one.status))
    return Findings(
        FINDINGS,
        __version__,
        inventory.created,
        tuple(printable.record(one) for one in told),
        engine.summary(told),
        tuple(engine.coverage(found, cases, wanted.level, chosen)),
        wanted.recipe,
    )


def _left_out(wanted: Wanted, known: Sequence[Check], cases: Sequence[Case]) -> Iterator[Finding]:
    for case in cases:
        for one in known:
            if one.id in wanted.left_out:
                yield engine.left_out(one, case.node.name, wanted.left_out[one.id])


def _chosen(wanted: Wanted, known: Sequence[Check]) -> list[Check]:
    """The checks that the level reaches and the globs leave."""
    only, skipped = _matched(wanted.only, known, "--only"), _matched(wanted.skip, known, "--skip")
    reached = [one for one in known if LEVELS.index(one.level) <= LEVELS.index(wanted.level)]
    return [one for one in reached if (not wanted.only or one.id in only) and one.id not in skipped]


def described(only: Sequence[str] = ()) -> ChecksDocument:
    """All checks, or those that the globs name. Raises UsageError for one that matches none."""
    known = registry.checks()
    names = _matched(only, known, "--only") if only else {one.id for one in known}
    return ChecksDocument(CHECKS, __version__, tuple(_record(one) for one in known if one.id in names))


def _record(check: Check) -> CheckRecord:
    return CheckRecord(
        check.id,
        check.title,
        check.priority,
        check.level,
        check.vantage,
        check.remedy_class,
        check.reference,
        check.thresholds,
        check.explanation,
    )


def _cases(inventory: Inventory, facts: Sequence[Facts], policy: Policy) -> list[Case]:
    cluster = inventory.cluster
    views: dict[str | None, RayNode] = {one.node_id: one for one in cluster.nodes} if cluster else {}
    return [
        Case(node, own, policy, views.get(node.ray_node_id), cluster)
        for node, own in zip(inventory.nodes, facts, strict=True)
    ]


def _matched(globs: Sequence[str], known: Sequence[Check], flag: str) -> Collection[str]:
    found: set[str] = set()
    for glob in globs:
        own = {one.id for one in known if fnmatchcase(one.id, glob) or (glob == P0 and one.priority == P0)}
        if not own:
            raise UsageError(f"{flag} {glob} matches no check", try_="Try raxl diagnose --list")
        found |= own
    return found


def _policy_held(policy: Policy, known: Sequence[Check]) -> None:
    """Refuses what the policy says of checks, thresholds or expectations that there are not."""
    expected.held(policy.expected)
    by_id = {one.id: one for one in known}
    for name, values in policy.thresholds.items():
        if name not in by_id:
            raise UsageError(
                f"the policy sets a threshold of {name}, which is no check", try_="Try raxl diagnose --list"
            )
        for threshold in values:
            if threshold not in by_id[name].thresholds:
                own = ", ".join(by_id[name].thresholds) or "none"
                raise UsageError(f"the policy sets {threshold} of {name}, which has {own}")
    for one in policy.suppressions:
        _matched([one.check], known, "the policy's suppression of")
