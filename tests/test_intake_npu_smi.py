"""npu-smi and GPUStack's record: what they say of Ascend NPUs, in small texts made by hand."""

from __future__ import annotations

import json
from importlib import import_module

import pytest

import npu_smi_texts
from npu_smi_texts import A2, A3, DUO, TOPO, WORKER
from raxl.intake import documents, gpustack_worker, npu_smi_table, npu_smi_topo
from test_intake_hl_smi import claims, node_of, told

MIB = 1 << 20


@pytest.mark.parametrize("text", [*npu_smi_texts.TEXTS.values(), A3, DUO])
def test_each_form_is_recognised_as_itself_alone(text: str) -> None:
    known = {value: form for form, value in npu_smi_texts.TEXTS.items()}
    found = [name for name, module in documents.TEXTS.items() if import_module(module).recognises(text)]
    assert found == [known.get(text, "npu-smi info")]


def test_one_chip_a_card() -> None:
    node = node_of(A2)
    first, second = node.accelerators
    assert (first.id, first.model, first.kind) == ("ascend:0", "910B3", "npu")
    assert [one.pci.address for one in node.accelerators if one.pci] == ["0000:c1:00.0", "0000:01:00.0"]
    assert [one.memory_bytes for one in node.accelerators] == [65536 * MIB] * 2
    assert [one.state for one in node.accelerators] == ["ok", "degraded"]
    assert second.attributes["health"] == "Alarm"
    assert (first.ray.resource, first.ray.type, first.visible_env) == (
        "NPU",
        "Ascend910B3",
        "ASCEND_RT_VISIBLE_DEVICES",
    )
    assert [(one.name, one.version) for one in node.software] == [("npu-smi", "24.1.rc3")]
    assert "secret" not in npu_smi_table.own(A2)


def test_two_chips_a_card_are_two_by_their_physical_ids() -> None:
    node = node_of(A3)
    assert [(one.id, one.attributes["card"], one.attributes["chip"]) for one in node.accelerators] == [
        ("ascend:6", 3, 0),
        ("ascend:7", 3, 1),
    ]
    assert {one.ray.type for one in node.accelerators} == {None}
    (problem,) = [one for one in node.problems if one.subject == "accelerators.ray.type"]
    assert problem.reason == "not-supported"


def test_a_duo_card_has_ddr_and_one_address_for_two_chips() -> None:
    first, second = claims(npu_smi_table, DUO)
    assert (first.memory_bytes, second.memory_bytes) == (44280 * MIB, 43693 * MIB)
    assert (first.index, second.index, first.model) == (0, 1, "310P3")
    node = node_of(DUO)
    assert told(node) == []
    assert [(one.id, one.pci.address if one.pci else None) for one in node.accelerators] == [
        ("ascend:0", "0000:05:00.0"),
        ("ascend:1", "0000:05:00.0"),
    ]


def test_two_cards_at_one_address_are_told() -> None:
    node = node_of(A2.replace("0000:01:00.0", "0000:C1:00.0"))
    assert len(node.accelerators) == 2
    assert ("accelerators.pci", "disagreement") in told(node)


def test_a_card_whose_chip_is_cut_off() -> None:
    node = node_of(A2[: A2.index("| 0                         | 0000:01:00.0")])
    assert [one.memory_bytes for one in node.accelerators] == [65536 * MIB, None]
    assert ("ascend:1.memory_bytes", "failed") in told(node)


@pytest.mark.parametrize(
    ("new", "reason"), [("NA / NA", "not-supported"), ("- / -", "not-applicable"), ("0 / 0", "failed")]
)
def test_memory_that_the_tool_does_not_tell(new: str, reason: str) -> None:
    first, _ = claims(npu_smi_table, A2.replace("3318/ 65536", new))
    assert (first.memory_bytes, first.silent["memory_bytes"].reason) == (None, reason)


def test_a_health_that_is_none() -> None:
    first, _ = claims(npu_smi_table, A2.replace("| OK      ", "| UNKNOWN ", 1))
    assert (first.state, first.silent["state"].reason) == (None, "failed")


def test_the_matrix() -> None:
    node = node_of(TOPO)
    classes = {(one.a[-1], one.b[-1]): (one.link_class, one.kind, one.count) for one in node.links}
    assert classes["0", "1"] == ("HCCS", "hccs", None)
    assert classes["1", "2"] == ("HCCS", "hccs", None)
    assert classes["0", "2"] == ("SIO", "sio", None)
    assert classes["0", "3"] == ("PHB", "pcie", None)
    assert classes["2", "3"] == (None, None, None)
    assert [one.attributes["cpu_affinity"] for one in node.accelerators] == ["0-23", "24-47", "0-23", "24-47"]
    assert {one.numa_node for one in node.accelerators} == {None}
    assert told(node) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TOPO[: TOPO.index("NPU3       PHB")], "the rows of NPU3 are missing"),
        (TOPO[: TOPO.index("HCCS_SW    X")], "the rows of NPU3 are missing; the rows of NPU2 are cut off"),
        (TOPO.partition("\n")[2], "its header is missing"),
    ],
)
def test_a_matrix_that_is_cut_off(text: str, words: str) -> None:
    node = node_of(text)
    assert [one.id for one in node.accelerators] == [f"ascend:{number}" for number in range(4)]
    assert f"the matrix is incomplete: {words}" in [one.message for one in node.problems]
    assert {one.link_class for one in node.links} == {"HCCS", "SIO", "PHB", "SYS", None}


def test_blanks_and_line_ends_that_a_copy_changed() -> None:
    glued = TOPO.replace("NPU2       NPU3", "NPU2NPU3").replace("SIO        HCCS_SW", "SIOHCCS_SW")
    for text in (glued, TOPO.replace("\n", "\r\n"), "\x1b[4m" + TOPO, "    " + TOPO.replace("\n", "\n    ")):
        assert claims(npu_smi_topo, text) == claims(npu_smi_topo, TOPO)
        assert npu_smi_topo.parse(text)[0].report.links == npu_smi_topo.parse(TOPO)[0].report.links


def test_two_rows_that_contradict_each_other() -> None:
    node = node_of(TOPO.replace("NPU1       HCCS ", "NPU1       PIX  "))
    (problem,) = [one for one in node.problems if one.reason == "disagreement"]
    assert problem.message == "the matrix calls NPU0–NPU1 HCCS in one row and PIX in the other"


def test_a_workers_record() -> None:
    node = node_of(WORKER)
    assert gpustack_worker.parse(WORKER)[0].hostname == "npu-01"
    assert (node.os.kernel, node.os.architecture) == ("5.15.0-1024-generic", "aarch64")
    assert (node.os.distribution, node.cpu.threads) == ("Ubuntu 22.04.5 LTS", 192)
    first, second = node.accelerators
    assert (first.id, second.id, first.model) == ("ascend:0", "ascend:1", "910B4")
    assert (first.memory_bytes, first.ray.type, first.state) == (32 << 30, "Ascend910B4", "unknown")
    kept = gpustack_worker.own(WORKER)
    assert not [word for word in ("192.0.2", "somebody", "02:00:00") if word in kept]


def test_a_record_of_others_devices_says_that_they_are_not_read() -> None:
    record = json.loads(WORKER)
    record["status"]["gpu_devices"][1]["vendor"] = "nvidia"
    node = node_of(json.dumps(record))
    assert [one.id for one in node.accelerators] == ["ascend:0"]
    assert [one.reason for one in node.problems if one.subject == "accelerators"] == ["not-supported"]


def test_the_table_and_the_matrix_are_one_machine() -> None:
    node = node_of(A2 + TOPO)
    assert [len(one.evidence) for one in node.accelerators] == [2, 2, 1, 1]
