"""Uncorrected errors and repairs that wait: named in the text, whatever the state is."""

from __future__ import annotations

import pytest

import hl_smi_texts
import seeds
from raxl.collect import assemble, inputs
from raxl.model.accelerator import Accelerator
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.render.device_errors import error_facts
from raxl.render.naming import Names
from raxl.render.text_table import discover
from raxl.render.text_tree import tree


def gpu(number: int, **attributes: str | int | float | bool | None) -> Accelerator:
    return Accelerator(f"nvidia:{number}", "nvidia", "gpu", index=number, state="ok", attributes=attributes)


def facts(*devices: Accelerator) -> list[tuple[str, str]]:
    node = Node("a", "a", accelerators=devices)
    return error_facts(node, Names(node))


def read(text: str) -> Inventory:
    return assemble.inventory(inputs._from_bytes(text.encode(), "given"))


def shown(inventory: Inventory) -> list[str]:
    return ["".join(text for text, _ in line) for line in discover(inventory, 100)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (hl_smi_texts.TABLE, "!  HPU 1: 4 uncorrected errors"),
        (seeds.NEURON_MONITOR, "!  NEURON 1: 2 uncorrected errors"),
    ],
)
def test_discover_names_the_device_that_has_some(text: str, line: str) -> None:
    assert [one for one in shown(read(text)) if one.startswith("!")] == [line]
    assert not [one for one in shown(read(hl_smi_texts.TABLE.replace("    4  |", "    0  |"))) if "uncorrected" in one]


def test_the_tree_names_it_too() -> None:
    lines = ["".join(text for text, _ in line) for line in tree(read(hl_smi_texts.TABLE), 100)]
    assert "HPU 1      4 uncorrected errors" in lines


def test_what_is_alike_is_told_once_the_worst_first() -> None:
    assert facts(
        gpu(0, ecc_uncorrected=1),
        gpu(1, ecc_uncorrected=0, remap_pending=True, remap_failure=False),
        gpu(2, ecc_uncorrected=1),
        gpu(3, ecc_uncorrected=7, remap_failure=True),
    ) == [
        ("GPU 3", "7 uncorrected errors and a row remap failed"),
        ("GPU 0,2", "1 uncorrected error"),
        ("GPU 1", "a row remap is pending"),
    ]


def test_memories_of_one_device_are_counted_together() -> None:
    assert facts(gpu(0, mem_ecc_uncorrected=2, sram_ecc_uncorrected=1)) == [("GPU 0", "3 uncorrected errors")]


def test_of_many_a_few_are_told() -> None:
    told = facts(*(gpu(number, ecc_uncorrectable=number) for number in range(9)))
    assert [devices for devices, _ in told] == ["GPU 8", "GPU 7", "GPU 6", "GPU 1–5"]


@pytest.mark.parametrize("value", [None, True, "4", 0, -1, 0.5, "N/A"])
def test_what_is_no_count_is_none(value: str | int | float | bool | None) -> None:
    assert facts(gpu(0, ecc_uncorrected=value, remap_pending="No")) == []
