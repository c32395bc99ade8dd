"""What a real cluster does while raxl reads it: it dies, grows, answers garbage, runs another Ray, lets nobody in."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import namespaces
from lab import RECORDING, Lab
from test_cluster import CLIENT_PORT, MODELS, NAMES, discover, lost, shown

ALL = list(zip(NAMES, MODELS, strict=True))
LATE_SECONDS = 6.0
"""Beyond the budget; 2 s are promised, and a busy machine takes longer."""


def client(lab: Lab) -> str:
    """The address that Ray Client takes."""
    return f"ray://{lab.head.address}:{CLIENT_PORT}"


def refused(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a run that could not start."""
    assert (done.returncode, done.stdout) == (4, "")
    (line,) = done.stderr.splitlines()
    return line.removeprefix("raxl: error: ")


def wait_for(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Until it holds."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


def words(host: namespaces.Host) -> Iterator[str]:
    """Of each process of a host, its command line."""
    for pid in host.processes():
        try:
            yield Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue


@contextmanager
def python_that(host: namespaces.Host, case: str, does: str) -> Iterator[None]:
    """While it lasts, the host's Python does this in place of a program whose arguments look like that."""
    real, kept = os.path.realpath(sys.executable), f"{namespaces.OWN}/real-python"
    script = f'#!/bin/bash\ncase " $* " in {case}) {does};; esac\nexec -a "$0" {kept} "$@"\n'
    host.write(f"{namespaces.OWN}/fake-python", script.encode(), mode=0o755)
    if not Path(f"/proc/{host.pid}/root{kept}").exists():
        host.write(kept, b"", mode=0o755)
        assert host.run(["mount", "--bind", real, kept]).returncode == 0
    assert host.run(["mount", "--bind", f"{namespaces.OWN}/fake-python", real]).returncode == 0
    try:
        yield
    finally:
        assert host.run(["umount", real]).returncode == 0


def test_a_live_node_whose_python_answers_garbage_is_named_and_the_others_shown(lab: Lab) -> None:
    with python_that(lab.hosts[1], '*" -I -S -c "*', "head -c 300000 /dev/urandom; exit 0"):
        done = discover(lab)
    assert (done.returncode, done.stderr) == (3, "")
    assert [entry for entry in shown(done) if entry[1]] == [entry for entry in ALL if entry[0] != "mi300-01"]
    assert list(lost(done)) == ["mi300-01"]
    assert lost(done)["mi300-01"].startswith("it answered with no snapshot")


def test_a_live_node_that_reads_a_broken_recording_says_so(lab: Lab) -> None:
    file = f"{RECORDING}/amd-mi300x-spx.tar.gz"
    held = lab.hosts[1].read(file)
    lab.hosts[1].write(file, held[: len(held) // 2])
    try:
        done = discover(lab)
    finally:
        lab.hosts[1].write(file, held)
    assert done.returncode == 3
    assert list(lost(done)) == ["mi300-01"]
    assert lost(done)["mi300-01"].startswith(f"RAXL_HOST_RECORDING: {file} is damaged or cut off (")


@pytest.fixture(scope="module")
def another_ray(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for PYTHONPATH with Ray as it is here, but for the version that it has and tells."""
    import ray

    here, folder = Path(ray.__file__).parent, tmp_path_factory.mktemp("another")
    (folder / "ray").mkdir()
    for entry in here.iterdir():
        if entry.name not in ("_version.py", "__pycache__"):
            (folder / "ray" / entry.name).symlink_to(entry)
    text = (here / "_version.py").read_text()
    (folder / "ray" / "_version.py").write_text(text.replace(ray.__version__, "2.49.1"))
    return str(folder)


@pytest.mark.parametrize("form", ["auto", "{head}:6379", "ray://{head}:10001"])
def test_another_ray_than_the_clusters_is_told_with_both_versions(lab: Lab, another_ray: str, form: str) -> None:
    import ray

    here = ".".join(map(str, sys.version_info[:3]))
    way = ("--address", form.format(head=lab.head.address), "--timeout", "60")  # Ray Client starts a server first
    done = discover(lab, *way, host=1, PYTHONPATH=another_ray)
    assert refused(done) == (
        f"the versions differ from the cluster's (it runs Ray {ray.__version__}, Python {here}; here are Ray 2.49.1, "
        f"Python {here}). --address {lab.dashboard} needs neither: a job on the head does the asking"
    )


def test_a_job_reads_a_cluster_of_another_ray(lab: Lab, another_ray: str) -> None:
    done = discover(lab, "--address", lab.dashboard, host=1, PYTHONPATH=another_ray)
    assert (done.returncode, done.stderr, shown(done)) == (0, "", ALL)


TELLS = """
import json, sys
from ray._raylet import GcsClient
key, space = b"CLUSTER_METADATA", b"cluster"
gcs = GcsClient(address=sys.argv[1])
told = json.loads(gcs.internal_kv_get(key, namespace=space))
gcs.internal_kv_put(key, json.dumps({**told, "python_version": sys.argv[2]}).encode(), True, space)
print(told["python_version"])
"""
"""Has a GCS tell another Python than its cluster was started with, and prints which that was."""


def test_another_python_than_the_clusters_is_told_with_both_versions(lab: Lab) -> None:
    command = [sys.executable, "-c", TELLS, lab.address]
    told = lab.head.run([*command, "3.10.99"])
    try:
        line = refused(discover(lab, host=1))
    finally:
        lab.head.run([*command, told.stdout.strip()])
    assert re.search(
        r"it runs Ray \S+, Python 3\.10\.99; here are Ray \S+, Python 3\.[0-9.]+\)\. --address http:", line
    )


SEALED = """
for folder in /run /tmp /var/tmp /dev/shm; do
    [ ! -d $folder ] || { mount --bind $folder $folder && mount -o remount,ro,bind $folder; } || exit 77
done
cd /sys && exec "$@"
"""
"""Runs its arguments where no temporary folder can be written."""


def test_a_driver_that_may_not_write_rays_folder_is_told(lab: Lab) -> None:
    sealed = ["unshare", "-m", "sh", "-c", SEALED, "sh", "raxl", "discover", "--cluster"]
    assert re.fullmatch(
        r"the cluster at auto cannot be joined \(Ray must write /run/ray/session_\S+/logs for it: "
        r"Read-only file system\)\. run raxl as the user that runs Ray, or with --address http://host:8265",
        refused(lab.head.run(sealed, timeout=120)),
    )


def test_a_driver_of_another_user_than_rays_is_told(lab: Lab) -> None:
    """It may read everything here: the Python of the tests can lie in root's home."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    nobody += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    line = refused(lab.head.run([*nobody, "raxl", "discover", "--cluster"], timeout=120))
    assert re.search(r"\(Ray must write /run/ray/session_\S+ for it: Permission denied\)\. run raxl as the user", line)


def test_ray_clients_server_that_dies_at_its_start_is_started_once_more(lab: Lab) -> None:
    flag = f"{namespaces.OWN}/dies"
    lab.head.write(flag, b"")
    with python_that(lab.head, "*specific-server*", f"[ ! -e {flag} ] || {{ rm {flag}; exit 1; }}"):
        done = discover(lab, "--address", client(lab), "--timeout", "40", host=1)
    assert (done.returncode, done.stderr) == (0, "")
    assert shown(done) == ALL
    assert not Path(f"/proc/{lab.head.pid}/root{flag}").exists(), "it was to die once"
    assert not [line for line in words(lab.hosts[1]) if "ray_child" in line]


def test_ray_clients_server_that_never_starts_costs_the_budget_and_no_more(lab: Lab) -> None:
    begun = time.monotonic()
    with python_that(lab.head, "*specific-server*", "exec sleep 30"):
        line = refused(discover(lab, "--address", client(lab), "--timeout", "10", host=1))
        seconds = time.monotonic() - begun
    assert seconds < 10 + LATE_SECONDS
    assert line.startswith(f"Ray does not let raxl join the cluster at {client(lab)} (no answer within 1")
    assert line.endswith(f"s). its head is busy: a longer --timeout, or --address {lab.dashboard}")
    assert not [line for line in words(lab.hosts[1]) if "ray_child" in line]


def test_a_node_that_joins_meanwhile_is_shown_even_by_anothers_name() -> None:
    """A stopped host holds the reading up until another has joined, which is called as the head is. In a cluster of its
    own: a node that another test killed stays dead in Ray's list, and is told."""
    if (reason := namespaces.missing()) is not None:
        pytest.skip(reason)
    with Lab(dashboard=False) as lab:
        lab.leave(3)
        wait_for(lambda: sum(node["Alive"] for node in lab.nodes()) == 3, seconds=60)
        assert lab.hosts[3].run(["hostname", "gpu-07"]).returncode == 0
        lab.stop(2)
        try:
            running = lab.head.start(["raxl", "discover", "--cluster", "--format", "json", "--timeout", "60"])
            wait_for(lambda: any("ray::ask_node" in line for line in words(lab.head)))
            lab.restart(3)
            lab.resume(2)
            done = running.finished(90)
        finally:
            lab.resume(2)
    assert (done.returncode, done.stderr, lost(done)) == (0, "", {})
    models = dict(ALL)
    assert shown(done) == [
        ("gpu-07", models["gpu-07"]),
        ("gpu-07-2", models["tpu-01"]),
        ("mi300-01", models["mi300-01"]),
        ("trn-01", models["trn-01"]),
    ]


def told_in_jobs(lab: Lab) -> int:
    """How many snapshots the jobs that raxl started have printed on the head."""
    logs = Path(f"/proc/{lab.head.pid}/root{namespaces.OWN}/ray").glob("session_2*/logs/job-driver-raxl-*.log")
    return sum(log.read_text(errors="replace").count('["snapshot"') for log in logs)


@pytest.mark.ends
def test_a_cluster_that_dies_meanwhile_gives_what_had_come_and_no_traceback(lab: Lab) -> None:
    """Its GCS is killed while a stopped node is waited for."""
    before = told_in_jobs(lab)
    lab.stop(2)
    begun, budget = time.monotonic(), 10.0
    command = ["raxl", "discover", "--cluster", "--format", "json", "--timeout", f"{budget:g}", "--address"]
    running = [lab.head.start([*command, address]) for address in ("auto", lab.dashboard)]
    wait_for(lambda: told_in_jobs(lab) - before == 3)
    time.sleep(1.5)  # until raxl has read the job's words; the other way is the shorter one
    (pid,) = lab.head.processes("gcs_server")
    os.kill(pid, signal.SIGKILL)
    killed = time.monotonic()
    ended = [(one.finished(60), time.monotonic()) for one in running]
    for done, when in ended:
        assert (done.returncode, done.stderr) == (3, "")
        assert when < max(begun + budget, killed) + LATE_SECONDS
        assert sorted(models for _, models in shown(done) if models) == sorted(MODELS[:3])
        assert lost(done)["trn-01"] in ("no answer within 10 s", "the cluster went away before this node answered")
    assert not [line for line in words(lab.head) if "ray_child" in line]
