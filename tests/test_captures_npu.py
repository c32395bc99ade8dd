"""Captures of the tools of Rebellions, FuriosaAI, Tenstorrent and MetaX against every key of their ground truth."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import captures
from raxl.model.node import Node
from test_captures import entries, node_of

ABOUT_IT = {"note"}
"""Keys that are words about the capture."""


def of(*beginnings: str) -> list[Any]:
    held = entries("other-npu")
    return [one for one in held if one is captures.NONE or name_of(one.values[0]).startswith(beginnings)]


def name_of(entry: dict[str, Any]) -> str:
    return str(entry["path"]).partition("/")[2]


def addresses(node: Node) -> list[str | None]:
    return [device.pci.address if device.pci else None for device in node.accelerators]


@pytest.mark.parametrize("entry", of("tt-smi"))
def test_tt_smi(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    if truth.pop("error", None):
        assert next(one.message for one in node.problems if one.reason == "failed").startswith("the JSON of tt-smi is")
        assert not truth
        return
    assert len(devices) == truth.pop("chips")
    assert len({device.attributes["board_id"] for device in devices}) == truth.pop("boards")
    assert Counter(device.model for device in devices) == truth.pop("board_types")
    assert [place or "N/A" for place in addresses(node)] == truth.pop("bus_ids")
    assert all(device.memory_bytes is None and device.numa_node is None for device in devices)  # it tells neither
    assert {(link.kind, link.link_class) for link in node.links} <= {(None, None), ("tt-eth", None)}
    assert not truth


@pytest.mark.parametrize("entry", of("tt-umd"))
def test_tt_umd(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    assert len(devices) == truth.pop("chips")
    names = {"wormhole_b0": "Wormhole", "blackhole": "Blackhole"}
    assert {device.architecture for device in devices} == {names[arch] for arch in truth.pop("arch")}
    assert sum("device_node" in device.attributes for device in devices) == truth.pop("mmio_chips")
    joined = [link for link in node.links if link.kind == "tt-eth"]
    assert sum(link.count or 0 for link in joined) == truth.pop("ethernet_links")
    assert all(link.link_class == f"ETH{link.count}" for link in joined)
    outward = (device.attributes.get("links_to_other_machines", 0) for device in devices)
    assert sum(int(count or 0) for count in outward) == truth.pop("remote_links")
    assert len({device.attributes["board_id"] for device in devices}) == truth.pop("boards")
    assert not truth


@pytest.mark.parametrize("entry", of("furiosa", "rbln", "mx-smi"))
def test_tables_and_lists(entry: dict[str, Any]) -> None:
    truth, node = dict(entry["ground_truth"]), node_of(entry)
    devices = node.accelerators
    shown = truth.pop("shown", None)
    assert len(devices) == (truth.pop("accelerators", None) or shown)
    attached = truth.pop("attached_field", None)
    told = [one.message for one in node.problems if one.reason == "disagreement"]
    assert told == ([f"mx-smi states {attached} attached GPUs and lists {shown}"] if attached else [])
    assert addresses(node) == truth.pop("bdf")
    models = {device.model for device in devices}
    if "model" in truth:
        assert models == {truth.pop("model")}
    if "arch" in truth:
        assert {device.architecture for device in devices} == {truth.pop("arch").lower()}
        assert models == {"RNGD"}
    if "names" in truth:
        assert [f"npu{device.index}" for device in devices] == truth.pop("names")
    if "memory_mib" in truth:
        assert {device.memory_bytes for device in devices} == {truth.pop("memory_mib") << 20}
    elif name_of(entry).startswith("rbln"):
        assert {device.memory_bytes for device in devices} == {int(15.7 * (1 << 30))}
    assert {device.numa_node for device in devices} == {None}  # none of these outputs tells it
    assert {link.link_class for link in node.links} == {None}
    assert set(truth) <= ABOUT_IT


def test_every_capture_of_the_kind_is_held_to_its_manifest_here_or_elsewhere() -> None:
    known = of("tt-smi", "tt-umd", "furiosa", "rbln", "mx-smi", "intel-")
    assert len(known) == len(entries("other-npu"))
