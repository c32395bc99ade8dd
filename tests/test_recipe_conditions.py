"""Conditions in three values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diagnosing import variant
from raxl.host.record import Recording
from raxl.model.facts import Reading
from raxl.model.plan import MET, UNMET, UNREAD, HeldCondition
from raxl.model.problem import REASONS
from raxl.model.recipe import OPS, Condition
from raxl.recipe.conditions import held
from raxl.recipe.node_facts import ABSENT, NodeFacts
from recipe_facts import facts_of, of_recording

HEALTHY = facts_of("nvidia-hgx-h100-healthy")


class Told(NodeFacts):
    """The facts of a machine, of which one says what a test gives."""

    def __init__(self, reading: Reading) -> None:
        super().__init__(HEALTHY.node, HEALTHY.case.facts)
        self.reading = reading

    def _read(self, path: str) -> Reading:
        return self.reading


def judged(found: Any, op: str, value: Any = None) -> HeldCondition:
    """A condition on a value that is known."""
    return held(Condition("os.kernel", op, value), Told(Reading(found, "/proc")))


@pytest.mark.parametrize(
    ("found", "op", "value"),
    [
        (8, "==", 8),
        (8.0, "==", 8),
        ("8", "==", 8),
        ("1", "==", 1),
        ("1.47", "==", "1.47.0"),
        (True, "==", True),
        ("True", "==", True),
        ("H100", "!=", "H200"),
        ("570.124.06", ">=", "570"),
        ("570.124.06", ">=", 570),
        ("570.124.06", ">=", "570.124.6"),
        ("570.124.06", "<", "570.124.10"),
        ("12.10", ">", "12.9"),
        ("12.10", ">", "12.1"),
        ("5.15.0-163-generic", ">=", "5.15.0-140"),
        ("6.8.0-1028-azure", ">=", "6.8"),
        ("5.14.0-427.el9.x86_64", ">=", "5.14"),
        ("2.7.0amzn2.0", ">", "2.7.0amzn1.9"),
        ("1.117.5-a-56", ">=", "1.117.5.a.45"),
        ("v1.2", "<=", "1.2.0"),
        ("unlimited", ">=", 17179869184),
        ("unlimited", ">", 17179869184),
        ("unlimited", "==", "unlimited"),
        (17179869184, ">=", 17179869184),
        (17179869184, "<=", "17179869184"),
        ("H100", "in", ("H100", "H200")),
        (("H100", "H200"), "in", ("H100", "H200")),
        ("p5en.48xlarge", "matches", "p5*"),
        ("p5en.48xlarge", "matches", ("p4*", "p5*")),
        (("mlx5_ib0", "mlx5_ib1"), "matches", "mlx5_ib*"),
        ("x", "present", None),
        (0, "present", None),
        (None, "absent", None),
        (False, "absent", None),
    ],
)
def test_it_is_met(found: Any, op: str, value: Any) -> None:
    told = judged(found, op, value)
    assert (told.status, told.found, told.message) == (MET, found, "")


@pytest.mark.parametrize(
    ("found", "op", "value"),
    [
        (7, "==", 8),
        ("h100", "==", "H100"),
        ("4x4", "==", "4x4.0"),
        ("570", "==", "570.124.06"),
        (True, "==", 1),
        ("H100", "!=", "H100"),
        ("535.183.01", ">=", "570"),
        ("5.4.0", ">=", "5.15"),
        ("12.9", ">", "12.10"),
        ("unlimited", "<", 5),
        ("unlimited", "<=", 5),
        ("unlimited", ">=", "570.1.2"),
        (("H100", "L40S"), "in", ("H100", "H200")),
        (("H100", "L40S"), "==", "H100"),
        ((None, "d"), "present", None),
        ((None, "d"), "absent", None),
        ((None, "d"), "==", "d"),
        (False, "present", None),
        (None, "present", None),
        (None, "==", None),
        (None, "!=", "x"),
        ((), "==", "x"),
        ("p4d.24xlarge", "matches", "p5*"),
        ("p5", "matches", 5),
        ("H100", ">=", 5),
        (True, ">", 0),
        (4, ">", True),
        (4, ">", "many"),
        (4, "==", (4, 5)),
        (4, ">", None),
        (4, "~", 4),
        (float("nan"), ">=", 0),
        ("9" * 5000, ">=", "1"),
        ("1" + ".1" * 5000, ">=", "1"),
    ],
)
def test_it_is_unmet_and_what_cannot_be_compared_is_too(found: Any, op: str, value: Any) -> None:
    assert judged(found, op, value).status == UNMET


def test_what_has_no_order_says_so() -> None:
    assert judged("H100", ">=", 570).message == "H100 and 570 have no order: a version begins with a digit"
    assert judged(True, ">=", 570).message == "true and 570 have no order"


@pytest.mark.parametrize("op", OPS)
def test_what_is_not_known_is_neither_met_nor_unmet(op: str) -> None:
    for reason in REASONS:
        told = held(Condition("os.kernel", op, 1), Told(Reading(None, "/proc", reason, "words")))
        if reason not in ABSENT:
            assert (told.status, told.found, told.message) == (UNREAD, None, "words")
        else:
            assert told.status == (MET if op == "absent" else UNMET)


def test_a_condition_carries_what_was_found_and_who_said_so() -> None:
    told = held(Condition("software.nvidia-driver", ">=", "580"), HEALTHY)
    assert told == HeldCondition(
        "software.nvidia-driver", ">=", "580", "570.133.20", UNMET, "/sys/module/nvidia/version"
    )
    silent = held(Condition("accelerators.count", "==", 0), facts_of("none-pci-denied"))
    assert (silent.status, silent.evidence, silent.message) == (UNREAD, "/sys/bus/pci/devices", "Permission denied")
    absent = held(Condition("placement.provider", "==", "aws"), HEALTHY)
    assert (absent.status, absent.message) == (UNMET, "the firmware names no cloud that raxl knows")


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.from_regex(r"v?\d+(\.\d+)*", fullmatch=True),
)
VALUES = st.one_of(PLAIN, st.lists(PLAIN, max_size=4).map(tuple))


@given(VALUES, st.sampled_from(OPS), VALUES)
def test_whatever_is_compared_there_is_an_answer_and_the_opposite_is_another(found: Any, op: str, value: Any) -> None:
    told = judged(found, op, value)
    assert told.status in (MET, UNMET)
    opposite = {"==": "!=", "!=": "==", ">=": "<", "<": ">=", ">": "<=", "<=": ">", "present": "absent"}.get(op)
    if opposite and told.status == MET:
        assert judged(found, opposite, value).status == UNMET


@given(st.integers(), st.integers())
def test_numbers_have_the_order_of_numbers(found: int, value: int) -> None:
    holds = {op for op in (">=", "<=", ">", "<", "==", "!=") if judged(found, op, value).status == MET}
    right = {">=": found >= value, "<=": found <= value, ">": found > value, "<": found < value}
    right |= {"==": found == value, "!=": found != value}
    assert holds == {op for op, holds in right.items() if holds}


CONDITIONS = [
    Condition("accelerators.count", "==", 8),
    Condition("accelerators.count", "==", 7),
    Condition("accelerators.count", "==", 0),
    Condition("accelerators.count", "<", 8),
    Condition("accelerators[vendor=amd].count", "==", 0),
    Condition("accelerators[state=lost].count", "==", 0),
    Condition("accelerators.ray.type", "in", ("H100", "H200")),
    Condition("accelerators.fabric.domain", "absent"),
    Condition("nics[kind=infiniband].count", "==", 8),
    Condition("nics[kind=infiniband].count", "<", 8),
    Condition("nics[kind=roce].count", "==", 0),
    Condition("nics[kind=efa].count", "==", 0),
    Condition("nics[role=compute,kind=infiniband].count", "==", 8),
    Condition("placement.provider", "absent"),
    Condition("placement.provider", "!=", "aws"),
    Condition("scale_up.kind", "==", "none"),
    Condition("scale_up.kind", "==", "nvlink"),
    Condition("limits.memlock_bytes", ">=", 17179869184),
    Condition("shm.size_bytes", ">=", 1 << 30),
    Condition("modules.nvidia_peermem", "present"),
    Condition("modules.nvidia_peermem", "absent"),
    Condition("kernel_parameters.iommu", "absent"),
    Condition("environment.NCCL_SOCKET_IFNAME", "absent"),
    Condition("environment.NCCL_PROTO", "absent"),
    Condition("software.nvidia-driver", ">=", "570"),
    Condition("device_files[path=/dev/infiniband/uverbs*].count", "==", 0),
    Condition("ray.version", "absent"),
]
WHOLE = variant("nvidia-hgx-h100-healthy")
ASKED = sorted(
    {
        question.subject
        for question in WHOLE.answers
        if question.subject.startswith(("/sys/bus/pci/devices", "/sys/class", "/proc", "/sys/module", "/dev"))
    }
    | {f"process {name}" for name in ("limits", "environment", "filesystems", "device_nodes", "processes", "versions")}
)


def without(*refusals: tuple[str, str]) -> Recording:
    return variant("nvidia-hgx-h100-healthy", *[f"{subject} {refusal}" for subject, refusal in refusals])


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(
            st.one_of(st.sampled_from(ASKED), st.sampled_from(["/sys/bus/pci/devices", "/sys/class/infiniband"])),
            st.sampled_from(["!denied", "!timeout"]),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_an_answer_that_is_missing_makes_no_condition_met(refusals: list[tuple[str, str]]) -> None:
    before = {condition: held(condition, HEALTHY).status for condition in CONDITIONS}
    facts = of_recording(without(*refusals))
    for condition, status in before.items():
        if status != MET:
            assert held(condition, facts).status != MET, (condition, refusals, facts.read(condition.fact))
