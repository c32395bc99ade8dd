"""TPU captures against every key that their manifest states."""

from __future__ import annotations

from typing import Any

import pytest

from raxl.sources import tpu_slice
from test_captures import entries, node_of

ABOUT_IT = {"note"}
"""Keys that are words about the capture."""


@pytest.mark.parametrize("entry", entries("tpu"))
def test_environment(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices, kind = node.accelerators, truth.pop("accelerator_type")
    assert [device.index for device in devices] == list(range(truth.pop("chips_per_host", 1)))
    for device in devices:
        assert device.attributes["accelerator_type"] == kind
        assert device.attributes["slice_chips"] == truth["chips"]
        assert device.attributes["slice_hosts"] == truth["hosts"]
        assert device.model == f"TPU {kind.split('-')[0]}"
        assert device.ray.type == tpu_slice.ray_type(kind)
        assert (device.memory_bytes, device.pci, device.numa_node) == (None, None, None)
    assert node.placement.worker_index == truth.pop("worker_id")
    assert node.placement.slice_topology == truth.pop("topology", "2x2x2")
    joined = {(link.a, link.b) for link in node.links if link.link_class == "ICI"}
    square = {("tpu:0", "tpu:1"), ("tpu:0", "tpu:2"), ("tpu:1", "tpu:3"), ("tpu:2", "tpu:3")}
    assert joined == (square if len(devices) == 4 else set())
    assert truth.pop("wrap", None) in (None, [True, True, True])  # all leave the host: none joins two of its chips
    del truth["chips"], truth["hosts"]
    assert set(truth) <= ABOUT_IT
