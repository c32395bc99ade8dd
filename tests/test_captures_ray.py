"""What Ray prints of its nodes: each ground truth of the real captures, and texts of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import captures
from raxl.collect import assemble, inputs
from raxl.model.cluster import Cluster, RayNode
from raxl.model.inventory import Inventory
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
