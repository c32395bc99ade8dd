"""AMD captures against every key that their manifest states; a key that a later feature will tell says so."""

from __future__ import annotations

import re
from typing import Any

import pytest

import captures
from raxl.collect import assemble, inputs
from raxl.errors import UnknownForm
from raxl.host import Answer
from raxl.model import codec
from raxl.model.node import Node
from raxl.sources import kfd
from test_captures import entries, node_of

ABOUT_IT = {"note", "lines"}
"""Keys that are words about the capture, or the length of a text that is no form of an inventory."""


def of_kind(kind: str, trees: bool = True) -> list[Any]:
    held = entries(kind)
    return [
        one for one in held if one is captures.NONE or kind != "kfd" or one.values[0]["path"].endswith("gz") is trees
    ]


def text_of(entry: dict[str, Any]) -> str:
    assert captures.CORPUS is not None
    return (captures.CORPUS / entry["path"]).read_text(errors="replace")


def address(words: str) -> str:
    return words.lower()


def drivers(node: Node) -> list[str]:
    return [one.version for one in node.software if one.name == "amdgpu"]


@pytest.mark.parametrize("entry", of_kind("amd-smi-json"))
def test_json(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    assert len(devices) == truth.pop("accelerators")
    assert drivers(node) == [one for one in [truth.pop("driver")] if one is not None]
    if not drivers(node):
        assert [one.reason for one in node.problems if one.subject == "software.amdgpu"] == ["not-supported"]
    if "name" in truth:
        assert [device.model for device in devices] == [truth.pop("name")]
        assert [device.memory_bytes for device in devices] == [truth.pop("vram_mb") << 20]
        assert [device.state for device in devices] == ["ok" if drivers(node) else "unknown"]
        truth["gpus"] = [{}] * len(devices)
    for device, told in zip(devices, truth.pop("gpus"), strict=True):
        stated = dict(told)
        if not stated:
            continue
        assert f"card{device.index}" == stated.pop("index")
        assert device.pci is not None
        assert f"0x{device.pci.device_id}" == stated.pop("device_id")
        assert device.pci.address == address(stated.pop("bdf"))
        series = stated.pop("series")
        assert device.model == (None if series.startswith("0x") else series)  # an id is no name
        assert device.memory_bytes == int(stated.pop("vram_bytes"))
        unit = stated.pop("unique_id")
        assert device.uuid == (None if unit == "N/A" else f"GPU-{unit.removeprefix('0x').zfill(16)}")
        assert device.attributes.get("pcie_replays") == int(stated.pop("replay"))
        assert not stated
    assert not truth


@pytest.mark.parametrize("entry", of_kind("amd-smi-text"))
def test_text(entry: dict[str, Any]) -> None:
    truth, node, text = dict(entry["ground_truth"]), node_of(entry), text_of(entry)
    devices = node.accelerators
    count = truth.pop("accelerators")
    assert [device.index for device in devices] == list(range(count))
    model = truth.pop("model", None)
    if model is not None:
        name, device_id = re.fullmatch(r"(.*) \(0x(\w{4})\).*", model).groups()  # type: ignore[union-attr]
        assert all(device.model and device.model.startswith(name) for device in devices)
        assert all(f"[0x{device_id}" in text or f"Device ID: 0x{device_id}" in text for device in devices)
        assert {device.ray.type for device in devices} == {"AMD-Instinct-MI300X-OAM"}
    places = truth.pop("bdf", None)
    if places is not None:
        stated = [device.pci.address if device.pci else None for device in devices]
        assert stated == (places if places[0] in text else [None] * count)  # the concise table names no addresses
    mode = truth.pop("compute_partition", None)
    if mode is not None:
        expected = None if mode.startswith("unknown") else mode
        assert [device.attributes.get("compute_partition") for device in devices] == [expected] * count
    memory_mode = truth.pop("memory_partition", None)
    if memory_mode is not None:
        assert [device.attributes["memory_partition"] for device in devices] == [memory_mode] * count
    kind = truth.pop("link_type", None)
    if kind is not None:
        pairs = {link.kind for link in node.links}
        assert f"{pairs.pop().upper()} for every pair" == kind  # type: ignore[union-attr]
        assert not pairs
        assert len(node.links) == count * (count - 1) // 2
    if truth.pop("weight", None) is not None and truth.pop("hops", None) is not None:
        assert {(link.count, link.link_class) for link in node.links} == {(None, None)}  # neither counts links
    numa = truth.pop("numa", None)
    if numa is not None:
        assert [device.numa_node for device in devices] == numa
    assert not truth


def test_the_table_and_the_long_output_of_one_machine_are_one_node() -> None:
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    folder = captures.CORPUS / "amd-smi-text"
    paths = [str(folder / name) for name in ("rocm-smi-mi300x-x4.txt", "rocm-smi-a-mi300x-x4.txt")]
    (node,) = assemble.inventory(inputs.opened(paths, "gpu-07")).nodes
    assert [device.pci.address for device in node.accelerators if device.pci] == [
        "0000:26:00.0",
        "0000:46:00.0",
        "0000:65:00.0",
        "0000:85:00.0",
    ]
    assert {device.model for device in node.accelerators} == {"AMD Instinct MI300X OAM"}


def test_devices_that_only_links_name_are_told() -> None:
    """`rocm-smi -d 0 -a --json`: one card is described, the topology is of eight."""
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    node = node_of({"path": "amd-smi-json/rocm-smi-vega-20-WKS-GL-XE.json"})
    (problem,) = [one for one in node.problems if one.reason == "disagreement"]
    assert problem.message == "links lead to 7 GPUs that this output does not describe: 1, 2, 3, 4, 5, 6, 7"


@pytest.mark.parametrize(
    "path",
    [param for param in captures.parameters("amd-smi-text") if param is captures.NONE or "trunc" in str(param.id)],
)
def test_an_output_that_is_cut_off_says_so(path: Any) -> None:
    (node,) = assemble.inventory(inputs.opened([str(path)])).nodes
    failed = [one.message for one in node.problems if one.reason == "failed"]
    assert failed == ["rocm-smi's output ends early: its end line is missing"]


@pytest.mark.parametrize("entry", of_kind("kfd"))
def test_kfd(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    listed = truth.pop("accelerators")
    assert len(devices) == min(listed, truth.pop("distinct_unique_id"))
    nodes = [int(device.attributes["kfd_nodes"] or 0) for device in devices]
    assert sum(nodes) == listed == truth.pop("nodes") - truth.pop("cpu_nodes")
    assert sorted(nodes, reverse=True) == sorted(truth.pop("nodes_per_unique_id"), reverse=True)
    versions = {"90402": "gfx942", "90010": "gfx90a"}
    architectures = {device.architecture for device in devices}
    assert architectures == ({versions[one] for one in truth.pop("gfx_target_version")} or {None})
    assert {f"0x{device.pci.device_id}" for device in devices if device.pci} == set(truth.pop("device_id"))
    places = {device.pci.address for device in devices if device.pci}
    partitions = {one.id for device in devices for one in device.partitions}
    assert (len(partitions) or len(places)) == truth.pop("distinct_pci_location")
    assert {str(device.attributes.get("xcc") or "-") for device in devices} == set(truth.pop("num_xcc"))
    joined = {(link.a, link.b) for link in node.links if link.kind == "xgmi"}
    stated = truth.pop("links")
    assert bool(joined) == any("gpu-gpu XGMI" in name for name in stated)
    hives = truth.pop("hive_ids")
    domains = {device.fabric.domain for device in devices if device.fabric}
    assert len(domains) == (hives if joined else 0)  # a hive of 0, which the manifest counts, is none
    for number, place in truth.pop("sample_gpu_bdf").items():
        owners = [one for one in devices if f"kfd:{number}" in {part.id for part in one.partitions}] or devices
        assert f"{place[:-1]}0" in {one.pci.address for one in owners if one.pci}
    assert not truth


@pytest.mark.parametrize("entry", of_kind("kfd", trees=False))
def test_texts_of_kfd(entry: dict[str, Any]) -> None:
    """One file of a memory bank, as KFD's reader reads it, and firmware versions, which are no form of it."""
    truth, text = dict(entry["ground_truth"]), text_of(entry)
    assert captures.CORPUS is not None
    with pytest.raises(UnknownForm):
        inputs.opened([str(captures.CORPUS / entry["path"])])
    if "size_in_bytes" in truth:
        files = {"properties": Answer("simd_count 304\n"), "mem_banks/0": Answer(text)}
        (read,) = kfd.parse(kfd.Answers(Answer(("1",)), {1: files}))
        assert read.memory_bytes == truth.pop("size_in_bytes")
    assert set(truth) <= ABOUT_IT


@pytest.mark.parametrize("path", captures.parameters("amd-smi-json", "amd-smi-text"))
def test_no_process_and_no_prompt_enters_a_recording(path: Any) -> None:
    (recording,) = inputs.opened([str(path)])
    held = "\n".join(str(answer.value) for answer in recording.answers.values())
    for word in ("mlir-cpu-runner", "1188185", "$ "):
        assert word not in held
    assert codec.encode(assemble.inventory([recording]))
