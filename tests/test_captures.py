"""Real captures against what their manifest says of them: read off the file itself, without raxl."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

import captures
from raxl.collect import assemble, inputs
from raxl.model.node import Node


def entries(kind: str) -> list[Any]:
    """The manifest's entries of a kind, or one test that is visibly skipped."""
    if captures.CORPUS is None:
        return [captures.NONE]
    held = yaml.safe_load((captures.CORPUS / "MANIFEST.yaml").read_text())["entries"]
    return [pytest.param(entry, id=entry["path"]) for entry in held if entry["kind"] == kind]


def node_of(entry: dict[str, Any]) -> Node:
    assert captures.CORPUS is not None
    (node,) = assemble.inventory(inputs.opened([str(captures.CORPUS / entry["path"])])).nodes
    return node


def is_accelerator(described: str) -> bool:
    """Whether `class 0302 id 10de:2330 nodeset …` is a GPU: a display function of NVIDIA's or AMD's."""
    words = described.split()
    return words[1].startswith("03") and words[3].split(":")[0] in ("10de", "1002")


def network_device(stated: str | dict[str, str]) -> tuple[str, str | None]:
    """Name and PCI address of `eth0@0000:81:00.0 nodeset=0x2` or `{name, pci}`."""
    if isinstance(stated, dict):
        return stated["name"], stated["pci"]
    name, _, place = stated.partition("@")
    return name, place.split()[0]


@pytest.mark.parametrize("entry", entries("hwloc-xml"))
def test_hwloc_xml(entry: dict[str, Any]) -> None:
    """NUMA nodes, accelerators with the models that their devices name, and NICs with their names."""
    truth, node = entry["ground_truth"], node_of(entry)
    assert len(node.numa_nodes) == truth["object_counts"]["NUMANode"]
    by_address = {device.pci.address: device for device in node.accelerators if device.pci}
    assert set(by_address) == {a for a, described in truth["gpu_ib_pci"].items() if is_accelerator(described)}
    for device in truth["accelerator_osdevs"]:
        if device["subtype"] in ("NVML", "RSMI") and device["pci"] in by_address:
            assert by_address[device["pci"]].model == device["model"]
        elif device["model"] and device["pci"] in by_address:
            assert by_address[device["pci"]].model is not None
    for device in by_address.values():
        nodeset = truth["gpu_ib_pci"][device.pci.address].split()[-1]  # type: ignore[union-attr]
        places = tuple(bit for bit in range(64) if int(nodeset, 16) >> bit & 1)
        assert device.local_numa_nodes == places
        assert device.numa_node == (places[0] if len(places) == 1 else None)
    names: dict[str, set[str | None]] = {}
    for nic in node.nics:
        if nic.pci:
            known = names.setdefault(nic.pci.address, set())
            known.update({nic.id, nic.netdev, *(port.netdev for port in nic.ports)})
    for stated in truth["network_osdevs"]:
        name, address = network_device(stated)
        if address is not None:
            assert name in names[address]


@pytest.mark.parametrize(
    "entry", [e for e in entries("kfd") if e is captures.NONE or e.values[0]["path"].endswith("gz")]
)
def test_kfd(entry: dict[str, Any]) -> None:
    """Packages, partitions and hives of KFD's topology."""
    truth, node = entry["ground_truth"], node_of(entry)
    assert len(node.accelerators) == min(truth["accelerators"], truth["distinct_unique_id"])
    parts = sorted((len(device.partitions) or 1 for device in node.accelerators), reverse=True)
    assert parts == sorted(truth["nodes_per_unique_id"], reverse=True)
    assert {device.pci.device_id for device in node.accelerators if device.pci} == {
        one.removeprefix("0x") for one in truth["device_id"]
    }
    domains = {device.fabric.domain for device in node.accelerators if device.fabric}
    joined = {(link.a, link.b) for link in node.links if link.kind == "xgmi"}
    if any("XGMI" in key for key in truth["links"]):
        assert len(domains) == truth["hive_ids"]
        assert joined
    else:
        assert not joined


def test_xgmi_of_mi210_is_counted_and_stays_in_its_hive() -> None:
    """Eight MI210 in two hives of four: within a hive one XGMI link a pair, none between the hives."""
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    node = node_of({"path": "kfd/kfd-mi210-xgmi-pcie.tar.gz"})
    hive = {device.id: device.fabric.domain for device in node.accelerators if device.fabric}
    for link in node.links:
        same = hive[link.a] == hive[link.b]
        assert (link.link_class, link.count) == (("XGMI1", 1) if same else (None, None))
        assert link.bandwidth_bytes_per_second == (50_000_000_000 if same else None)
