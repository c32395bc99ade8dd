"""`raxl bench-transport` over links whose rate and delay are known, between nodes of a real Ray cluster."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import links
from links import GBIT, GIGABIT, Cable, LinkedHost, Way, relayed, shaped
from ray_hosts import RayCluster, cluster

SIZE = 32 << 20
DAMAGED = """
import sys
from raxl.bench import request, run
from raxl.model import codec
wanted = request.Request("auto", tuple(sys.argv[1:]), "host-1:host-2", (1 << 20,), is_damaged=True, budget_seconds=5)
print(codec.encode(run.bench(wanted)))
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[RayCluster]:
    """Two hosts, 1 Gbit/s between them."""
    if (reason := links.missing()) is not None:
        pytest.skip(reason)
    with shaped([GIGABIT, GIGABIT], apart=False) as hosts, cluster(hosts) as running:
        yield running


@pytest.fixture(scope="module")
def four() -> Iterator[RayCluster]:
    if (reason := links.missing()) is not None:
        pytest.skip(reason)
    with shaped([GIGABIT] * 4) as hosts, cluster(hosts) as running:
        yield running


def measured(
    on: RayCluster, *arguments: str, code: int = 0, environment: dict[str, str | None] | None = None
) -> dict[str, Any]:
    """The document of a run on the first host."""
    command = ["raxl", "bench-transport", "--cluster", "--format", "json", *arguments]
    done = on.run(command, environment, timeout=180)
    assert (done.returncode, done.stderr) == (code, ""), done.stdout[-2000:] + done.stderr
    return dict(json.loads(done.stdout))


def rows(document: dict[str, Any], transport: str) -> dict[int, dict[str, Any]]:
    """By size."""
    return {run["size_bytes"]: run for run in document["runs"] if run["transport"] == transport}


def way(on: RayCluster) -> links.LinkPath:
    source, target = on.hosts[:2]
    assert isinstance(source, LinkedHost)
    assert isinstance(target, LinkedHost)
    return source.to(target)


def test_sockets_read_what_the_link_carries_and_prove_it(pair: RayCluster) -> None:
    run = rows(measured(pair, "--transport", "tcp", "--pairs", "host-1:host-2", "--sizes", "8,32MiB"), "tcp")
    assert run[SIZE]["bandwidth_bytes_per_second"]["median"] == pytest.approx(way(pair).payload_rate, rel=0.03)
    assert run[SIZE]["phases"]["fetch"] == pytest.approx(way(pair).seconds(SIZE), rel=0.03)
    assert run[SIZE]["path"]["verdict"] == "proven"
    assert run[SIZE]["path"]["claimed"] == "eth0"
    assert run[SIZE]["ceiling"]["bandwidth_bytes_per_second"] == pytest.approx(way(pair).payload_rate)
    assert run[SIZE]["verified"] is True
    assert run[8]["latency_seconds"]["p50"] < 0.002


def test_several_connections_share_the_link(pair: RayCluster) -> None:
    document = measured(
        pair, "--transport", "tcp", "--pairs", "host-2:host-1", "--sizes", "32MiB", "--streams", "4", "--budget", "4s"
    )
    run = rows(document, "tcp")[SIZE]
    assert (run["source"]["node"], run["target"]["node"]) == ("host-2", "host-1")
    assert (run["mode"], run["window"]) == ("stream", 4)
    assert run["bandwidth_bytes_per_second"]["median"] == pytest.approx(way(pair).payload_rate, rel=0.03)


def test_a_rate_that_changes_in_the_middle_is_unstable(pair: RayCluster) -> None:
    first = pair.hosts[0]
    assert isinstance(first, LinkedHost)
    command = ["raxl", "bench-transport", "--cluster", "--format", "json", "--transport", "tcp"]
    command += ["--pairs", "host-1:host-2", "--sizes", "4MiB", "--min-time", "6s"]
    running = pair.start(command)
    try:
        until, before = time.monotonic() + 60, sent(first)
        while sent(first) < before + (150 << 20) and time.monotonic() < until:
            time.sleep(0.05)
        first.change(out=Way(0.3 * GBIT))
        done = running.finished(90)
    finally:
        first.change(out=Way(GBIT))
    assert done.returncode == 0, done.stderr
    run = rows(json.loads(done.stdout), "tcp")[4 << 20]
    assert run["status"] == "unstable"
    assert run["bandwidth_bytes_per_second"]["ci95_low"] < 0.5 * run["bandwidth_bytes_per_second"]["ci95_high"]


def test_weights_come_to_every_reader_by_the_link(pair: RayCluster, tmp_path: Path) -> None:
    (tmp_path / "list").write_text("2048x2048 bf16\n4MiB\n" + "1MiB\n" * 8)
    document = measured(
        pair, "--transport", "tcp,object-store", "--pattern", "weight-sync", "--actors", "2x2", "--budget", "8s",
        "--tensors", str(tmp_path / "list"),
    )  # fmt: skip
    for transport, copies in (("tcp", 2), ("object-store", 1)):  # a raylet pulls an object once
        run = rows(document, transport)[20 << 20]
        assert run["verified"] is True
        assert run["sync"]["trainers"] == ["host-1"] * 2
        assert run["sync"]["readers"] == ["host-2"] * 2
        assert run["path"]["verdict"] == "proven"
        assert run["path"]["devices"][0]["expected_bytes"] == copies * (20 << 20) * run["iterations"]
        assert run["latency_seconds"]["p50"] > 0.95 * copies * (20 << 20) / way(pair).payload_rate


def sent(host: LinkedHost) -> int:
    """Bytes that left through its cable so far."""
    line = next(one for one in Path(f"/proc/{host.pid}/net/dev").read_text().splitlines() if "eth0:" in one)
    return int(line.split(":")[1].split()[8])


@pytest.mark.parametrize("transport", ["tcp"])
def test_a_byte_that_is_turned_on_the_way_is_told(pair: RayCluster, transport: str) -> None:
    done = pair.run([sys.executable, "-c", DAMAGED, transport], timeout=120)
    assert done.returncode == 0, done.stderr
    run = rows(json.loads(done.stdout), transport)[1 << 20]
    assert (run["status"], run["verified"], run["bandwidth_bytes_per_second"]) == ("corrupt", False, None)
    assert run["error"].startswith("byte 524288 of 1048576 is ")


def test_a_partition_is_told_and_mends_by_itself(pair: RayCluster) -> None:
    document = measured(
        pair, "--transport", "tcp", "--pairs", "host-1:host-2", "--sizes", "16MiB", "--fault", "partition"
    )
    (fault,) = document["faults"]
    assert (fault["kind"], fault["next_transfer"], fault["left"]["actors"]) == ("partition", "ok", 0)
    routes = [host.run(["ip", "route"]).stdout for host in pair.hosts]
    assert not any("blackhole" in one for one in routes)


@pytest.mark.parametrize(("kind", "other"), [("kill-source", "alive"), ("kill-target", "alive"), ("pause", "hangs")])
def test_an_end_of_sockets_that_dies_is_told_and_leaves_nothing(pair: RayCluster, kind: str, other: str) -> None:
    document = measured(pair, "--transport", "tcp", "--pairs", "host-1:host-2", "--sizes", "16MiB", "--fault", kind)
    (fault,) = document["faults"]
    assert (fault["other_end"], fault["next_transfer"], fault["left"]["actors"]) == (other, "ok", 0)
    if kind == "pause":
        assert (fault["seconds_to_error"], fault["error"]) == (None, "it hangs")
    else:
        assert fault["seconds_to_error"] < 5
        assert fault["left"]["sockets"] == 0


def test_interrupted_it_leaves_no_process_and_no_actor(pair: RayCluster) -> None:
    first = pair.hosts[0]
    assert isinstance(first, LinkedHost)
    command = ["raxl", "bench-transport", "--cluster", "--transport", "tcp", "--pairs", "all", "--min-time", "30s"]
    running = pair.start(command)
    until, already = time.monotonic() + 60, sent(first)
    while sent(first) < already + (20 << 20) and time.monotonic() < until:
        time.sleep(0.05)
    (own,) = [pid for pid in first.processes() if command[1] in words(pid)]
    os.kill(own, signal.SIGINT)
    assert running.finished(30).returncode == 130
    until = time.monotonic() + 20
    while ends(pair) and time.monotonic() < until:
        time.sleep(0.2)
    assert ends(pair) == []


def ends(on: RayCluster) -> list[int]:
    """Processes of raxl's actors, and of what drives them."""
    found = [pid for host in on.hosts for pid in host.processes()]
    return [pid for pid in found if "raxl_end" in words(pid) or "raxl.bench" in words(pid)]


def words(pid: int) -> str:
    """Its command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def test_one_slow_host_of_four_is_named(four: RayCluster) -> None:
    slow = four.hosts[2]
    assert isinstance(slow, LinkedHost)
    slow.change(out=Way(0.7 * GBIT), into=Way(0.7 * GBIT))
    try:
        document = measured(four, code=1)
    finally:
        slow.change(out=Way(GBIT), into=Way(GBIT))
    (one,) = document["slow"]
    assert (one["kind"], one["subject"], one["direction"]) == ("node", "host-3", "both")
    best, peers = one["evidence"]["best_bytes_per_second"], one["evidence"]["peers_bytes_per_second"]
    assert best / peers == pytest.approx(0.7, rel=0.03)


def test_one_slow_direction_is_named(four: RayCluster) -> None:
    slow = four.hosts[1]
    assert isinstance(slow, LinkedHost)
    slow.change(into=Way(0.5 * GBIT))
    try:
        document = measured(four, code=1)
    finally:
        slow.change(into=Way(GBIT))
    (one,) = document["slow"]
    assert (one["kind"], one["subject"], one["direction"]) == ("node", "host-2", "receives")


def test_equal_hosts_blame_nobody(four: RayCluster) -> None:
    document = measured(four)
    assert document["slow"] == []
    assert {run["path"]["verdict"] for run in document["runs"]} == {"proven"}


@pytest.fixture(scope="module")
def far() -> Iterator[RayCluster]:
    """Two hosts, 2 ms each way between them."""
    if (reason := links.missing(relay=True)) is not None:
        pytest.skip(reason)
    with relayed([Cable.of(0.2 * GBIT, 0.001)] * 2) as hosts, cluster(hosts) as running:
        yield running


def test_the_latency_of_a_far_link_is_read(far: RayCluster) -> None:
    run = rows(measured(far, "--transport", "tcp", "--pairs", "host-1:host-2", "--sizes", "8,32MiB"), "tcp")
    assert run[8]["latency_seconds"]["p50"] == pytest.approx(0.002, abs=0.0003)
    assert run[SIZE]["bandwidth_bytes_per_second"]["median"] == pytest.approx(way(far).payload_rate, rel=0.03)
