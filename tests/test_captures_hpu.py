"""Captures of Gaudi, Ascend and Intel GPUs against every key that their manifest states."""

from __future__ import annotations

from typing import Any

import pytest

import captures
from raxl.collect import assemble, inputs
from raxl.model.node import Node
from test_captures import entries, node_of

ABOUT_IT = {"note"}
"""Keys that are words about the capture."""
MIB = 1 << 20
KERNEL_LOGS = ("habana-gaudi1-dmesg-trunc.log",)
"""Kernel logs are a form of a later feature."""
_NPU_SMI_ARM = {"144-167": 6, "96-119": 4}


def chosen(kind: str, word: str = "") -> list[Any]:
    return [one for one in entries(kind) if one is captures.NONE or word in one.values[0]["path"]]


def addresses(node: Node) -> list[str | None]:
    return [device.pci.address if device.pci else None for device in node.accelerators]


def version(node: Node, name: str) -> list[str]:
    return [one.version for one in node.software if one.name == name]


@pytest.mark.parametrize("entry", chosen("gaudi"))
def test_gaudi(entry: dict[str, Any]) -> None:
    if entry["path"].endswith(KERNEL_LOGS):
        assert node_of(entry).accelerators == (), "a log lists no devices"
        return
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    count = truth.pop("accelerators", None) or truth.pop("shown")
    assert [device.index for device in devices] == list(range(count))
    assert {device.model for device in devices} == {truth.pop("model")}
    assert addresses(node) == truth.pop("bdf")
    assert {device.memory_bytes for device in devices} == {truth.pop("memory_mib") * MIB}
    assert {device.state for device in devices} == {"unknown"}  # hl-smi tells no health
    driver = truth.pop("driver")
    assert version(node, "habanalabs") == [driver]
    if "smi" in truth:
        smi = truth.pop("smi")
        assert version(node, "hl-smi") == [smi]
        (problem,) = [one for one in node.problems if one.subject == "software"]
        assert (smi in problem.message, driver.split("-")[0] in problem.message) == (True, True)
    if "uncor_events" in truth:
        assert [device.attributes["uncorrected_events"] for device in devices] == truth.pop("uncor_events")
    is_cut = any(one.subject == "accelerators" and one.reason == "failed" for one in node.problems)
    assert is_cut == ("trunc" in entry["path"])
    assert set(truth) <= ABOUT_IT


@pytest.mark.parametrize("entry", chosen("ascend", "npu-smi-9") + chosen("ascend", "npu-smi-a3"))
def test_npu_smi_info(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    assert len(devices) == truth.pop("chips_shown")
    assert truth.pop("accelerators", len(devices)) == len(devices)
    assert len({device.attributes["card"] for device in devices}) == truth.pop("npu_cards_shown")
    ids = truth.pop("phy_ids", None)
    assert [device.attributes.get("physical_id") for device in devices] == (ids or [None] * len(devices))
    assert [device.index for device in devices] == (ids or list(range(len(devices))))
    model = truth.pop("model", "Ascend910")
    assert {device.model for device in devices} == {model}
    assert {device.ray.type for device in devices} == {f"Ascend{model}" if model != "Ascend910" else None}
    assert addresses(node) == truth.pop("bdf")
    assert {device.memory_bytes for device in devices} == {truth.pop("hbm_mb") * MIB}
    assert {device.state for device in devices} == {"ok"}
    truth.pop("hbm_used", None)  # what is used is no inventory
    assert set(truth) <= ABOUT_IT


@pytest.mark.parametrize("entry", chosen("ascend", "topo"))
def test_npu_smi_topo(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    assert [device.index for device in devices] == list(range(truth.pop("accelerators")))
    link_class = truth.pop("link", "HCCS for every pair").split()[0]
    assert {(link.link_class, link.count) for link in node.links} == {(link_class, None)}
    assert len(node.links) == len(devices) * (len(devices) - 1) // 2
    near = [device.attributes.get("cpu_affinity") for device in devices]
    if "cpu_affinity" in truth:
        assert near == truth.pop("cpu_affinity")
    for cpus, indexes in truth.pop("affinity_groups", {}).items():
        assert [near[index] for index in indexes] == [cpus] * len(indexes)
    if "numa" in truth:  # which node holds which CPUs does not stand in the text
        assert [_NPU_SMI_ARM[str(cpus)] for cpus in near] == truth.pop("numa")
        assert {device.numa_node for device in devices} == {None}
    assert not truth


@pytest.mark.parametrize("entry", chosen("ascend", "gpustack"))
def test_gpustack(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    assert [device.index for device in node.accelerators] == list(range(truth.pop("accelerators")))
    assert sorted({str(device.model) for device in node.accelerators}) == truth.pop("models")
    assert {device.memory_bytes for device in node.accelerators} == {64 << 30}
    assert not truth


@pytest.mark.parametrize("entry", chosen("other-npu", "intel"))
def test_intel(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    assert [device.id for device in devices] == [f"intel:{number}" for number in range(truth.pop("accelerators"))]
    if "model" in truth:
        assert [device.model for device in devices] == [truth.pop("model")]
        assert addresses(node) == truth.pop("bdf")
        assert [(device.state, device.ray.type) for device in devices] == [("ok", "Intel-GPU-Flex-170")]
    group = {index: place for place, members in enumerate(truth.pop("groups", [])) for index in members}
    within, between = truth.pop("link_within", None), truth.pop("link_between", None)
    for link in node.links:
        a, b = (group[int(end.split(":")[1])] for end in (link.a, link.b))
        assert link.link_class == (within if a == b else between)
    assert truth.pop("self_mark", "S") == "S"
    assert not truth


@pytest.mark.parametrize("path", captures.parameters("gaudi", "ascend"))
def test_no_address_and_no_process_enters_a_recording(path: Any) -> None:
    (recording,) = inputs.opened([str(path)])
    held = "\n".join(str(answer.value) for answer in recording.answers.values())
    for word in ("192.168.", "29.17.", "Process name", "$ "):
        assert word not in held
    assert assemble.inventory([recording]).nodes
