"""What a real cluster does while raxl reads it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import namespaces
from lab import Lab
from test_cluster import MODELS, lost, shown

LATE_SECONDS = 6.0
"""Beyond the budget; 2 s are promised, and a busy machine takes longer."""


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
