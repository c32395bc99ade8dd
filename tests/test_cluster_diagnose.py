"""`raxl diagnose --cluster` on a real Ray cluster: a wrong count, a killed raylet, what is seen inside a worker."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest

import namespaces
from lab import MACHINES, Lab, Machine
from test_cluster import NAMES

RESOURCES = "ray.resource-vs-hardware"


def diagnose(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["raxl", "diagnose", "--cluster", "--format", "json", *arguments]
    return lab.head.run(command, timeout=120)


def found(done: subprocess.CompletedProcess[str], check: str) -> dict[tuple[str, str], str]:
    """Of one check, the status by node and subject."""
    assert done.stdout, done.stderr
    findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return {(one["node"], one["subject"]): one["status"] for one in findings if one["check"] == check}


def only(*checks: str) -> list[str]:
    return [word for check in checks for word in ("--only", check)]


@pytest.fixture(scope="module")
def pair() -> Iterator[Lab]:
    """A cluster of two, whose raylets the tests start anew and kill: Ray's list keeps each that has gone."""
    if (reason := namespaces.missing()) is not None:
        pytest.skip(reason)
    with Lab(MACHINES[:2], dashboard=False) as running:
        yield running


def test_a_cluster_that_registered_what_is_there_is_well(pair: Lab) -> None:
    done = diagnose(pair, *only(RESOURCES, "ray.phantom-accelerator", "ray.node-dead", "fleet.coverage"))
    assert (done.returncode, done.stderr) == (0, "")
    assert set(found(done, RESOURCES).values()) == {"ok"}
    assert {node for node, _ in found(done, RESOURCES)} == set(NAMES[:2])
    assert set(found(done, "ray.phantom-accelerator").values()) == {"ok"}
    assert found(done, "fleet.coverage") == {("", "cluster"): "ok"}


def test_what_could_not_be_read_is_no_success(pair: Lab) -> None:
    """The recordings that the hosts answer from hold no processes."""
    done = diagnose(pair, *only("ray.object-store"))
    assert done.returncode == 3
    assert found(done, "ray.object-store") == {(name, "node"): "unknown" for name in NAMES[:2]}


def test_a_raylet_that_was_started_with_a_wrong_count_is_found(pair: Lab) -> None:
    try:
        pair.restart(1, num_gpus=4)
        done = diagnose(pair, *only(RESOURCES, "ray.node-dead"))
        pair.restart(1, num_gpus=9)
        more = diagnose(pair, *only(RESOURCES))
    finally:
        pair.restart(1, num_gpus=8)
    assert found(done, RESOURCES)[("mi300-01", "ray.GPU")] == "warn"
    assert found(done, "ray.node-dead") == {("", "cluster"): "ok"}
    assert done.returncode == 0
    assert found(more, RESOURCES)[("mi300-01", "ray.GPU")] == "fail"
    assert more.returncode == 1
    assert found(diagnose(pair, *only(RESOURCES)), RESOURCES)[("mi300-01", "ray.GPU")] == "ok"


def test_a_raylet_that_was_killed_is_found_and_its_node_is_unknown(pair: Lab) -> None:
    name = pair.hosts[1].name
    try:
        pair.kill_raylet(1)
        until = time.monotonic() + 30
        while name in alive(pair) and time.monotonic() < until:
            time.sleep(0.2)
        done = diagnose(pair)
    finally:
        pair.restart(1)
    assert done.returncode == 1
    assert found(done, "ray.node-dead") == {(name, "node"): "fail"}
    assert found(done, "fleet.coverage") == {(name, "node"): "unknown"}
    assert found(done, RESOURCES)[(name, "node")] == "skip"
    assert found(done, RESOURCES)[("gpu-07", "ray.GPU")] == "ok"


def alive(lab: Lab) -> list[str]:
    """The names of the nodes that Ray has as alive."""
    return [node["NodeManagerHostname"] for node in lab.nodes() if node["Alive"]]


@pytest.fixture
def itself() -> Iterator[Lab]:
    """A cluster of hosts that answer for themselves."""
    if (reason := namespaces.missing()) is not None:
        pytest.skip(reason)
    hidden = {"CUDA_VISIBLE_DEVICES": "0"}
    machines = [Machine(None, name="a"), Machine(None, num_gpus=1, name="b", environment=hidden)]
    with Lab(machines, dashboard=False) as running:
        yield running


def test_raylets_and_versions_are_seen_from_inside_a_worker(itself: Lab) -> None:
    done = diagnose(itself)
    assert done.returncode == 1
    stores = found(done, "ray.object-store")
    assert {node for node, _ in stores} == {"a", "b"}
    assert all(subject.startswith("raylet ") for _, subject in stores)
    assert found(done, "ray.version-skew") == {("", "cluster"): "ok"}
    assert set(found(done, "ray.ports").values()) == {"ok"}
    assert found(done, RESOURCES)[("b", "ray.GPU")] == "fail"
    assert found(done, "ray.phantom-accelerator")[("b", "ray.GPU")] == "fail"
    variables = [one for one in json.loads(done.stdout)["findings"] if one["check"] == "ray.visible-devices"]
    assert {one["node"]: "CUDA_VISIBLE_DEVICES" in one["message"] for one in variables} == {"a": False, "b": True}
