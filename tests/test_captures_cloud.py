"""Clouds' documents against what their manifest says of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import captures
from raxl.collect import assemble, inputs
from raxl.host import Question
from raxl.model.node import Node
from test_captures import entries


def nodes_of(entry: dict[str, Any]) -> tuple[Node, ...]:
    assert captures.CORPUS is not None
    return assemble.inventory(inputs.opened([str(captures.CORPUS / entry["path"])])).nodes


def tiers_of(entry: dict[str, Any]) -> dict[str, list[str]]:
    """By instance, the network nodes that the recording keeps, outermost first."""
    assert captures.CORPUS is not None
    held = inputs.opened([str(captures.CORPUS / entry["path"])])
    said = [json.loads(one.answers[Question("document", "cloud metadata")].value) for one in held]
    return {one["host"]: one["NetworkNodes"] for one in said}


@pytest.mark.parametrize("entry", entries("cloud-metadata"))
def test_cloud_metadata(entry: dict[str, Any]) -> None:
    """How many nodes there are, which share a switch, a block or a domain, and what each is told to be in."""
    truth, nodes = entry["ground_truth"], nodes_of(entry)
    places = [node.placement for node in nodes]
    assert nodes
    assert all(place.evidence for place in places)
    stated = truth.get("nodes", truth.get("instances"))
    assert stated is None or len(nodes) == stated
    if "tiers" in truth:
        assert (places[0].block or "").startswith(truth["tiers"]["local"].rstrip("…"))
    if "fabric" in truth:
        assert [place.fabric_domain for place in places] == truth["fabric"]
    if "shared_leaf" in truth:
        leaves: dict[str | None, list[str]] = {}
        for node in nodes:
            leaves.setdefault(node.placement.block, []).append(node.name)
        assert [names for names in leaves.values() if len(names) > 1] == truth["shared_leaf"]
    if "blocks" in truth:
        assert len({place.block for place in places}) == truth["blocks"]
    if "domains" in truth:
        assert len({place.fabric_domain for place in places}) == truth["domains"]
    if "health" in truth:
        ill = [problem for node in nodes for problem in node.problems if problem.subject == "links.fabric"]
        assert bool(ill) == (set(truth["health"]) != {"HEALTHY"})
    for pair, depth in truth.get("common_depth", {}).items():
        one, other = (tiers_of(entry)[f"{name}example"] for name in pair.split("/"))
        assert sum(a == b for a, b in zip(one, other, strict=True)) == depth


@pytest.mark.parametrize(
    ("model", "count", "first", "last"),
    [
        ("nvl72", 72, ("node1101", "leaf-1-1", "nvl-1-1", "zone1"), ("node2218", "leaf-2-2", "nvl-2-2", "zone1")),
        ("medium", 8, ("1101", "sw11", "nvl1", "zone1"), ("1402", "sw14", "nvl4", "zone2")),
        ("small-tree", 6, ("I21", "S2", "nvl2", None), ("I36", "S3", "nvl3", None)),
    ],
)
def test_topograph_models(model: str, count: int, first: tuple[str, ...], last: tuple[str, ...]) -> None:
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    nodes = nodes_of({"path": f"cloud-metadata/topograph-model-{model}.yaml"})
    told = [(n.name, n.placement.block, n.placement.fabric_domain, n.placement.zone) for n in nodes]
    assert (len(told), told[0], told[-1]) == (count, first, last)
