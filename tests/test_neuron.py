"""Neuron devices: what `neuron-ls`, `neuron-monitor` and the driver say, and what only looks like one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recordings
import seeds
from raxl.collect import assemble, inputs
from raxl.host import Answer, CommandOutput, Question, allowed
from raxl.host.record import Recording
from raxl.host.redact import Redactor
from raxl.intake import neuron_ls as pasted
from raxl.model.node import Node
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_APPLICABLE, NOT_INSTALLED, NOT_PRESENT
from raxl.sources import neuron_links, neuron_ls, neuron_names, pci


def of_text(text: str, folder: Path) -> Node:
    (folder / "pasted.txt").write_text(text)
    (node,) = assemble.inventory(inputs.opened([str(folder / "pasted.txt")])).nodes
    return node


def reasons(node: Node, subject: str) -> list[str]:
    return [one.reason for one in node.problems if one.subject == subject]


def joined(node: Node) -> set[tuple[str, str, str | None]]:
    return {(link.a, link.b, link.link_class) for link in node.links if link.kind == "neuron"}


def test_the_table_with_processes(tmp_path: Path) -> None:
    node = of_text(seeds.NEURON_LS, tmp_path)
    assert [(device.id, device.pci.address) for device in node.accelerators if device.pci] == [
        ("neuron:0", "0000:10:1c.0"),
        ("neuron:1", "0000:10:1d.0"),
        ("neuron:2", "0000:a0:1c.0"),
    ]
    assert {(device.model, device.memory_bytes, device.state) for device in node.accelerators} == {
        ("Trainium1", 32 << 30, "unknown")
    }
    assert {device.attributes["neuron_cores"] for device in node.accelerators} == {2}
    assert joined(node) == {("neuron:0", "neuron:1", "NEURON"), ("neuron:0", "neuron:2", "NEURON")}
    assert {(device.ray.resource, device.ray.type) for device in node.accelerators} == {
        ("neuron_cores", "aws-neuron-core")
    }
    assert (node.placement.provider, node.placement.instance_type) == ("aws", "trn1.32xlarge")


def test_no_argument_of_a_process_is_kept() -> None:
    assert "token" not in pasted.own(seeds.NEURON_LS)
    assert "token" not in pasted.own(seeds.NEURON_LS_JSON)
    assert "token" not in allowed.command_output(seeds.NEURON_LS_JSON)
    assert '"command": "python3"' in allowed.command_output(seeds.NEURON_LS_JSON)
    assert "token" not in allowed.command_output('[{"command": "python3 --token=x')


def test_the_table_of_a_release_with_logical_cores(tmp_path: Path) -> None:
    text = """+--------+--------+---------+--------+---------------+---------+
| NEURON | NEURON | LOGICAL | NEURON |   CONNECTED   |   PCI   |
| DEVICE | CORES  |   NC    | MEMORY |    DEVICES    |   BDF   |
+--------+--------+---------+--------+---------------+---------+
| 0      | 8      | 4       | 96 GB  | 1             | cc:00.0 |
| 1      | 8      | 4       | 96 GB  | 0             | b5:00.0 |
+--------+--------+---------+--------+---------------+---------+
"""
    node = of_text(text, tmp_path)
    assert [device.attributes["neuron_cores"] for device in node.accelerators] == [4, 4]
    assert [device.model for device in node.accelerators] == [None, None]
    assert joined(node) == {("neuron:0", "neuron:1", "NEURON")}


def test_a_table_that_ends_inside_a_row(tmp_path: Path) -> None:
    end = seeds.NEURON_LS.index("0000:10:1d.0") + 6
    node = of_text("\x1b[1m$ neuron-ls\x1b[0m\r\n" + seeds.NEURON_LS[:end].replace("\n", "\r\n"), tmp_path)
    assert [device.pci.address if device.pci else None for device in node.accelerators] == ["0000:10:1c.0", None]
    assert FAILED in reasons(node, "accelerators")


def test_json_whose_firmware_names_no_numa_node(tmp_path: Path) -> None:
    node = of_text(f"$ neuron-ls -j\n{seeds.NEURON_LS_JSON}", tmp_path)
    assert [device.memory_bytes for device in node.accelerators] == [34359738368] * 2
    assert [device.attributes["neuron_core_ids"] for device in node.accelerators] == ["0-1", "2-3"]
    assert reasons(node, "accelerators.numa_node") == [NOT_PRESENT]
    assert joined(node) == {("neuron:0", "neuron:1", "NEURON")}


def test_json_that_has_the_node_s_facts_at_its_top() -> None:
    """The shape since Neuron 2.34 is known in words only: fields of the node at the top, devices somewhere below."""
    device = {"neuron_device": 3, "bdf": "0000:cc:00.0", "nc_count": 4, "memory_size": 103079215104}
    output = neuron_ls.of_values(
        [{"instance_type": "trn2u.48xlarge", "ultraserver": {"server_id": "5B1F0A7739C2D4E8"}, "devices": [device]}]
    )
    (claim,) = neuron_ls.claims(output)
    assert (claim.index, claim.address, claim.model_by_id) == (3, "0000:cc:00.0", "Trainium2")
    assert neuron_ls.placement(output).fabric_domain == "5b1f0a7739c2d4e8"


def test_a_list_whose_devices_name_their_instance() -> None:
    text = '[{"instance_type": "trn2.3xlarge", "neuron_device": 0, "bdf": "0000:33:00.0", "connected_to": null}]'
    (claim,) = neuron_ls.claims(neuron_ls.of_values([json.loads(text)]))
    assert (claim.model_by_id, claim.memory_bytes) == ("Trainium2", None)


def test_links_that_lead_away_or_back_from_one_end_alone(tmp_path: Path) -> None:
    links, problems = neuron_links.links_of({0: [1, 9], 1: [2], 2: [1, 0]}, "neuron-ls")
    assert [(link.a, link.b) for link in links] == [
        ("neuron#0", "neuron#1"),
        ("neuron#0", "neuron#2"),
        ("neuron#1", "neuron#2"),
    ]
    assert [(one.reason, one.message) for one in problems] == [
        (DISAGREEMENT, "links lead to 1 devices that neuron-ls does not list: 9"),
        (DISAGREEMENT, "links that one end alone names: 0–1, 0–2"),
    ]


def test_the_monitor_s_counters_tell_the_state(tmp_path: Path) -> None:
    node = of_text(seeds.NEURON_MONITOR, tmp_path)
    assert [(device.model, device.state, device.architecture) for device in node.accelerators] == [
        ("Inferentia2", "unknown", "NeuronCore-v2"),
        ("Inferentia2", "degraded", "NeuronCore-v2"),
    ]
    assert node.accelerators[1].attributes["mem_ecc_uncorrected"] == 2
    assert (node.placement.region, node.placement.zone) == ("us-east-1", "us-east-1d")


def test_that_counters_of_some_devices_are_missing_is_told(tmp_path: Path) -> None:
    node = of_text(seeds.NEURON_MONITOR.replace('"neuron_device_count": 2', '"neuron_device_count": 4'), tmp_path)
    assert [device.state for device in node.accelerators] == ["unknown", "degraded", "unknown", "unknown"]
    (problem,) = [one for one in node.problems if one.reason == DISAGREEMENT]
    assert problem.message == "neuron-monitor counts 4 devices, its counters list 2"


def test_of_a_stream_that_ends_in_a_period_the_last_whole_one_counts(tmp_path: Path) -> None:
    cut = seeds.NEURON_MONITOR[: seeds.NEURON_MONITOR.index('"mem_ecc_uncorrected": 2')]
    node = of_text(seeds.NEURON_MONITOR + cut, tmp_path)
    assert [device.state for device in node.accelerators] == ["unknown", "degraded"]
    assert [one for one in node.problems if one.reason == "failed"] == []


def test_the_monitor_s_own_error_is_told(tmp_path: Path) -> None:
    text = '{"neuron_hardware_info": {"neuron_device_count": 0, "error": "driver not loaded"}}'
    assert [one.message for one in of_text(text, tmp_path).problems if one.reason == FAILED] == [
        "neuron-monitor: driver not loaded"
    ]


def test_the_tool_joins_the_driver_s_numbers_to_the_bus() -> None:
    node = assemble.node(recordings.recording("neuron-trn2-ultraserver"))
    first = node.accelerators[0]
    assert first.pci is not None
    assert (first.index, first.pci.address, first.serial) == (0, "0000:c8:00.0", "01c800000000a0c8")
    assert len(node.accelerators) == 16
    assert len(joined(node)) == 32
    assert node.placement.fabric_domain == "5b1f0a7739c2d4e8"
    assert {device.fabric.domain for device in node.accelerators if device.fabric} == {"5b1f0a7739c2d4e8"}


def test_without_the_tool_no_number_is_given_to_a_function_of_the_bus() -> None:
    node = assemble.node(recordings.recording("neuron-inf2-no-tool"))
    assert [device.index for device in node.accelerators] == [None] * 6
    assert [device.state for device in node.accelerators] == ["ok"] * 5 + ["unknown"]
    assert reasons(node, "accelerators.index") == [NOT_INSTALLED]
    assert {link.link_class for link in node.links} == {None}
    assert reasons(node, "accelerators.fabric") == [NOT_APPLICABLE]


def machine(answers: dict[Question, Answer]) -> Node:
    return assemble.node(Recording(answers, name="node", recorded_by="0", unasked=Answer(None, "not-present", "")))


def function(address: str, device: str, class_id: str) -> dict[Question, Answer]:
    folder = f"{pci.FOLDER}/{address}"
    words = {"vendor": "0x1d0f", "device": device, "class": class_id}
    return {
        **{Question("text", f"{folder}/{name}"): Answer(word + "\n") for name, word in words.items()},
        Question("link", folder): Answer(f"/sys/devices/pci0000:00/{address}"),
        Question("link", f"{folder}/driver"): Answer("/sys/bus/pci/drivers/neuron"),
        Question("names", pci.FOLDER): Answer([address]),
    }


def test_amazon_s_network_adapter_and_disk_are_no_neuron_devices() -> None:
    for device, class_id in (("0xec20", "0x020000"), ("0xefa1", "0x020000"), ("0x8061", "0x010802")):
        assert machine(function("0000:00:05.0", device, class_id)).accelerators == ()


@pytest.mark.parametrize(("word", "reason"), [("0000000000000000", NOT_APPLICABLE), ("busy", FAILED)])
def test_an_ultraserver_that_is_none_or_not_elected(word: str, reason: str) -> None:
    answers = function("0000:00:1e.0", "0x7364", "0x088000")
    answers[Question("names", "/sys/class/neuron_device")] = Answer(["neuron0", "server_id_4"])
    answers[Question("text", "/sys/class/neuron_device/server_id_4")] = Answer(word + "\n")
    node = machine(answers)
    assert node.placement.fabric_domain is None
    subject = "neuron:0.fabric" if reason == NOT_APPLICABLE else "placement.fabric_domain"
    assert reasons(node, subject) == [reason]


def test_the_newer_flag_is_used_where_the_older_one_is_gone() -> None:
    answers = function("0000:00:1e.0", "0x7364", "0x088000")
    old, new = (" ".join(command) for command in neuron_ls.COMMANDS)
    device = {"neuron_device": 0, "bdf": "0000:00:1e.0", "nc_count": 4, "memory_size": 103079215104}
    answers[Question("command", old)] = Answer(CommandOutput(1, "", "unknown flag: json-output\n"))
    assert [one.memory_bytes for one in machine(answers).accelerators] == [None]
    answers[Question("command", new)] = Answer(CommandOutput(0, json.dumps({"devices": [device]}), ""))
    assert [(one.index, one.memory_bytes) for one in machine(answers).accelerators] == [(0, 103079215104)]


def test_names_of_instances() -> None:
    assert neuron_names.model_of_instance("trn2n.48xlarge") == "Trainium2"
    assert neuron_names.model_of_instance("p5.48xlarge") is None
    assert neuron_names.ultraserver("0000000000000000") is None


def test_an_ultraserver_s_id_is_redacted_and_that_it_has_none_stays() -> None:
    told = {}
    for word in ("5b1f0a7739c2d4e8", "0000000000000000", "busy"):
        question = Question("text", "/sys/class/neuron_device/server_id_4")
        recording = Recording({question: Answer(word + "\n")}, name="node")
        told[word] = Redactor(b"key").recording(recording).answer(question).value.strip()
    assert told["5b1f0a7739c2d4e8"] != "5b1f0a7739c2d4e8"
    assert neuron_names.ultraserver(told["5b1f0a7739c2d4e8"]) is not None
    assert (told["0000000000000000"], told["busy"]) == ("0000000000000000", "busy")
