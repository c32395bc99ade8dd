"""What Ray prints of its nodes: each ground truth of the real captures, and texts of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import captures
import recordings
from raxl.cli import outcome
from raxl.collect import assemble, inputs, many
from raxl.model.cluster import Cluster, RayNode
from raxl.model.inventory import Inventory
from raxl.render import text_cluster
from raxl.render.text import to_text
from raxl.topology import overview, ray_registered
from test_captures import entries

IDS = [f"{number:056x}" for number in (10, 11, 12)]


def read(path: Path) -> Inventory:
    return assemble.inventory(inputs.opened([str(path)]))


def cluster(path: Path) -> Cluster:
    whole = read(path).cluster
    assert whole is not None
    return whole


def types(node: RayNode) -> list[str]:
    return [name.partition(":")[2] for name in node.resources if name.startswith("accelerator_type:")]


@pytest.mark.parametrize("entry", entries("ray-api"))
def test_a_dump_tells_what_it_holds(entry: dict[str, Any]) -> None:
    assert captures.CORPUS is not None
    truth, found = dict(entry["ground_truth"]), cluster(captures.CORPUS / entry["path"]).nodes
    truth.pop("note", None)
    assert len(found) == truth.pop("nodes", None) or truth.pop("nodes_shown")
    if not any(node.resources for node in found):  # the sums of `ray.cluster_resources()` are no node's own
        assert set(truth) == {"gpus", "accelerator_type"}
        return
    assert {node.state for node in found} == {truth.pop("state", "ALIVE").lower()}
    assert sum(node.resources.get("GPU", 0) for node in found) == truth.pop("gpus")
    assert types(found[0]) == ([truth.pop("accelerator_type")] if "accelerator_type" in truth else [])
    assert truth == {}


NODE = {
    "NodeID": IDS[0],
    "Alive": True,
    "NodeManagerAddress": "10.0.0.1",
    "NodeManagerHostname": "gpu-1",
    "Resources": {"GPU": 8.0, "CPU": 64.0, "node:10.0.0.1": 1.0, "node:__internal_head__": 1.0},
    "Labels": {"ray.io/node-id": IDS[0], "raxl/rack": "r1"},
}
GONE = {"NodeID": IDS[1], "Alive": False, "NodeManagerHostname": "gpu-2", "DeathReasonMessage": "health check failed"}
FIRST = RayNode(
    IDS[0],
    "alive",
    "gpu-1",
    "10.0.0.1",
    True,
    None,
    {"CPU": 64.0, "GPU": 8.0},
    {"raxl/rack": "r1", "ray.io/node-id": IDS[0]},
)
SECOND = RayNode(IDS[1], "dead", "gpu-2", reason="health check failed")


def dead(number: int, death: int, why: str, **more: Any) -> dict[str, Any]:
    """A node that is dead, as `ray.nodes()` tells it."""
    return {
        "NodeID": f"{number:056x}",
        "Alive": False,
        "NodeManagerHostname": f"gpu-{number}",
        "NodeManagerAddress": f"10.0.0.{number}",
        "DeathReason": death,
        "DeathReasonMessage": why,
        **more,
    }


LEFT = [dead(4, 1, "received SIGTERM"), dead(5, 4, "idle for 60 s"), dead(6, 3, "spot"), dead(7, 4, "idle for 60 s")]
CRASHED = dead(3, 2, "health check failed")
YAML = f"""---
- node_id: {IDS[0]}
  node_ip: 10.0.0.1
  node_name: gpu-1
  is_head_node: true
  state: ALIVE
  resources_total:
    GPU: 8.0
    CPU: 64
    node:10.0.0.1: 1.0
  labels:
    ray.io/node-id: {IDS[0]}
    raxl/rack: r1
- node_id: {IDS[1]}
  node_name: gpu-2
  state: DEAD
  state_message: health check failed
"""


@pytest.mark.parametrize(
    "text",
    [
        repr([NODE, GONE]),
        json.dumps([NODE, GONE], indent=2),
        "".join(f"(seen pid=12, ip=10.0.0.1) {line}\n" for line in ["ray nodes", repr([NODE, GONE])]),
        YAML,
    ],
    ids=["python", "json", "of a task", "yaml"],
)
def test_each_way_to_print_nodes_says_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "nodes.txt").write_text(text)
    assert cluster(tmp_path / "nodes.txt").nodes == (FIRST, SECOND)
    assert [node.name for node in read(tmp_path / "nodes.txt").nodes] == ["gpu-1", "gpu-2"]


def shown(path: Path) -> str:
    return to_text(text_cluster.cluster(overview.of(read(path)), 200))


def test_a_node_that_left_is_named_and_one_that_died_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "nodes.txt"
    path.write_text(repr([NODE, CRASHED, *LEFT]))
    found = read(path)
    assert [node.name for node in found.nodes] == ["gpu-1", "gpu-3"]
    assert [one.message for one in found.nodes[1].problems if one.subject == "node"] == ["dead: health check failed"]
    assert outcome.of_inventory(found) == outcome.INCOMPLETE
    assert {one.name: one.death for one in cluster(path).nodes if one.has_left} == {
        "gpu-4": "EXPECTED_TERMINATION",
        "gpu-5": "AUTOSCALER_DRAIN_IDLE",
        "gpu-6": "AUTOSCALER_DRAIN_PREEMPTED",
        "gpu-7": "AUTOSCALER_DRAIN_IDLE",
    }
    told = "left: gpu-4 (stopped: received SIGTERM); gpu-5,7 (drained, idle: idle for 60 s); gpu-6 (drained, preempted"
    assert "2 nodes, 1 answered · 1 did not (gpu-3: dead: health check failed)\n" in shown(path)
    assert told in shown(path)
    path.write_text(repr([NODE, *LEFT]))
    assert outcome.of_inventory(read(path)) == outcome.OK


def test_where_all_have_left_no_node_is(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text(repr(LEFT))
    text = shown(tmp_path / "nodes.txt")
    assert (text.splitlines()[0], text.splitlines()[-1]) == ("0 nodes", "No node is left.")
    assert "left: gpu-4 (stopped" in text


def test_a_node_that_left_is_still_shown_where_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text(repr([NODE, dead(7, 4, "idle", NodeManagerHostname="gpu-07")]))
    (tmp_path / "gpu-07.tar.gz").write_bytes(recordings.snapshot("nvidia-hgx-h100"))
    paths = [str(tmp_path / name) for name in ("gpu-07.tar.gz", "nodes.txt")]
    for found in (many.inventory(paths), assemble.inventory(inputs.opened(paths))):
        assert [(node.name, len(node.accelerators)) for node in found.nodes] == [("gpu-07", 8), ("gpu-1", 0)]
        assert found.nodes[0].ray_node_id == f"{7:056x}"


@pytest.mark.parametrize(
    ("message", "death"),
    [
        ("Expected termination: received SIGTERM", "EXPECTED_TERMINATION"),
        ("Terminated due to preemption: spot", "AUTOSCALER_DRAIN_PREEMPTED"),
        ("Terminated due to idle (no Ray activity)", "AUTOSCALER_DRAIN_IDLE"),
        ("Unexpected termination: health check failed", "UNEXPECTED_TERMINATION"),
        ("health check failed", None),
    ],
)
def test_the_state_api_tells_a_death_in_its_message(tmp_path: Path, message: str, death: str | None) -> None:
    (tmp_path / "nodes.txt").write_text(YAML.replace("health check failed", f"'{message}'"))
    gone = cluster(tmp_path / "nodes.txt").nodes[1]
    assert (gone.death, gone.reason) == (death, message)


def test_a_raylet_that_was_started_again_is_no_dead_node(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text(repr([NODE, dead(9, 2, "crashed", NodeManagerAddress="10.0.0.1")]))
    assert cluster(tmp_path / "nodes.txt").nodes == (FIRST,)


def test_of_accelerators_that_nobody_looked_for_none_is_said_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text(repr([NODE]))
    (held,) = ray_registered.held(read(tmp_path / "nodes.txt")).resources
    assert (held.registered, held.working, held.unknown) == (8, 0, 8)


def test_a_dump_that_ends_early_tells_so(tmp_path: Path) -> None:
    (tmp_path / "nodes.txt").write_text(repr([NODE, GONE])[:-60])
    inventory = read(tmp_path / "nodes.txt")
    assert inventory.cluster is not None
    assert inventory.cluster.nodes == (FIRST,)
    told = [one.message for node in inventory.nodes for one in node.problems if one.reason == "failed"]
    assert told == ["the record of a node cannot be read: it is cut off, or no mapping"]


@pytest.mark.parametrize("amount", ["None", "-1", "1e400", "True", "'x'", "[]", "9" * 400])
def test_an_amount_that_is_none_is_left_out(tmp_path: Path, amount: str) -> None:
    (tmp_path / "nodes.txt").write_text(f"[{{'NodeID': '{IDS[0]}', 'Alive': True, 'Resources': {{'GPU': {amount}}}}}]")
    assert [dict(node.resources) for node in cluster(tmp_path / "nodes.txt").nodes] == [{}]
