"""Outputs of vendors' tools that end early: what is missing is told, and the answer is incomplete."""

from __future__ import annotations

import pytest

import npu_smi_texts
import npu_texts
import seeds
import xpu_smi_texts
from raxl.cli import outcome
from raxl.collect import assemble, inputs
from raxl.model.inventory import Inventory

TABLES = {
    "npu-smi": (npu_smi_texts.A2, "+===========================+===============+=", "ascend"),
    "npu-smi, chips of a card": (npu_smi_texts.A3, "+===========================+===============+=", "ascend"),
    "mx-smi": (npu_texts.MX_TABLE, "+------------------+-----------------+-", "metax"),
    "rbln-smi": (npu_texts.RBLN_TABLE, "+-----+-----------+---------+---------------+-", "rebellions"),
    "furiosa-smi": (npu_texts.FURIOSA_TABLE, "+------+--------+---------------------+-", "furiosa"),
    "xpu-smi": (xpu_smi_texts.TABLE, "+-----------+-", "intel"),
    "neuron-ls": (seeds.NEURON_LS, "+--------+--------+--------+-", "neuron"),
}
"""By tool a table, how the border that closes it begins, and the vendor."""
PROCESSES = ("| Process:", "| NPU     Chip              | Process id", "|                                       Contex")
"""How the lists begin that stand beneath some of the tables."""
JSONS = {
    "rbln-smi": (npu_texts.RBLN_JSON, '"00000000-0000-4000-8000-000000090001"', 2),
    "furiosa-smi": (npu_texts.FURIOSA_INFO, '"RNGX0000000003"', 2),
    "tt-smi": (npu_texts.TT_SMI, '"board_id": "100010000000001"', 2),
    "xpu-smi": (xpu_smi_texts.DISCOVERY, '"pci_bdf_address": "0000:9a', 2),
    "neuron-ls": (seeds.NEURON_LS_JSON, '"bdf": "00:1f.0"', 1),
    "neuron-monitor": (seeds.NEURON_MONITOR, '"mem_ecc_uncorrected": 2', 2),
}
"""By tool a document, a word in it, and how many devices stand whole or in part before that."""


def read(text: str) -> Inventory:
    return assemble.inventory(inputs._from_bytes(text.encode(), "given"))


def failures(inventory: Inventory) -> list[str]:
    (node,) = inventory.nodes
    return [one.message for one in node.problems if one.subject == "accelerators" and one.reason == "failed"]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_whose_box_is_not_closed(name: str) -> None:
    text, border, vendor = TABLES[name]
    whole = next((text[: text.index(title)] for title in PROCESSES if title in text), text)
    rows = whole[: whole.rindex(border)]
    closed = rows + whole[len(rows) :].splitlines()[0] + "\n"
    assert (failures(read(closed)), outcome.of_inventory(read(closed))) == ([], 0)
    for cut in (rows, rows[:-4]):
        inventory = read(cut)
        tool = name.split(",")[0]
        assert failures(inventory) == [f"{tool}'s table ends early: nothing closes it, and devices may be missing"]
        assert outcome.of_inventory(inventory) == 3
        assert len(inventory.nodes[0].accelerators) == len(read(closed).nodes[0].accelerators)
        assert {one.vendor for one in inventory.nodes[0].accelerators} == {vendor}


@pytest.mark.parametrize("name", ["npu-smi", "mx-smi", "rbln-smi", "furiosa-smi", "neuron-ls"])
def test_a_head_without_rows(name: str) -> None:
    text, _, _ = TABLES[name]
    lines = text.splitlines(keepends=True)
    first = next(place for place, line in enumerate(lines) if line.startswith(("| 0 ", "| RNGD")))
    inventory = read("".join(lines[:first]))
    assert inventory.nodes[0].accelerators == ()
    assert [message.partition("'s table has a head and no ")[0] for message in failures(inventory)] == [name]
    assert outcome.of_inventory(inventory) == 3


@pytest.mark.parametrize("name", TABLES)
def test_rows_without_any_border_are_a_copy_of_which_no_end_is_known(name: str) -> None:
    text, _, _ = TABLES[name]
    bare = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(("+", "|---", "|===")))
    assert failures(read(bare)) == []


def test_a_chip_in_whose_line_the_text_ends() -> None:
    """Half a number is no size."""
    (node,) = read(npu_smi_texts.A2[: npu_smi_texts.A2.index("3314 / 65536") + len("3314 / 655")]).nodes
    assert [one.memory_bytes for one in node.accelerators] == [65536 << 20, None]
    (problem,) = [one for one in node.problems if one.subject == "ascend:1.memory_bytes"]
    assert (problem.reason, problem.message) == ("failed", "npu-smi's output ends inside this device")


@pytest.mark.parametrize("name", JSONS)
def test_json_that_ends_in_the_middle(name: str) -> None:
    text, word, count = JSONS[name]
    inventory = read(text[: text.index(word) + len(word) - 3])
    assert failures(inventory) == [f"the JSON of {name} is damaged (it ends early): what is whole is read"]
    assert len(inventory.nodes[0].accelerators) == count
    assert outcome.of_inventory(inventory) == 3
    assert outcome.of_inventory(read(text)) == 0


def test_json_of_which_nothing_is_whole() -> None:
    inventory = read('{\n "KMD_version": "3.0')
    assert (failures(inventory), outcome.of_inventory(inventory)) == (["the JSON of rbln-smi cannot be read"], 3)


def test_a_workers_record_that_is_cut_off() -> None:
    inventory = read(npu_smi_texts.WORKER[: npu_smi_texts.WORKER.rindex('"memory"')])
    assert failures(inventory) == ["the worker's record is damaged: it ends early"]
    assert [one.id for one in inventory.nodes[0].accelerators] == ["ascend:0", "ascend:1"]
