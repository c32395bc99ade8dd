"""raxl over a real Ray cluster: every way in, every way in which a node or the cluster can be missing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import namespaces
from lab import PORT, Lab, Machine
from raxl.collect import cluster

CLIENT_PORT = 10001
RAXL = str(Path(sys.executable).with_name("raxl"))
NAMES = ["gpu-07", "mi300-01", "tpu-01", "trn-01"]
MODELS = [8 * ["NVIDIA H100 80GB HBM3"], 8 * ["AMD Instinct MI300X OAM"], 8 * ["TPU v6e"], 16 * ["Trainium2"]]
SOON_SECONDS = 15.0
"""Within so long it is told, however busy the machine; `benchmarks/cluster.py` holds what is promised."""


def shown(done: subprocess.CompletedProcess[str]) -> list[tuple[str, list[str]]]:
    """By node, the models of its accelerators."""
    nodes = json.loads(done.stdout)["nodes"]
    return [(node["name"], [device["model"] for device in node["accelerators"]]) for node in nodes]


def lost(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """By node that did not answer, why."""
    nodes = json.loads(done.stdout)["nodes"]
    told = {node["name"]: [one for one in node["problems"] if one["subject"] == "node"] for node in nodes}
    return {name: problems[0]["message"] for name, problems in told.items() if problems}


def discover(lab: Lab, *arguments: str, host: int = 0, **changes: str | None) -> subprocess.CompletedProcess[str]:
    command = ["raxl", "discover", "--cluster", "--format", "json", *arguments]
    return lab.hosts[host].run(command, changes, timeout=120)


def beside(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    """raxl on a machine that is no node, and sees the cluster's network."""
    command = [*lab.outside, RAXL, "discover", "--cluster", "--format", "json", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_every_nodes_own_hardware_comes_through_a_task_of_ray(lab: Lab) -> None:
    done = discover(lab)
    assert (done.returncode, done.stderr) == (0, "")
    assert shown(done) == list(zip(NAMES, MODELS, strict=True))


@pytest.mark.parametrize("form", ["auto", "{head}:6379", "ray://{head}:10001", "http://{head}:8265"])
def test_each_form_of_an_address_leads_to_the_same(lab: Lab, form: str) -> None:
    done = discover(lab, "--address", form.format(head=lab.head.address), host=1)
    assert (done.returncode, done.stderr) == (0, "")
    assert shown(done) == list(zip(NAMES, MODELS, strict=True))


def test_ray_address_names_the_cluster_where_no_address_is_given(lab: Lab) -> None:
    done = discover(lab, RAY_ADDRESS="10.77.0.1:1")
    assert done.returncode == 4
    assert done.stderr == "raxl: error: no Ray cluster at 10.77.0.1:1 (Connection refused)\n"


def test_ray_says_what_it_knows_of_each_node(lab: Lab) -> None:
    document = json.loads(discover(lab).stdout)
    views = {node["name"]: node for node in document["cluster"]["nodes"]}
    assert sorted(views) == NAMES
    assert (document["cluster"]["nodes_alive"], document["cluster"]["nodes_dead"]) == (4, 0)
    assert document["cluster"]["ray_version"]
    assert {name: view["is_head"] for name, view in views.items()} == {name: name == "gpu-07" for name in NAMES}
    assert [views[name]["resources"].get("GPU") for name in NAMES] == [8, 8, None, None]
    ids = {node["name"]: node["ray_node_id"] for node in document["nodes"]}
    assert ids == {name: view["node_id"] for name, view in views.items()}


def test_what_ray_registered_is_held_against_what_is_there(lab: Lab) -> None:
    """The lab gives each node what its hardware has: nothing is to be told."""
    told = [one for node in json.loads(discover(lab).stdout)["nodes"] for one in node["problems"]]
    assert [one["message"] for one in told if one["subject"].startswith("ray.") and "egistered" in one["message"]] == []


def test_from_elsewhere_the_other_ways_in_are_named(lab: Lab) -> None:
    begun = time.monotonic()
    done = beside(lab, "--address", lab.address)
    assert (done.returncode, done.stdout) == (4, "")
    ways = f"--address ray://{lab.head.address}:10001 or --address http://{lab.head.address}:8265"
    message = f"this host is no node of the cluster at {lab.address}. from elsewhere: {ways}"
    assert done.stderr == f"raxl: error: {message}\n"
    assert time.monotonic() - begun < SOON_SECONDS
    for address in (f"ray://{lab.head.address}:{CLIENT_PORT}", lab.dashboard):
        assert shown(beside(lab, "--address", address)) == list(zip(NAMES, MODELS, strict=True))


def test_a_record_of_the_cluster_gives_the_same_bytes(lab: Lab) -> None:
    file = f"{namespaces.OWN}/tmp/cluster.tar.gz"
    for command in ("discover", "topo"):
        for form in ("text", "json"):
            first = lab.head.run(["raxl", command, "--cluster", "--format", form, "--record", file], timeout=120)
            again = lab.head.run(["raxl", command, "--from", file, "--format", form])
            assert (again.returncode, again.stdout) == (first.returncode, first.stdout)


def test_a_job_of_ray_reads_the_cluster_that_it_runs_in(lab: Lab) -> None:
    """Its runtime environment is not the tasks'."""
    environment = json.dumps({"env_vars": {"CUDA_VISIBLE_DEVICES": "0"}})
    command = ["ray", "job", "submit", "--runtime-env-json", environment, "--", "raxl", "discover", "--cluster"]
    done = lab.head.run([*command, "--format", "json"], {"RAY_ADDRESS": lab.dashboard}, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    text = done.stdout[done.stdout.index("{") :]
    document, _ = json.JSONDecoder().raw_decode(text)
    assert [len(node["accelerators"]) for node in document["nodes"]] == [8, 8, 8, 16]


def test_a_job_through_the_dashboard_leaves_at_most_one_line_in_rays_list(lab: Lab) -> None:
    for _ in range(2):
        assert discover(lab, "--address", lab.dashboard).returncode == 0
    listed = lab.head.run(["ray", "job", "list"], {"RAY_ADDRESS": lab.dashboard}, timeout=60).stdout
    assert 1 <= listed.count("submission_id='raxl-") <= 2, listed


@pytest.mark.parametrize("seconds", [0.4, 0.8, 1.2])
def test_ctrl_c_leaves_no_process_behind(lab: Lab, seconds: float) -> None:
    running = lab.head.start(["raxl", "discover", "--cluster"])
    time.sleep(seconds)
    for pid in lab.head.processes("raxl"):
        os.kill(pid, signal.SIGINT)
    running.finished(20)
    assert running.returncode in (0, 130)
    words = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in lab.head.processes()]
    assert not [line for line in words if b"ray_child" in line]


@pytest.mark.wrecks
def test_a_node_that_was_stopped_is_named_and_is_not_missed(lab: Lab) -> None:
    lab.end_raylet(1)
    try:
        done = discover(lab)
        text = lab.head.run(["raxl", "discover", "--cluster"], timeout=120).stdout
    finally:
        lab.restart(1)
    assert (done.returncode, shown(done)) == (
        0,
        [pair for pair in zip(NAMES, MODELS, strict=True) if "mi300" not in pair[0]],
    )
    gone = [
        (one["name"], one["death"]) for one in json.loads(done.stdout)["cluster"]["nodes"] if one["state"] == "dead"
    ]
    assert gone == [("mi300-01", "EXPECTED_TERMINATION")]
    assert "3 nodes, all answered\n   left: mi300-01 (stopped: received SIGTERM)\n" in text


@pytest.mark.wrecks
def test_what_is_left_of_a_cluster_is_shown_in_time_and_what_is_lost_named(lab: Lab) -> None:
    """One raylet is killed, one host stopped, one cut off."""
    lab.kill_raylet(1)
    lab.stop(2)
    lab.cut(3)
    try:
        for budget in (6.0, 12.0):
            begun = time.monotonic()
            done = discover(lab, "--timeout", str(budget))
            seconds = time.monotonic() - begun
            assert done.returncode == 3
            assert [entry for entry in shown(done) if entry[1]] == [("gpu-07", MODELS[0])]
            assert sorted(lost(done)) == ["mi300-01", "tpu-01", "trn-01"]
            assert seconds < budget + SOON_SECONDS
    finally:
        lab.resume(2)
        lab.mend(3)
        lab.restart(1)


@pytest.fixture(scope="module")
def locked() -> Iterator[Lab]:
    if (reason := namespaces.missing()) is not None:
        pytest.skip(reason)
    with Lab([Machine("nvidia-hgx-h100", num_gpus=8)], token=True) as running:
        yield running


def told_soon(lab: Lab, *arguments: str, **changes: str | None) -> str:
    """The one line with which a run ends that could not start."""
    begun = time.monotonic()
    done = discover(lab, *arguments, **changes)
    assert time.monotonic() - begun < SOON_SECONDS
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.splitlines()
    return line


ENDINGS = ["{head}:6379", "ray://{head}:10001", "http://{head}:8265"]
LOCKED = "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH unless the token is in ~/.ray/auth_token"


@pytest.mark.parametrize("form", ENDINGS)
def test_a_locked_cluster_opens_to_its_token_alone(locked: Lab, form: str) -> None:
    address = form.format(head=locked.head.address)
    assert shown(discover(locked, "--address", address)) == [("gpu-07", MODELS[0])]
    line = told_soon(locked, "--address", address, RAY_AUTH_MODE="disabled")
    assert line == f"raxl: error: the cluster is locked (it wants a token). {LOCKED}"
    line = told_soon(locked, "--address", address, RAY_AUTH_TOKEN="f" * 48)
    assert line == f"raxl: error: the cluster is locked (its token is another). {LOCKED}"


def test_a_token_is_neither_printed_nor_recorded(locked: Lab) -> None:
    file = f"{namespaces.OWN}/tmp/locked.tar.gz"
    token = locked.head.run(["sh", "-c", "cat $HOME/.ray/auth_token"]).stdout.strip()
    assert len(token) > 20
    done = discover(locked, "--record", file)
    held = locked.head.run(["sh", "-c", f"zcat {file} | grep -ac {token}; zcat {file} | grep -ac nvidia"]).stdout
    found, others = map(int, held.split())
    assert (found, others > 0) == (0, True)
    assert token not in done.stdout + done.stderr


@pytest.mark.parametrize("form", ENDINGS)
def test_a_stopped_cluster_is_told(locked: Lab, form: str) -> None:
    address = form.format(head=locked.head.address)
    locked.stop(0)
    try:
        begun = time.monotonic()
        done = beside(locked, "--address", address)
        seconds = time.monotonic() - begun
    finally:
        locked.resume(0)
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr.startswith(f"raxl: error: no Ray cluster at {address} (no answer within 2 s")
    assert seconds < SOON_SECONDS


def test_a_stopped_gcs_behind_a_live_dashboard_is_told(locked: Lab) -> None:
    (pid,) = locked.head.processes("gcs_server")
    os.kill(pid, signal.SIGSTOP)
    try:
        line = told_soon(locked, "--address", locked.dashboard)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert line.startswith(f"raxl: error: no Ray cluster at {locked.dashboard} (")


@pytest.mark.parametrize("form", ENDINGS)
def test_a_dead_cluster_is_told(locked: Lab, form: str) -> None:
    port = {"http": 1, "{hea": 2, "ray:": 3}[form[:4]]
    address = form.format(head=locked.head.address).rpartition(":")[0] + f":{port}"
    line = told_soon(locked, "--address", address)
    assert line.startswith(f"raxl: error: no Ray cluster at {address} (")
    assert "refused" in line


@pytest.mark.parametrize(
    ("address", "code"),
    [("nowhere", 2), ("host:0", 2), ("host:99999", 2), ("ray://", 2), ("http://", 2), ("no-such-host.invalid:6379", 4)],
)
def test_an_address_that_is_none_is_one_line(locked: Lab, address: str, code: int) -> None:
    done = discover(locked, "--address", address)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (code, "", 1)


def test_an_address_without_cluster_is_refused() -> None:
    done = subprocess.run([RAXL, "topo", "--address", "x:1"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "raxl: error: --address names a cluster, and --cluster is not given\n",
    )


def test_an_answer_that_is_no_snapshot_costs_its_node_alone() -> None:
    for data in ("", "AAAA", "%%%", "H4sIAAAAAAAC/w==", "x" * 10_000):
        recording = cluster._opened(data)
        ((subject, reason, message),) = recording.notes
        assert (subject, reason) == ("node", "failed")
        assert message.startswith("it answered with no snapshot")


def test_two_nodes_of_one_name_are_told_apart() -> None:
    view: dict[str, Any] = {"node_id": "a" * 56, "state": "alive", "name": "gpu-1"}
    found = [cluster._with_view(cluster.silent("failed", "x"), {**view, "node_id": c * 56}, {"x": 1}) for c in "ab"]
    from raxl.collect import machines

    assert [one.name for one in machines.renamed(found)] == ["gpu-1", "gpu-1-2"]
    assert len(machines.together(found)) == 2
    assert PORT == 6379
