"""Nodes held against each other."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from diagnosing import told, variant
from raxl.checks import Case, engine, fleet
from raxl.checks.diagnosis import EVERYTHING, Wanted
from raxl.host import Answer, Question
from raxl.host.record import Recording
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, Facts, Reading
from raxl.model.node import Node
from raxl.model.policy import Policy
from ray_views import versions

H100 = "nvidia-hgx-h100"
VERSION, FIRMWARE = "fleet.version-outlier", "fleet.firmware-outlier"
SETTINGS, SHAPE = "fleet.config-outlier", "fleet.topology-outlier"
XML, VBIOS = Question("command", "nvidia-smi -q -x"), "96.00.A5.00.01"
NIC = "/sys/class/infiniband/mlx5_0"
KERNEL = "/proc/sys/kernel/osrelease"


def nodes(*changes: tuple[Any, ...]) -> list[Recording]:
    """Nodes of one kind, each with its changes."""
    made = [variant(H100, *own) for own in changes]
    for number, recording in enumerate(made):
        recording.name = f"node-{number}"
    return made


def wrong(check: str, made: list[Recording], wanted: Wanted = EVERYTHING) -> dict[tuple[str, str], str]:
    """By node and subject, the status of what is not well."""
    return {(one.node, one.subject): one.status for one in told(check, made, wanted) if one.status != "ok"}


OLD, NEW = (f"{KERNEL}=5.15.0-1",), (f"{KERNEL}=6.8.0-2",)


def test_the_odd_one_of_three_is_told_and_of_two_nobody_is() -> None:
    assert wrong(VERSION, nodes(OLD, OLD, OLD)) == {}
    assert wrong(VERSION, nodes(OLD, OLD, NEW)) == {("node-2", "kernel"): "warn"}
    assert wrong(VERSION, nodes(OLD, NEW)) == {("", "kernel"): "skip"}
    assert wrong(VERSION, nodes(OLD)) == {("node-0", "node"): "skip"}


def test_without_a_majority_nobody_is_blamed() -> None:
    (found,) = [one for one in told(VERSION, nodes(OLD, OLD, NEW, NEW)) if one.status != "ok"]
    assert (found.node, found.status, found.subject) == ("", "warn", "kernel")
    assert found.message.startswith("kernel is split 2/2: ")


def test_the_policy_goes_before_the_majority() -> None:
    wanted = Wanted(policy=Policy(expected={"kernel": "6.8.0-2"}))
    assert wrong(VERSION, nodes(OLD, OLD, NEW), wanted) == {("node-0", "kernel"): "warn", ("node-1", "kernel"): "warn"}
    assert wrong(VERSION, nodes(OLD, OLD, OLD), wanted) == {(f"node-{n}", "kernel"): "warn" for n in range(3)}


def test_a_driver_that_differs_fails() -> None:
    driver = "/sys/module/nvidia/version=535.54.03"
    found = wrong(VERSION, nodes((), (), (), (driver,)))
    assert found[("node-3", "nvidia")] == "fail"


def test_packages_that_differ() -> None:
    same, other = (versions(torch="2.9.0+cu128"),), (versions(torch="2.8.0+cu126"),)
    assert wrong(VERSION, nodes(same, same, other)) == {("node-2", "torch"): "warn"}


def test_no_order_of_nodes_changes_a_verdict() -> None:
    made = nodes(OLD, OLD, NEW, OLD)
    first = wrong(VERSION, made)
    assert first
    for order in permutations(made):
        assert wrong(VERSION, list(order)) == first
    made = nodes(OLD, NEW, NEW, OLD)
    messages = {tuple(one.message for one in told(VERSION, list(order))) for order in permutations(made)}
    assert len(messages) == 1


def test_a_vbios_that_differs_warns() -> None:
    def vbios(version: str) -> Recording:
        recording = variant(H100)
        for question, answer in list(recording.answers.items()):
            if question == XML:
                output = answer.value
                text = output.stdout.replace(VBIOS, version)
                recording.answers[question] = Answer(output._replace(stdout=text))
        return recording

    made = [vbios(version) for version in (VBIOS, VBIOS, "96.00.A5.00.07")]
    for number, recording in enumerate(made):
        recording.name = f"node-{number}"
    assert wrong(FIRMWARE, made) == {("node-2", "NVIDIA H100 80GB HBM3 vbios"): "warn"}
    assert wrong(FIRMWARE, made[:2]) == {}


def test_firmware_of_a_nic_that_differs_warns() -> None:
    old, new = (f"{NIC}/fw_ver=28.39.1002",), (f"{NIC}/fw_ver=28.43.1000",)
    found = wrong(FIRMWARE, nodes(old, old, new))
    assert found == {("node-2", "MT4129 firmware"): "warn"}


def test_kernel_parameters_and_variables_that_differ() -> None:
    plain, tuned = ("/proc/cmdline=iommu=pt",), ("/proc/cmdline=iommu=off",)
    assert wrong(SETTINGS, nodes(plain, plain, tuned)) == {("node-2", "kernel parameters"): "warn"}
    loud = (("process environment", {"NCCL_DEBUG": "INFO"}),)
    assert wrong(SETTINGS, nodes((), (), loud)) == {("node-2", "variables of collectives"): "warn"}


def test_a_node_that_is_built_otherwise() -> None:
    assert wrong(SHAPE, nodes((), (), ())) == {}
    other = nodes((), (), ())
    odd = variant("nvidia-hgx-h100-gpu-missing")
    odd.name = "node-3"
    assert wrong(SHAPE, [*other, odd]) == {("node-3", "shape"): "warn"}


def test_nodes_of_two_kinds_are_not_held_against_each_other() -> None:
    other = variant("amd-mi300x-spx", *NEW)
    other.name = "amd"
    assert wrong(VERSION, [*nodes(OLD, OLD, OLD), other]) == {}
    alone = [variant(H100), other]
    alone[0].name = "h100"
    assert wrong(VERSION, alone) == {("", "cluster"): "skip"}


def test_a_node_that_did_not_answer_is_told_first_and_blamed_for_nothing() -> None:
    silent = Recording(
        name="node-9",
        recorded_by="0.1.0",
        unasked=Answer(None, "timed-out", "no answer within 20 s"),
        notes=(("node", "timed-out", "no answer within 20 s"),),
    )
    made = [*nodes(OLD, OLD, OLD), silent]
    random.Random(7).shuffle(made)
    assert wrong("fleet.coverage", made) == {("node-9", "node"): "unknown"}
    assert wrong(VERSION, made) == {}
    assert {one.status for one in told("fleet.coverage", nodes(OLD, OLD))} == {"ok"}
    assert wrong("fleet.coverage", nodes(OLD)) == {("node-0", "node"): "skip"}


@pytest.mark.parametrize("check", [VERSION, FIRMWARE, SETTINGS, SHAPE])
def test_machines_of_which_nothing_is_known_are_held_against_nothing(check: str) -> None:
    made = [Recording(name=f"node-{number}", source="a.txt") for number in range(3)]
    assert wrong(check, made) == {("", "cluster"): "skip"}


def idle(name: str, temperature: float, load: float = 0.0) -> Case:
    """A node whose one GPU is so warm; no recording holds temperatures of several nodes."""
    node = Node(name, "local", accelerators=(Accelerator("nvidia:0", "nvidia", "gpu", model="H100"),))
    told = {"temperature_celsius": Reading(temperature, "nvml"), "utilization_percent": Reading(load, "nvml")}
    return Case(node, replace(NO_FACTS, devices={"nvidia:0": told}))


NO_FACTS = Facts(NOT_READ, NOT_READ, NOT_READ, NOT_READ, NOT_READ)


@pytest.mark.parametrize(
    ("temperatures", "expected"),
    [
        ([30, 31, 32, 30, 31], {"": "ok"}),
        ([30, 31, 32, 30, 55], {"node-4": "warn"}),
        ([30, 31, 32, 30, 39], {"": "ok"}),
        ([30, 31, 32, 55], {"": "skip"}),
        ([30, 40, 50, 60, 70], {"": "ok"}),
    ],
)
def test_a_node_that_idles_hotter_than_its_peers(temperatures: list[int], expected: dict[str, str]) -> None:
    cases = [idle(f"node-{number}", value) for number, value in enumerate(temperatures)]
    found = engine.findings([fleet.numeric_outlier], cases, Policy(), "2026-01-01")
    assert {one.node: one.status for one in found} == expected


def test_a_node_at_work_is_not_compared() -> None:
    cases = [idle(f"node-{number}", 30) for number in range(5)] + [idle("node-5", 70, load=98)]
    (found,) = engine.findings([fleet.numeric_outlier], cases, Policy(), "2026-01-01")
    assert (found.status, "on 5 nodes" in found.message) == ("ok", True)
