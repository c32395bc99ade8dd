"""What holds for every check, over all recordings."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

import recordings
from diagnosing import findings, variant
from raxl.checks import P0, Case, Verdict, check, engine, fail, ok, registry, unknown
from raxl.checks.diagnosis import Wanted
from raxl.collect import assemble, facts
from raxl.host import Answer
from raxl.host.record import Recording
from raxl.model.finding import FAIL, LEVELS, OK, REMEDIES, SKIP, STATUSES, UNKNOWN, VANTAGES, WARN, Finding
from raxl.model.policy import Policy
from raxl.model.problem import REASONS

DEEP = Wanted(level="deep")
_LOST = Answer(None, "not-asked", "it was taken away")
_SAMPLES = 12


def worst(found: list[Finding]) -> dict[str, str]:
    """By check, its worst status."""
    told: dict[str, str] = {}
    for one in found:
        told[one.check] = min(told.get(one.check, OK), one.status, key=STATUSES.index)
    return told


def test_checks_are_described() -> None:
    known = registry.checks()
    assert len({one.id for one in known}) == len(known)
    for one in known:
        area, _, noun = one.id.partition(".")
        assert area.islower()
        assert noun
        assert one.priority in ("p0", "p1", "p2")
        assert one.level in LEVELS
        assert one.vantage in VANTAGES
        assert one.remedy_class in REMEDIES
        assert len(one.explanation) > 100, one.id
        assert all(isinstance(value, (int, float)) for value in one.thresholds.values()), one.id


@pytest.mark.parametrize("name", recordings.NAMES)
def test_each_check_answers_and_gives_its_reasons(name: str) -> None:
    found = findings(variant(name), DEEP).findings
    assert {one.check for one in found} >= {one.id for one in registry.checks() if not one.is_of_fleet}
    for one in found:
        assert "the check itself failed" not in one.message, one
        assert (one.reason in REASONS) == (one.status in (UNKNOWN, SKIP)), one
        assert (one.remedy is not None) == (one.status in (WARN, FAIL)), one
        assert one.remedy_class in REMEDIES
        assert one.status not in (WARN, FAIL) or one.evidence, one
        assert len(one.message) < 400, one


@pytest.mark.parametrize("name", recordings.NAMES)
def test_fingerprints_are_unique(name: str) -> None:
    for level in LEVELS:
        marks = Counter(one.fingerprint for one in findings(variant(name), Wanted(level=level)).findings)
        assert [mark for mark, count in marks.items() if count > 1] == [], level


def test_a_fault_keeps_its_fingerprint_whatever_is_told_beside_it() -> None:
    def one(case: Case) -> Iterator[Verdict]:
        yield ok("node", "well")
        yield fail("node", "broken", remedy="look", remedy_class="config")
        yield unknown("node", "failed", "this was not read")
        yield unknown("node", "failed", "nor was that")

    def alone(case: Case) -> Iterator[Verdict]:
        yield fail("node", "broken", remedy="look", remedy_class="config")

    recording = variant("none-cpu-server")
    node = assemble.inventory([recording]).nodes[0]
    case = Case(node, facts.of(recording, node))
    told = [
        engine.findings([check("a.b", "", P0, "quick", "none")(run)], [case], Policy(), "2026-01-01")
        for run in (one, alone)
    ]
    assert len({one.fingerprint for one in told[0]}) == 4
    assert told[0][0].fingerprint == told[1][0].fingerprint


@pytest.mark.parametrize("name", recordings.NAMES)
def test_an_answer_that_is_taken_away_never_turns_a_finding_green(name: str) -> None:
    whole = variant(name)
    before = worst(list(findings(whole, DEEP).findings))
    chosen = random.Random(name).sample(sorted(whole.answers), min(_SAMPLES, len(whole.answers)))
    for question in chosen:
        less = variant(name)
        less.answers[question] = _LOST
        after = worst(list(findings(less, DEEP).findings))
        green = {check for check, status in before.items() if status in (FAIL, WARN, UNKNOWN) and after[check] == OK}
        assert not green, (question, green)


@pytest.mark.parametrize("name", recordings.NAMES)
def test_the_order_of_devices_changes_nothing(name: str) -> None:
    recording = variant(name)
    node = assemble.inventory([recording]).nodes[0]
    own = facts.of(recording, node)
    turned = replace(node, accelerators=node.accelerators[::-1], nics=node.nics[::-1], links=node.links[::-1])
    told = [
        {
            (one.check, one.subject): one.status
            for one in engine.findings(registry.checks(), [case], Policy(), "2026-01-01")
        }
        for case in (Case(node, own), Case(turned, own))
    ]
    assert told[0] == told[1]


def test_the_order_of_nodes_changes_nothing() -> None:
    machines = [
        variant(name) for name in ("nvidia-hgx-h100", "nvidia-hgx-h100-gpu-lost", "amd-mi300x-spx", "tpu-v6e-8")
    ]
    told = [
        {(one.check, one.node, one.subject): one.status for one in findings(order).findings}
        for order in (machines, machines[::-1])
    ]
    assert told[0] == told[1]


def test_nothing_is_green_of_a_machine_that_tells_nothing() -> None:
    found = findings(Recording(name="dark"), DEEP)
    assert [one.check for one in found.findings if one.status == OK] == []
    assert not found.coverage[0].complete


def test_a_whole_healthy_machine_is_green() -> None:
    found = findings(variant("nvidia-hgx-h100-healthy"))
    wrong = [(one.check, one.message) for one in found.findings if one.status in (FAIL, WARN)]
    assert wrong == []
    assert found.summary.ok >= 40
    unknown = [one for one in found.findings if one.status == UNKNOWN]
    assert all(one.reason and one.message for one in unknown)
    essential = {one.id for one in registry.checks() if one.priority == P0}
    assert [one.check for one in unknown if one.check in essential] == []
    assert found.coverage[0].complete
