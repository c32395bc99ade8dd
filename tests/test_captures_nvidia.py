"""What the manifest says of the texts of `nvidia-smi`, each key of it held against the inventory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import captures
from raxl.intake import nvidia_smi_csv
from raxl.model.identity import pci_address
from raxl.model.node import Node
from test_captures import entries, node_of

KIND = "nvidia-smi-text"


def text_of(entry: dict[str, Any]) -> str:
    assert captures.CORPUS is not None
    return Path(captures.CORPUS / entry["path"]).read_text()


def devices(node: Node, key: str) -> set[Any]:
    """The values of an attribute, over all devices."""
    return {device.attributes.get(key) for device in node.accelerators}


def messages(node: Node) -> str:
    return "\n".join(f"{problem.subject} {problem.reason}: {problem.message}" for problem in node.problems)


def accelerators(entry: dict[str, Any], node: Node, stated: int | str) -> None:
    if isinstance(stated, int):
        assert len(node.accelerators) == stated
    else:
        assert stated == "unknown (tool failed)"
        assert [
            problem.reason
            for problem in node.problems
            if problem.subject.startswith("nvidia") and problem.subject.endswith(".model")
        ] == ["failed"]


def names(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    assert {device.model for device in node.accelerators} == set(stated)
    for device in node.accelerators:
        assert (device.ray.type is None) == str(device.model).endswith("...")


def bus_ids(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    assert [device.pci.address for device in node.accelerators if device.pci] == list(map(pci_address, stated))


def driver(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    assert [one.version for one in node.software if one.name == "nvidia"] == stated


def mig_mode(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    assert devices(node, "mig_mode") == {None if mode == "N/A" else mode for mode in stated}


def mig_devices(entry: dict[str, Any], node: Node, stated: list[Any]) -> None:
    (device,) = node.accelerators
    assert len(device.partitions) == len(stated)
    if entry["path"].endswith("-L.txt"):
        text = text_of(entry)
        assert [part.id for part in device.partitions] == re.findall(r"UUID: (MIG-[0-9a-f-]+)", text)
        assert [part.profile for part in device.partitions] == re.findall(r"MIG (\S+)\s+Device", text)
    else:
        assert all(part.memory_bytes for part in device.partitions)


def fabric(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    (device,) = node.accelerators
    assert (device.fabric.state if device.fabric else "n/a") == stated[0].lower()


def recovery_action(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    assert devices(node, "recovery_action") == set(stated)


def active_links(entry: dict[str, Any], node: Node, stated: int) -> None:
    """A GPU in MIG mode is not asked, so no link is told and none is counted."""
    (active,) = devices(node, "nvlink_active")
    if "MIG mode" in entry["ground_truth"]["message"]:
        assert active is None
        assert "nvidia:0.attributes.nvlink_active not-supported" in messages(node)
    else:
        assert active == stated
    assert not [link for link in node.links if link.kind == "nvlink"]


def message(entry: dict[str, Any], node: Node, stated: str) -> None:
    """Where links are listed the manifest's message is the last of them."""
    assert devices(node, "nvlink") == {None if stated.startswith("Link ") else stated}


def nvlink(entry: dict[str, Any], node: Node, stated: dict[str, Any]) -> None:
    """What another section of the same capture says: beside this text, as one machine, it joins the same GPU."""
    from raxl.collect import assemble, inputs

    assert captures.CORPUS is not None
    here = captures.CORPUS / entry["path"]
    other = here.with_name(re.sub(r"-(L|q)\.txt$", "-nvlink-s.txt", here.name))
    (whole,) = assemble.inventory(inputs.opened([str(here), str(other)], "whole")).nodes
    assert len(whole.accelerators) == 1
    assert devices(whole, "nvlink_active") <= {stated["active_links"], None}
    assert whole.accelerators[0].model == node.accelerators[0].model


def rows(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert len(nvidia_smi_csv.read(text_of(entry)).rows) == stated
    assert len(node.accelerators) == entry["ground_truth"].get("distinct_bus_ids", stated)


def columns(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert len(nvidia_smi_csv.read(text_of(entry)).columns) == stated


def distinct_bus_ids(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert len({device.pci.address for device in node.accelerators if device.pci}) == stated
    assert "accelerators disagreement" in messages(node)


def lost(entry: dict[str, Any], node: Node, stated: str) -> None:
    (device,) = node.accelerators
    assert (device.pci and device.pci.address, device.state) == (stated, "lost")


def gpus(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert [device.index for device in node.accelerators] == list(range(stated))


def links_per_gpu(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert devices(node, "nvlink_active") == {stated}


def speed(entry: dict[str, Any], node: Node, stated: str) -> None:
    assert devices(node, "nvlink_bytes_per_second_each") == {int(stated.removesuffix(" GB/s")) * 10**9}


def inactive(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert devices(node, "nvlink_inactive") == {stated}


def index(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert [device.index for device in node.accelerators] == [stated]


def bus_id(entry: dict[str, Any], node: Node, stated: str) -> None:
    assert [device.pci.address for device in node.accelerators if device.pci] == [stated]


def power(entry: dict[str, Any], node: Node, stated: str) -> None:
    assert stated == "unknown (ERR!)"
    assert "nvidia:1.attributes.power_draw failed: nvidia-smi says: ERR!" in messages(node)


def memory_mib(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert [device.memory_bytes for device in node.accelerators] == [stated << 20]


def default_limit(entry: dict[str, Any], node: Node, stated: str) -> None:
    assert stated == "unknown"
    assert ".attributes.power_default_limit failed: nvidia-smi says: [Unknown Error]" in messages(node)


def gpu(entry: dict[str, Any], node: Node, stated: str) -> None:
    """The one that the warning below the table names."""
    (named,) = [device for device in node.accelerators if device.pci and device.pci.address == stated]
    assert named.state == "degraded"
    assert f"{named.id}.attributes.inforom failed: nvidia-smi says: WARNING: infoROM is corrupted" in messages(node)
    assert {device.state for device in node.accelerators if device is not named} == {"ok"}


def c2c_links(entry: dict[str, Any], node: Node, stated: int) -> None:
    assert devices(node, "c2c_active") == {stated}


def counters(node: Node, key: str) -> list[Any]:
    """The values of a counter, device by device; None where it was not told."""
    return [device.attributes.get(key) for device in node.accelerators]


def ecc_uncorr_table(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    """The long text says its parts, the table of the same machine, which the manifest quotes, their sum."""
    from raxl.collect import assemble, inputs

    assert captures.CORPUS is not None
    here = captures.CORPUS / entry["path"]
    (table,) = assemble.inventory(inputs.opened([str(here.with_name(here.name.replace("-q.", "-table.")))])).nodes
    for told in (node, table):
        assert counters(told, "ecc_uncorrected") == list(map(int, stated))


def retired_or_remapped(entry: dict[str, Any], node: Node, stated: dict[str, list[str]]) -> None:
    """What is not 0 and not `No`, in the order of the devices."""
    pending = counters(node, "remap_pending")
    assert ["Yes" for one in pending if one] == stated["pending"]
    for kind in ("correctable", "uncorrectable"):
        counts = counters(node, f"remapped_rows_{kind}")
        assert [str(one) for one in counts if one] == stated[kind]
        assert None not in (*counts, *pending)
    assert set(counters(node, "retired_pages_double_bit")) == {None}  # N/A: these remap rows instead


def single_bit(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    assert counters(node, "retired_pages_single_bit") == list(map(int, stated))


def double_bit(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    assert counters(node, "retired_pages_double_bit") == list(map(int, stated))


def pending(entry: dict[str, Any], node: Node, stated: list[str]) -> None:
    assert counters(node, "retirement_pending") == [{"No": False, "Yes": True}[word] for word in stated]


HELD: dict[str, Callable[[dict[str, Any], Node, Any], None]] = {
    "accelerators": accelerators,
    "names": names,
    "bus_ids": bus_ids,
    "driver": driver,
    "mig_mode": mig_mode,
    "mig": mig_mode,
    "mig_devices": mig_devices,
    "fabric": fabric,
    "recovery_action": recovery_action,
    "active_links": active_links,
    "message": message,
    "nvlink": nvlink,
    "rows": rows,
    "columns": columns,
    "distinct_bus_ids": distinct_bus_ids,
    "lost": lost,
    "gpus": gpus,
    "links_per_gpu": links_per_gpu,
    "speed": speed,
    "inactive": inactive,
    "index": index,
    "bus_id": bus_id,
    "power": power,
    "memory_mib": memory_mib,
    "default_limit": default_limit,
    "gpu": gpu,
    "c2c_links": c2c_links,
    "ecc_uncorr_table": ecc_uncorr_table,
    "retired_or_remapped": retired_or_remapped,
    "single_bit": single_bit,
    "double_bit": double_bit,
    "pending": pending,
}
"""By key of the manifest, what it means for an inventory."""


@pytest.mark.parametrize("entry", entries(KIND))
def test_nvidia_smi_text(entry: dict[str, Any]) -> None:
    node = node_of(entry)
    for key, stated in entry["ground_truth"].items():
        HELD[key](entry, node, stated)


@pytest.mark.parametrize("entry", [e for e in entries(KIND) if e is captures.NONE or e.values[0].get("faults")])
def test_each_fault_of_a_text_is_told(entry: dict[str, Any]) -> None:
    node = node_of(entry)
    told = messages(node) + "\n".join(f"{device.id} {device.state} {device.pci}" for device in node.accelerators)
    for pattern in entry.get("named", ["failed"]):
        assert re.search(pattern, told, re.IGNORECASE)


@pytest.mark.parametrize(
    ("name", "told"),
    [("2x5090-p2p-rw.txt", None), ("cap-windows-geforce-rtx-2080-super-591.86.txt", "Option -m is missing its value")],
)
def test_what_topo_printed_in_place_of_a_matrix(name: str, told: str | None) -> None:
    """Words of `-p2p` are no link classes, and an error line is a reading."""
    if captures.CORPUS is None:
        pytest.skip("RAXL_CORPUS names no corpus")
    (entry,) = [e.values[0] for e in entries("nvidia-smi-topo") if e.values[0]["path"].endswith(name)]
    node = node_of(entry)
    assert len(node.accelerators) == entry["ground_truth"].get("gpus", 0)
    for pair, word in entry["ground_truth"].get("p2p", {}).items():
        a, b = (int(end.removeprefix("GPU")) for end in pair.split("-"))
        assert node.accelerators[a].attributes[f"p2p_gpu{b}"] == word
        assert node.accelerators[b].attributes[f"p2p_gpu{a}"] == word
    assert [link.link_class for link in node.links if link.link_class] == []
    assert told is None or f"accelerators failed: nvidia-smi says: ERROR: {told}" in messages(node)
