"""Neuron captures against every key that their manifest states."""

from __future__ import annotations

from typing import Any

import pytest

import captures
from raxl.sources import neuron_ls
from test_captures import entries, node_of

ABOUT_IT = {"note", "torus", "fields"}
"""Keys that are words about the capture; the torus shows in the neighbours."""


def named(entry: dict[str, Any]) -> str:
    assert captures.CORPUS is not None
    return (captures.CORPUS / entry["path"]).read_text()


@pytest.mark.parametrize("entry", entries("neuron"))
def test_neuron(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    numbers = truth.pop("devices_in_file", None)
    if "fields" in truth:
        numbers = [0]
        counters = {name: 0 for name in truth["fields"] if "_ecc_" in name}
        assert devices[0].attributes == counters
        assert devices[0].state == "unknown"  # counters of zero are no health
    assert [device.index for device in devices] == (numbers or list(range(truth.pop("accelerators"))))
    instance = truth.pop("instance_type", None)
    if instance:
        assert (node.placement.provider, node.placement.instance_type) == ("aws", instance)
        assert {device.model for device in devices} == {"Trainium2"}
    kind = truth.pop("device_type", None)
    if kind:
        assert {device.model for device in devices} == {kind.capitalize()}
    for key, attribute in (
        ("cores_per_device", "neuron_cores"),
        ("logical_neuroncore_config", "logical_neuroncore_config"),
        ("lnc", "logical_neuroncore_config"),
    ):
        if key in truth:
            assert {device.attributes[attribute] for device in devices} == {truth.pop(key)}
    memory = truth.pop("memory_gb", 96 if numbers == [0, 15] else None)
    if memory:
        assert {device.memory_bytes for device in devices} == {memory << 30}
    tells_numa = "NUMA" in named(entry)
    for number, place in truth.pop("device_bdf_numa", {}).items():
        address, numa = place.split("/")
        device = devices[number]
        assert device.pci is not None
        assert device.pci.address == f"0000:{address}"
        assert device.numa_node == (int(numa) if tells_numa else None)
    near = {device.id: set() for device in devices}  # type: dict[str, set[int]]
    for link in node.links:
        if link.kind == "neuron":
            assert (link.link_class, link.count) == ("NEURON", None)
            near[link.a].add(int(link.b.partition(":")[2]))
            near[link.b].add(int(link.a.partition(":")[2]))
    for number, neighbours in truth.pop("neighbours", {}).items():
        assert near[f"neuron:{number}"] == set(neighbours)
        assert {len(others) for others in near.values()} == {4}
    assert set(truth) <= ABOUT_IT


def test_devices_that_only_links_name_are_told() -> None:
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    node = node_of({"path": "neuron/neuron-ls-j-trn2n-2of16.json"})
    assert [(device.pci.address, device.numa_node) for device in node.accelerators if device.pci] == [
        ("0000:cc:00.0", 1),
        ("0000:f7:00.0", 1),
    ]
    (problem,) = [one for one in node.problems if one.reason == "disagreement"]
    assert problem.message == f"links lead to 6 devices that {neuron_ls.NAME} does not list: 1, 3, 4, 11, 12, 14"
