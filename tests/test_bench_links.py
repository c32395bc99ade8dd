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
from link_benches import SIZE, measured, rows, way
from links import GBIT, GIGABIT, LinkedHost, Way, shaped
from ray_hosts import RayCluster, cluster

LIBRARIES = {"torch-gloo": 0.03, "object-store": 0.03, "rdt-gloo": 0.05}
"""How near to what the link carries each reads; whole chains of Ray Direct Transport lose 2 to 4 %."""
NIXL = ("nixl", "rdt-nixl")
"""Whose rates `test_bench_links_nixl` holds."""
HURT = ("tcp", "object-store", "rdt-gloo", "rdt-nixl")
DAMAGED = """
import sys
from raxl.bench import request, run
from raxl.model import codec
wanted = request.Request(
    address="auto",
    transports=tuple(sys.argv[1:]),
    pairs="host-1:host-2",
    sizes=(1 << 20,),
    is_damaged=True,
    budget_seconds=5,
)
print(codec.encode(run.bench(wanted)))
"""


@pytest.fixture(scope="module")
def pair() -> Iterator[RayCluster]:
    """Two hosts, 1 Gbit/s between them."""
    if (reason := links.missing()) is not None:
        pytest.skip(reason)
    with shaped([GIGABIT, GIGABIT], apart=False) as hosts, cluster(hosts, object_store=200_000_000) as running:
        yield running


@pytest.fixture(scope="module")
def four() -> Iterator[RayCluster]:
    if (reason := links.missing()) is not None:
        pytest.skip(reason)
    with shaped([GIGABIT] * 4) as hosts, cluster(hosts) as running:
        yield running


@pytest.fixture(scope="module")
def document(pair: RayCluster) -> dict[str, Any]:
    """One run of sockets and what polls no core."""
    names = ",".join(("tcp", *LIBRARIES))
    arguments = ("--transport", names, "--pairs", "host-1:host-2", "--sizes", "64KiB,32MiB", "--budget", "16s")
    return measured(pair, *arguments)


def test_sockets_read_what_the_link_carries_and_prove_it(document: dict[str, Any], pair: RayCluster) -> None:
    run = rows(document, "tcp")
    assert run[SIZE]["bandwidth_bytes_per_second"]["median"] == pytest.approx(way(pair).payload_rate, rel=0.03)
    assert run[SIZE]["phases"]["fetch"] == pytest.approx(way(pair).seconds(SIZE), rel=0.03)
    assert run[SIZE]["path"]["verdict"] == "proven"
    assert run[SIZE]["path"]["claimed"] == "eth0"
    assert run[SIZE]["ceiling"]["bandwidth_bytes_per_second"] == pytest.approx(way(pair).payload_rate)
    assert run[SIZE]["verified"] is True
    assert run[64 << 10]["latency_seconds"]["p50"] < 0.003


@pytest.mark.parametrize(("transport", "within"), LIBRARIES.items())
def test_libraries_read_what_the_link_carries(
    document: dict[str, Any], pair: RayCluster, transport: str, within: float
) -> None:
    run = rows(document, transport)[SIZE]
    assert run["bandwidth_bytes_per_second"]["median"] == pytest.approx(way(pair).payload_rate, rel=within)
    assert (run["path"]["claimed"], run["path"]["verdict"]) == ("eth0", "proven")
    assert run["verified"] is True
    assert run["cold_seconds"] > 0


def test_within_a_host_the_loopback_or_the_memory_is_proven(pair: RayCluster) -> None:
    """The host's own loopback, over which nobody else talks."""
    ways = {"tcp": "lo", "torch-gloo": "lo", "rdt-gloo": "lo", "shared-memory": "memory"}
    arguments = ("--transport", ",".join(ways), "--pairs", "host-2:host-2", "--sizes", "32MiB", "--budget", "4s")
    runs = {run["transport"]: run for run in measured(pair, *arguments)["runs"]}
    told = {name: (run["path"]["claimed"], run["path"]["verdict"]) for name, run in runs.items()}
    assert told == {name: (way, "proven") for name, way in ways.items()}


def test_nixl_that_goes_by_another_way_than_the_link_is_a_mismatch(pair: RayCluster) -> None:
    arguments = ("--transport", "nixl,rdt-nixl", "--pairs", "host-1:host-2", "--sizes", "4MiB", "--budget", "4s")
    document = measured(pair, *arguments, code=1)
    for run in document["runs"]:
        assert (run["status"], run["path"]["verdict"]) == ("mismatch", "mismatch")
        assert run["path"]["protocol"] == "zero-copy cma/memory"
        assert "it went by zero-copy cma/memory" in run["error"]


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


def test_a_byte_that_is_turned_on_the_way_is_told(pair: RayCluster) -> None:
    done = pair.run([sys.executable, "-c", DAMAGED, "tcp", *LIBRARIES, *NIXL], timeout=180)
    assert done.returncode == 0, done.stderr
    runs = {run["transport"]: run for run in json.loads(done.stdout)["runs"]}
    assert sorted(runs) == sorted(("tcp", *LIBRARIES, *NIXL))
    for run in runs.values():
        assert (run["status"], run["verified"], run["bandwidth_bytes_per_second"]) == ("corrupt", False, None)
    assert runs["tcp"]["error"].startswith("byte 524288 of 1048576 is ")


def test_a_partition_is_told_and_mends_by_itself(pair: RayCluster) -> None:
    (fault,) = hurt(pair, "partition", "tcp")
    assert (fault["kind"], fault["next_transfer"], fault["left"]["actors"]) == ("partition", "ok", 0)
    routes = [host.run(["ip", "route"]).stdout for host in pair.hosts]
    assert not any("blackhole" in one for one in routes)


@pytest.mark.parametrize("kind", ["kill-source", "kill-target", "pause"])
def test_what_comes_of_an_end_that_dies(pair: RayCluster, kind: str) -> None:
    """Whatever Ray and the libraries do, raxl tells it, leaves nothing, and can go on."""
    told = {fault["transport"]: fault for fault in hurt(pair, kind, *HURT)}
    assert sorted(told) == sorted(HURT)
    for fault in told.values():
        assert (fault["kind"], fault["next_transfer"], fault["left"]["actors"]) == (kind, "ok", 0)
        assert fault["other_end"] in ("alive", "hangs", "dead")
        assert fault["error"]
    if kind == "pause":
        assert (told["tcp"]["seconds_to_error"], told["tcp"]["error"]) == (None, "it hangs")
        assert told["tcp"]["other_end"] == "hangs"
    else:
        assert told["tcp"]["seconds_to_error"] < 5
        assert (told["tcp"]["other_end"], told["tcp"]["left"]["sockets"]) == ("alive", 0)


def hurt(on: RayCluster, kind: str, *transports: str) -> list[dict[str, Any]]:
    names = ",".join(transports)
    arguments = ("--transport", names, "--pairs", "host-1:host-2", "--sizes", "16MiB", "--fault", kind)
    faults: list[dict[str, Any]] = measured(on, *arguments, environment={"UCX_TLS": "tcp,self"})["faults"]
    return faults


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
    assert one["evidence"]["slow_when"] == "alone"


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
