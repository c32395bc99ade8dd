"""hl-smi: what its table, its csv and its ports say, in small texts made by hand, and each way in which they break."""

from __future__ import annotations

from importlib import import_module

import pytest

import hl_smi_texts
from hl_smi_texts import CSV, OAMS, TABLE, ports
from raxl.collect import assemble, inputs
from raxl.intake import documents, hl_smi_csv, hl_smi_ports, hl_smi_table
from raxl.model.node import Node
from raxl.model.report import Claim

MIB = 1 << 20


def node_of(text: str) -> Node:
    (node,) = assemble.inventory(inputs._from_bytes(text.encode(), "given")).nodes
    return node


def claims(module: object, text: str) -> list[Claim]:
    assert module.recognises(text)  # type: ignore[attr-defined]
    return list(module.parse(module.own(text))[0].report.claims)  # type: ignore[attr-defined]


def told(node: Node) -> list[tuple[str, str]]:
    return [(one.subject, one.reason) for one in node.problems if one.reason in ("failed", "disagreement")]


@pytest.mark.parametrize("form", hl_smi_texts.TEXTS)
def test_each_form_is_recognised_as_itself_alone(form: str) -> None:
    text = hl_smi_texts.TEXTS[form]
    assert [name for name, module in documents.TEXTS.items() if import_module(module).recognises(text)] == [form]


def test_the_table() -> None:
    """Numbers follow the driver, not the bus; what the processes were called is not kept."""
    node = node_of(TABLE)
    first, second = node.accelerators
    assert (first.id, second.id) == ("gaudi:0", "gaudi:1")
    assert [one.pci.address for one in node.accelerators if one.pci] == ["0000:b3:00.0", "0000:33:00.0"]
    assert {(one.kind, one.model, one.architecture) for one in node.accelerators} == {("hpu", "HL-325L", "Gaudi3")}
    assert {(one.memory_bytes, one.state) for one in node.accelerators} == {(131072 * MIB, "unknown")}
    assert ("accelerators.state", "not-asked") in [(one.subject, one.reason) for one in node.problems]
    assert [one.attributes["uncorrected_events"] for one in node.accelerators] == [0, 4]
    assert (first.ray.resource, first.ray.type, first.visible_env) == ("HPU", None, "HABANA_VISIBLE_MODULES")
    assert {(one.name, one.version) for one in node.software} == {
        ("habanalabs", "1.22.1-0f1e2d3"),
        ("habanalabs_en", "1.22.1-4c5b6a7"),
        ("hl-smi", "1.22.1"),
        ("habanalabs firmware", "61.3.1.0"),
    }
    assert told(node) == []
    assert "train.py" not in hl_smi_table.own(TABLE)


def test_versions_of_two_releases_are_told() -> None:
    (problem,) = [one for one in node_of(TABLE.replace("hl-1.22.1", "hl-1.23.0")).problems if one.subject == "software"]
    assert (problem.reason, problem.message) == ("disagreement", "hl-smi is of 1.23.0, the driver of 1.22.1")


@pytest.mark.parametrize("end", ["Compute Processes", "|   1  HL-325L", "| N/A   37C"])
def test_a_table_that_is_cut_off_says_so(end: str) -> None:
    node = node_of(TABLE[: TABLE.index(end)])
    assert ("accelerators", "failed") in told(node)
    assert node.accelerators[0].memory_bytes == 131072 * MIB
    if end == "| N/A   37C":
        assert node.accelerators[1].memory_bytes is None
        assert ("gaudi:1.memory_bytes", "failed") in told(node)


def test_rows_without_a_head_are_read_and_no_end_is_missed() -> None:
    lines = TABLE.splitlines()
    node = node_of("\n".join(lines[8:13]))
    assert [one.memory_bytes for one in node.accelerators] == [131072 * MIB] * 2
    assert told(node) == []


def test_bars_that_a_copy_lost() -> None:
    (claim,) = claims(
        hl_smi_table, "0  HL-225  N/A  0000:33:00.0  N/A  7\nN/A 27C N/A 75W / 600W 768MiB / 98304MiB 0% N/A"
    )
    assert (claim.index, claim.model, claim.address) == (0, "HL-225", "0000:33:00.0")
    assert claim.memory_bytes == 98304 * MIB


@pytest.mark.parametrize(
    ("word", "reason"), [("N/A /  N/A", "not-supported"), ("ERR!", "failed"), ("0MiB / 0MiB", "failed")]
)
def test_memory_that_the_tool_does_not_tell(word: str, reason: str) -> None:
    (first, _) = claims(hl_smi_table, TABLE.replace("  672MiB / 131072MiB", word, 1))
    assert (first.memory_bytes, first.state) == (None, None)
    assert first.silent["memory_bytes"].reason == reason


def test_a_size_in_which_the_table_ends_is_none() -> None:
    """The first of the two sizes is what is in use."""
    (first,) = claims(hl_smi_table, TABLE[: TABLE.index("/ 131072MiB") + 5])
    assert (first.memory_bytes, first.silent["memory_bytes"].reason) == (None, "failed")


def test_a_head_without_devices() -> None:
    assert told(node_of("".join(TABLE.splitlines(keepends=True)[:8])))[0] == ("accelerators", "failed")


def test_csv() -> None:
    node = node_of(CSV)
    first, second = node.accelerators
    assert (first.uuid, first.serial) == ("01P0-HL3090A0-18-U4V193-22-07-00", "AN21000001")
    assert (first.attributes["module_id"], second.attributes["module_id"]) == (3, 5)
    assert [one.pci.address for one in node.accelerators if one.pci] == ["0000:b3:00.0", "0000:33:00.0"]
    assert {(one.memory_bytes, one.state, one.model) for one in node.accelerators} == {
        (131072 * MIB, "unknown", "HL-325L")
    }
    assert [(one.name, one.version) for one in node.software] == [("habanalabs", "1.22.1-0f1e2d3")]


def test_csv_without_its_header_or_units() -> None:
    """A number without its unit is no size; a cell of no shape is no value."""
    bare = "\n".join(line.replace(" MiB", "") for line in CSV.splitlines()[1:])
    first, second = claims(hl_smi_csv, bare)
    assert (first.index, first.model, first.address) == (0, "HL-325L", "0000:b3:00.0")
    assert (second.index, second.uuid) == (1, "01P0-HL3090A0-18-U4V193-22-07-01")
    assert (first.memory_bytes, first.serial) == (None, None)
    assert first.silent["memory_bytes"].reason == "not-asked"


def test_csv_cells_that_say_nothing() -> None:
    first, second = claims(hl_smi_csv, CSV.replace("AN21000001", "N/A").replace("AN21000002", "ERR!"))
    assert (first.serial, first.silent["serial"].reason) == (None, "not-supported")
    assert (second.serial, second.silent["serial"].reason) == (None, "failed")


def test_nvidias_csv_is_nvidias() -> None:
    text = "index, name, memory.total [MiB]\n0, NVIDIA H100 80GB HBM3, 81559 MiB\n"
    assert not hl_smi_csv.recognises(text)
    assert [one.vendor for one in node_of(text).accelerators] == ["nvidia"]
    assert [one.vendor for one in node_of(CSV).accelerators] == ["gaudi", "gaudi"]


def test_ports_of_a_board_of_eight() -> None:
    """21 ports inside of each of eight, all up: three to each other one; which generation it is is not told."""
    node = node_of(ports(OAMS))
    assert {(link.link_class, link.kind, link.count) for link in node.links} == {("ROCE3", "roce", 3)}
    assert len(node.links) == 28
    assert {link.bandwidth_bytes_per_second for link in node.links} == {None}
    assert {one.attributes["roce_ports_internal_up"] for one in node.accelerators} == {21}


@pytest.mark.parametrize("text", [ports(OAMS[:2]), ports(OAMS, {OAMS[0]: 4})])
def test_ports_whose_other_ends_nobody_tells(text: str) -> None:
    node = node_of(text)
    assert {(link.link_class, link.kind, link.count) for link in node.links} == {(None, "roce", None)}
    (problem,) = [one for one in node.problems if one.subject == "links.count"]
    assert (problem.reason, "not to which device" in problem.message) == ("not-supported", True)


def test_a_port_that_is_down_is_named() -> None:
    first = node_of(ports(OAMS, {OAMS[0]: 4})).accelerators[0]
    assert (first.attributes["roce_ports_internal_up"], first.attributes["roce_ports_down"]) == (20, "4")


def test_ports_inside_and_outside() -> None:
    text = "$ hl-smi -n ports -i 0000:19:00.0\nport 0: internal\nport 8: external\nport 22: external\n"
    (claim,) = claims(hl_smi_ports, text)
    assert claim.address == "0000:19:00.0"
    assert claim.attributes == {"roce_ports_internal": 1, "roce_ports_external": 2}


def test_ports_of_nobody() -> None:
    node = node_of("port  0:  UP\nport  1:  UP\n")
    assert ("links", "failed") in told(node)


def test_a_log_of_the_kernel_is_none_of_these() -> None:
    log = "[   27.0] habanalabs 0000:19:00.0: habanalabs device found [1da3:1000] (rev 1)\n"
    assert not [name for name, module in documents.TEXTS.items() if import_module(module).recognises(log * 3)]


def test_all_forms_of_one_machine_are_one_node() -> None:
    node = node_of(TABLE + CSV + ports(["0000:b3:00.0", "0000:33:00.0"]))
    assert [one.id for one in node.accelerators] == ["gaudi:0", "gaudi:1"]
    assert [len(one.evidence) for one in node.accelerators] == [3, 3]
    assert {link.kind for link in node.links} == {"roce"}
