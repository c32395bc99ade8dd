"""xpu-smi: what it says of Intel's GPUs, its own words for paths converted, in small texts made by hand."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

import xpu_smi_texts
from raxl.intake import documents, xpu_smi_json, xpu_smi_table, xpu_smi_topo
from raxl.model.node import Node
from test_intake_hl_smi import claims, node_of, told
from xpu_smi_texts import DISCOVERY, ONE, TABLE, TILES, WORDS

MIB = 1 << 20


@pytest.mark.parametrize("text", [*xpu_smi_texts.TEXTS.values(), ONE, TILES])
def test_each_form_is_recognised_as_itself_alone(text: str) -> None:
    known = {value: form for form, value in xpu_smi_texts.TEXTS.items()}
    found = [name for name, module in documents.TEXTS.items() if import_module(module).recognises(text)]
    assert found == [known.get(text, "xpu-smi -j" if text is ONE else "xpu-smi topology")]


def test_the_list() -> None:
    node = node_of(DISCOVERY)
    first, second = node.accelerators
    assert (first.id, first.model) == ("intel:0", "Intel(R) Data Center GPU Max 1550")
    assert first.pci is not None
    assert (first.pci.address, first.pci.device_id, first.pci.vendor_id) == ("0000:3a:00.0", "0bd5", "8086")
    assert (first.ray.resource, first.ray.type, first.visible_env) == ("GPU", "Intel-GPU-Max-1550", "ZE_AFFINITY_MASK")
    assert (first.state, second.state) == ("ok", "degraded")
    assert second.attributes["device_state"] == "Wedged"
    assert first.memory_bytes is None
    assert told(node) == []


def test_one_device_in_full() -> None:
    (claim,) = claims(xpu_smi_json, ONE)
    assert (claim.memory_bytes, claim.serial, claim.state) == (128 << 30, "LQAC00000001", None)
    assert claim.silent["state"].reason == "not-asked"
    assert [one.id for one in claim.partitions] == ["tile:0", "tile:1"]
    assert claim.link is not None
    assert (claim.link.max_speed_gts, claim.link.max_width, claim.link.speed_gts) == (32.0, 16, None)
    assert "COMPOSITE" in str(claim.attributes["visible_env_ids"])


def test_the_list_and_one_device_in_full() -> None:
    node = node_of(DISCOVERY + "\n" + ONE)
    assert [one.memory_bytes for one in node.accelerators] == [128 << 30, None]
    assert [(one.name, one.version) for one in node.software] == [("intel-gpu driver", "I915_25.2.8")]


def test_the_table() -> None:
    first, second = claims(xpu_smi_table, TABLE)
    assert (first.index, first.address, second.index, second.address) == (0, "0000:4d:00.0", 1, "0000:b3:00.0")
    assert (first.model, first.uuid) == ("Intel(R) Data Center GPU Flex 170", "00000000-0000-004d-0000-000856c08086")
    assert (first.memory_bytes, second.memory_bytes) == (14248 * MIB, None)
    assert second.silent["memory_bytes"].reason == "not-asked"


def test_a_list_that_is_cut_off() -> None:
    node = node_of(DISCOVERY[: DISCOVERY.index('"0000:9a')])
    assert [one.id for one in node.accelerators] == ["intel:0", "intel:1"]
    assert ("accelerators", "failed") in told(node)


def classes(node: Node) -> dict[tuple[str, str], tuple[str | None, str | None]]:
    return {(one.a[-1], one.b[-1]): (one.link_class, one.kind) for one in node.links}


def test_its_words_are_converted() -> None:
    """It counts shared bridges, the host bridge among them; SYS within one list of CPUs is NODE."""
    node = node_of(WORDS)
    told_ = classes(node)
    assert told_["0", "1"] == (None, "pcie")
    assert told_["0", "2"] == ("PIX", "pcie")
    assert told_["0", "3"] == ("PHB", "pcie")
    assert told_["1", "2"] == ("NODE", "pcie")
    assert told_["1", "3"] == ("NODE", "pcie")
    assert told_["0", "4"] == ("SYS", "pcie")
    assert node.accelerators[0].attributes["vendor_path"] == "PIX to 1; PXB to 2; PHB to 3; SYS to 4"
    assert node.nics == ()


def test_tiles_are_parts_of_their_card() -> None:
    node = node_of(TILES)
    assert [[part.id for part in one.partitions] for one in node.accelerators] == [["tile:0", "tile:1"]] * 2
    assert classes(node) == {("0", "1"): (None, "xelink")}
    assert node.accelerators[1].attributes["vendor_path"] == "XL*/XL16 to 0"
    assert [one.attributes["cpu_affinity"] for one in node.accelerators] == ["0-23,48-71", "24-47,72-95"]


def test_a_matrix_without_its_header_finds_its_columns_by_the_rows_own_marks() -> None:
    lines = WORDS.splitlines()
    node = node_of("\n".join(lines[2:6]))
    assert [one.id for one in node.accelerators][:5] == [f"intel:{number}" for number in range(5)]
    assert classes(node)["0", "2"] == ("PIX", "pcie")
    assert any("its header is missing" in one.message for one in node.problems)


def entry(a: int, b: int, word: str, numa: int | None, cpus: str) -> dict[str, object]:
    return {
        "link_type": word,
        "local_cpu_affinity": cpus,
        "local_device_id": a,
        "local_numa_index": numa,
        "local_subdevice_id": 0,
        "remote_device_id": b,
        "remote_subdevice_id": 0,
    }


@pytest.mark.parametrize(("numa", "believed"), [((0, 1), [0, 1]), ((0, 0), [None, None]), ((-1, 1), [None, None])])
def test_the_matrix_as_json(numa: tuple[int, int], believed: list[int | None]) -> None:
    """A NUMA node is believed where it varies as the CPUs do: a release writes 0 for all."""
    entries = [entry(0, 1, "SYS", numa[0], "0-31"), entry(1, 0, "SYS", numa[1], "32-63")]
    node = node_of(json.dumps({"topo_list": entries}))
    assert [one.numa_node for one in node.accelerators] == believed
    assert classes(node) == {("0", "1"): ("SYS", "pcie")}


def test_the_tools_error_is_no_device() -> None:
    assert not xpu_smi_json.recognises('{"error": "No device discovered"}')
    assert not xpu_smi_topo.recognises("GPU 0/0  S\n")
