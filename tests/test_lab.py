"""The lab is what it says: hosts of their own with real Ray on them, which break as named and leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import namespaces
from lab import MACHINES, Lab
from processes import name_of

HERE = Path(__file__).parent
NAMES = ["gpu-07", "mi300-01", "trn-01", "tpu-01"]
SHOWN = [(8, "NVIDIA H100 80GB HBM3"), (8, "AMD Instinct MI300X OAM"), (16, "Trainium2"), (8, "TPU v6e")]
"""How many accelerators of which model each host has."""
CONNECTS = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2).close()"
PROBE = """
import json, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
@ray.remote(num_cpus=0, max_retries=0)
def seen():
    import os, socket
    return [socket.gethostname(), os.environ.get("RAXL_HOST_RECORDING")]
left = [seen.options(scheduling_strategy=On(n["NodeID"], soft=False)).remote() for n in ray.nodes() if n["Alive"]]
while left:
    (done,), left = ray.wait(left)
    try:
        print(json.dumps(ray.get(done)), flush=True)
    except ray.exceptions.RayError:
        pass
"""
"""What a task on each node that Ray believes alive sees, a line as each comes back."""


@contextmanager
def probing(lab: Lab) -> Iterator[Callable[[int], list[list[str]]]]:
    """A driver with a task on each node. What it gives is called for the next so many that come back, in order."""
    driver = lab.head.start([sys.executable, "-c", PROBE])
    enough = threading.Timer(60, driver.end)
    enough.start()

    def next_ones(count: int) -> list[list[str]]:
        assert driver.stdout is not None
        own = (line for line in driver.stdout if line.startswith("["))  # Ray prints lines of its own
        return sorted(json.loads(next(own)) for _ in range(count))

    try:
        yield next_ones
    finally:
        enough.cancel()
        driver.end()


@pytest.fixture(scope="module")
def nodes(lab: Lab) -> dict[str, dict[str, Any]]:
    """`ray.nodes()` of the fresh cluster, by address."""
    return {node["NodeManagerAddress"]: node for node in lab.nodes()}


def reached(lab: Lab, nodes: dict[str, dict[str, Any]], host: int) -> bool:
    """Whether the head can open a connection to a host's raylet."""
    address = lab.hosts[host].address
    port = str(nodes[address]["NodeManagerPort"])
    return lab.head.run([sys.executable, "-c", CONNECTS, address, port]).returncode == 0


def eventually(holds: Callable[[], Any], seconds: float = 10.0) -> bool:
    """Whether it holds within so many seconds."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def test_ray_sees_four_nodes_as_they_were_given(lab: Lab, nodes: dict[str, dict[str, Any]]) -> None:
    assert sorted(nodes) == [host.address for host in lab.hosts]
    assert all(node["Alive"] for node in nodes.values())
    for host, machine in zip(lab.hosts, MACHINES, strict=True):
        node = nodes[host.address]
        wanted = {"CPU": 1.0, **({"GPU": machine.num_gpus} if machine.num_gpus else {}), **machine.resources}
        assert {name: node["Resources"].get(name) for name in wanted} == wanted
        assert {name: node["Labels"].get(name) for name in machine.labels} == machine.labels
        assert node["NodeManagerHostname"] == host.name


def test_a_task_on_each_node_stands_before_that_nodes_recording(lab: Lab) -> None:
    wanted = [[name, f"/run/recording/{machine.recording}.tar.gz"] for name, machine in zip(NAMES, MACHINES)]
    with probing(lab) as next_ones:
        assert next_ones(4) == sorted(wanted)


def test_raxl_on_each_host_shows_its_own_hardware(lab: Lab) -> None:
    for host, machine, (count, model) in zip(lab.hosts, MACHINES, SHOWN, strict=True):
        (node,) = json.loads(host.run(["raxl", "discover", "--format", "json"]).stdout)["nodes"]
        assert (node["name"], node["source"]) == (host.name, f"recording:/run/recording/{machine.recording}.tar.gz")
        assert [device["model"] for device in node["accelerators"]] == [model] * count


def test_a_plan_names_each_node_with_its_recipe_or_why_it_has_none(lab: Lab) -> None:
    done = lab.head.run(["raxl", "recipe", "plan", "--cluster", "--format", "json"], timeout=120)
    told = json.loads(done.stdout)
    planned = {one["node"]: one["recipe"]["name"] for one in told["plans"]}
    refused = {one["node"]: one["message"] for one in told["refused"]}
    assert planned["gpu-07"] == "nvidia-hgx-h100"
    assert sorted([*planned, *refused]) == sorted(NAMES)
    for name, why in refused.items():
        assert "no recipe fits this node" in why or "is for other hardware" in why, name
    shown = lab.head.run(["raxl", "recipe", "plan", "--cluster"], timeout=120).stdout
    assert shown.splitlines()[-1].startswith("4 nodes: ")
    assert shown.splitlines()[-1].endswith("Nothing was changed.")
    assert all(shown.index(name) < shown.index("gpu-07  nvidia-hgx-h100") for name in refused)
    assert lab.head.run(["find", "/run/home", "-path", "*recipe*"]).stdout == ""


def test_a_verification_is_of_the_nodes_that_the_recipe_is_for(lab: Lab) -> None:
    done = lab.head.run(
        ["raxl", "recipe", "verify", "nvidia-hgx-h100", "--cluster", "--no-bench", "--format", "json"], timeout=120
    )
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"], told["in_force"]) == (3, "incomplete", None)
    assert [one["name"] for one in told["nodes"]] == ["gpu-07"]
    for name in NAMES[1:]:
        assert any(one.startswith(f"{name}: nvidia-hgx-h100 is for other hardware") for one in told["not_verified"])
    (settings,) = [one["settings"] for one in told["nodes"]]
    places = {(one["name"], at["where"]): at["status"] for one in settings for at in one["places"]}
    assert places[("num-gpus", "Ray's resources")] == "same"
    assert places[("raxl/vendor", "Ray's labels")] == "missing"
    assert lab.head.run(["find", "/run/home", "-path", "*recipe*"]).stdout == ""


def test_the_dashboard_answers_on_the_heads_address_alone(lab: Lab) -> None:
    url = f"{lab.dashboard}/api/version"
    fetch = f"import urllib.request as u; print(u.build_opener(u.ProxyHandler({{}})).open({url!r}, timeout=5).read())"
    assert "ray_version" in lab.hosts[3].run([sys.executable, "-c", fetch]).stdout
    beside = subprocess.run([*lab.outside, sys.executable, "-c", fetch], capture_output=True, text=True, check=False)
    assert "ray_version" in beside.stdout
    here = subprocess.run([sys.executable, "-c", fetch], capture_output=True, text=True, check=False)
    assert here.returncode != 0, "the lab's network is its own"


def test_a_command_that_takes_too_long_ends_with_all_that_it_started(lab: Lab) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        lab.hosts[2].run(["sh", "-c", "sleep 987 & sleep 987"], timeout=0.5)
    assert eventually(lambda: not lab.hosts[2].processes("sleep"))


def test_what_lost_its_parent_is_buried(lab: Lab) -> None:
    host = lab.hosts[2]
    host.run(["sh", "-c", "setsid sleep 0.01 >/dev/null 2>&1 &"])
    children = Path(f"/proc/{host.pid}/task/{host.pid}/children")
    assert eventually(lambda: "sleep" not in map(name_of, map(int, children.read_text().split())))


def test_what_ray_writes_lies_in_its_hosts_memory_alone(lab: Lab) -> None:
    """So it needs nobody who sweeps up."""
    folders = [Path(f"/proc/{host.pid}/root") for host in lab.hosts]
    assert all((folder / "run/ray/session_latest").is_symlink() for folder in folders)
    for path in ("run", "dev/shm"):
        assert len({os.stat(folder / path).st_dev for folder in (*folders, Path("/"))}) == 1 + len(folders)


def test_a_variable_is_added_and_taken_away_for_one_command(lab: Lab) -> None:
    told = lab.head.run(
        ["sh", "-c", "echo ${RAXL_HOST_RECORDING-none} $MORE"], {"RAXL_HOST_RECORDING": None, "MORE": "x"}
    )
    assert told.stdout == "none x\n"


def test_a_stopped_host_keeps_its_task_until_it_goes_on(lab: Lab, nodes: dict[str, dict[str, Any]]) -> None:
    lab.stop(1)
    try:
        assert reached(lab, nodes, 1), "its kernel takes the connection"
        with probing(lab) as next_ones:
            assert {name for name, _ in next_ones(3)} == {*NAMES} - {NAMES[1]}
            lab.resume(1)
            assert [name for name, _ in next_ones(1)] == [NAMES[1]]
    finally:
        lab.resume(1)


def test_a_host_that_is_cut_off_is_back_when_it_is_mended(lab: Lab, nodes: dict[str, dict[str, Any]]) -> None:
    lab.cut(2)
    try:
        assert not reached(lab, nodes, 2)
        assert reached(lab, nodes, 1)
    finally:
        lab.mend(2)
    assert eventually(lambda: reached(lab, nodes, 2))


@pytest.mark.wrecks
def test_a_killed_raylet_is_gone_and_comes_back_with_other_labels(lab: Lab) -> None:
    lab.kill_raylet(3)
    assert lab.hosts[3].processes("raylet") == []
    with probing(lab) as next_ones:
        assert {name for name, _ in next_ones(3)} == {*NAMES[:3]}
    lab.restart(3, labels={"rack": "r7", "ray.io/gpu-domain": "slice-a"})
    *_, node = (n for n in lab.nodes() if n["NodeManagerAddress"] == lab.hosts[3].address and "rack" in n["Labels"])
    assert (node["Alive"], node["Labels"]["rack"], node["Labels"]["ray.io/gpu-domain"]) == (True, "r7", "slice-a")
    assert node["Resources"]["TPU"] == 8


DAEMONS = """
import signal, sys
sys.path[:0] = [sys.argv[1]]
from namespaces import *
switch = Switch()
try:
    hosts = [Host(switch, number, "host", {"PATH": os.environ["PATH"]}, None) for number in (1, 2)]
    for host in hosts:
        host.run(["sh", "-c", "for n in 1 2 3; do setsid sleep 987 >/dev/null 2>&1 & done"])
    print(hosts[0].pid, flush=True)
    signal.pause()
finally:
    switch.close()
"""


def of_namespace(pid: int) -> set[int]:
    """The processes that share a network namespace, and so a host."""
    own = os.readlink(f"/proc/{pid}/ns/net")
    return {int(name) for name in os.listdir("/proc") if name.isdigit() and _link(f"/proc/{name}/ns/net") == own}


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_behind_however_it_ends(ending: signal.Signals) -> None:
    """That the processes of the shared cluster are gone with it is held by its fixture."""
    if (reason := namespaces.missing()) is not None:
        pytest.skip(reason)
    before = namespaces.traces()
    pipe = subprocess.PIPE
    running = subprocess.Popen([sys.executable, "-c", DAEMONS, str(HERE)], stdout=pipe, stderr=pipe, text=True)
    assert running.stdout is not None
    first = running.stdout.readline()
    assert first, running.communicate()[1]
    alive = of_namespace(int(first))
    assert len(alive) >= 4
    running.send_signal(ending)
    running.communicate(timeout=30)
    assert running.returncode != 0
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in alive))
    assert eventually(lambda: namespaces.traces() == before), namespaces.traces()


RECEIVES = """
import socket, sys, time
with socket.create_server((sys.argv[1], 7777)) as server:
    print(flush=True)
    connection, _ = server.accept()
    begun, size = time.monotonic(), 0
    while part := connection.recv(1 << 16):
        size += len(part)
    print(size / (time.monotonic() - begun))
"""
SENDS = "import socket, sys; socket.create_connection((sys.argv[1], 7777)).sendall(bytes(4 << 20))"


def test_a_cable_has_the_rate_that_it_was_given() -> None:
    """10 MB/s, of which the first MiB comes at once."""
    if (reason := namespaces.missing()) is not None:
        pytest.skip(reason)
    switch = namespaces.Switch()
    try:
        one, other = (namespaces.Host(switch, n, "host", {"PATH": os.environ["PATH"]}, "80mbit") for n in (1, 2))
        receiving = one.start([sys.executable, "-c", RECEIVES, one.address])
        assert receiving.stdout is not None
        receiving.stdout.readline()
        assert other.run([sys.executable, "-c", SENDS, one.address]).returncode == 0
        assert 3e6 < float(receiving.finished(20).stdout) < 16e6
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this kernel slows no cable down (tc: {error.stderr.strip()})")
    finally:
        switch.close()
