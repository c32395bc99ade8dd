"""Plug-ins of NPUs and other GPUs: false friends, Ray's own names, and what is never asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

import npu_texts
import recordings
from raxl.accelerators import apple, mobilint, rebellions
from raxl.collect import assemble
from raxl.host import Answer, CommandOutput, Question
from raxl.host.record import Recording, question_of_command
from raxl.host.replay import ReplayHost
from raxl.model.component import PciFunction
from raxl.model.node import Node
from raxl.model.report import Report
from raxl.plugins import registry

DARWIN = Answer({"system": "Darwin", "release": "25.0.0", "machine": "arm64"})
PROFILE = {
    "SPDisplaysDataType": [
        {"sppci_model": "Apple M2 Max", "sppci_cores": "38", "spdisplays_mtlgpufamilysupport": "metal3"}
    ]
}


def node(name: str, **changes: Answer) -> Node:
    held = recordings.recording(name)
    held.answers.update({Question(*key.split(" ", 1)): answer for key, answer in changes.items()})
    return assemble.node(held)


def reported(plugin: Any, answers: dict[Question, Answer], *functions: PciFunction) -> Report:
    host = ReplayHost(Recording(answers))
    return plugin.parse(plugin.ask(host), functions)  # type: ignore[no-any-return]


def on_bus(vendor: str, device: str, class_id: str, **more: Any) -> PciFunction:
    return PciFunction("0000:23:00.0", class_id, "pci0000:20", vendor_id=vendor, device_id=device, **more)


def test_the_folder_by_id_is_no_tenstorrent_device() -> None:
    answers = {Question("names", "/dev/tenstorrent"): Answer(["0", "1", "by-id"])}
    (plugin,) = (one for one in registry.accelerators() if one.vendor == "tenstorrent")
    assert [claim.index for claim in reported(plugin, answers).claims] == [0, 1]


def test_a_stray_device_of_vendor_9999_is_no_metax_gpu() -> None:
    assert len(node("metax-c500").accelerators) == 4  # a fifth function bears the same ids, and another class


def test_another_makers_mx_smi_is_no_witness() -> None:
    found = node("metax-other-mx-smi")
    assert {device.memory_bytes for device in found.accelerators} == {None}
    assert {device.state for device in found.accelerators} == {"unknown"}


def test_a_hygon_processors_bridge_is_no_dcu() -> None:
    assert [device.pci.address for device in node("hygon-dcu").accelerators if device.pci] == ["0000:23:00.0"]


def test_auxiliary_nodes_are_no_mobilint_devices() -> None:
    names = Answer(["aries0", "aries10", "regulus", "regulus-usb", "ariesx", "regulus-npu0"])
    report = reported(mobilint.Mobilint(), {Question("names", "/dev"): names})
    assert [claim.attributes["device_node"] for claim in report.claims] == [
        "/dev/aries0",
        "/dev/regulus-npu0",
        "/dev/aries10",
    ]


def test_nodes_of_other_drivers_prove_nothing() -> None:
    """/dev/accel is shared by several drivers, and Intel's camera units have nodes called ipu."""
    answers = {
        Question("names", "/dev"): Answer(["accel", "ipu0", "ipu-psys0", "groq", "cambricon_ctl", "cambricon_ipcm0"]),
        Question("names", "/dev/accel"): Answer(["accel0"]),
        Question("names", "/dev/biren"): Answer(["card"]),
    }
    for plugin in registry.accelerators():
        assert not reported(plugin, answers).claims


def test_a_virtual_function_is_told_from_the_card_that_it_belongs_to() -> None:
    physical = on_bus("1eff", "1220", "120000")
    virtual = PciFunction(
        "0000:23:00.1", "120000", "pci0000:20", vendor_id="1eff", device_id="1221", physical_function="0000:23:00.0"
    )
    plugin = rebellions.Rebellions()
    assert [claim.address for claim in reported(plugin, {}, physical, virtual).claims] == ["0000:23:00.0"]
    assert [claim.address for claim in reported(plugin, {}, virtual).claims] == ["0000:23:00.1"]


@pytest.mark.parametrize(
    "vendor", ["17cb", "1ed5", "cabc", "1d94", "1e3e", "1e36", "1ee0", "1d95", "1de0", "209f", "1ed2"]
)
def test_a_vendors_other_devices_are_no_accelerators(vendor: str) -> None:
    for class_id in ("020000", "060400", "010802"):
        for plugin in registry.accelerators():
            assert not reported(plugin, {}, on_bus(vendor, "ffff", class_id)).claims


def test_a_card_that_a_container_was_not_given_says_so() -> None:
    listing = Question("names", "/dev")
    held = recordings.recording("rebellions-ca22")
    held.answers[listing] = Answer([name for name in held.answers[listing].value if name != "rbln1"])
    found = assemble.node(held)
    assert [device.attributes.get("device_node") for device in found.accelerators] == ["/dev/rbln0", None]
    assert [one.reason for one in found.problems if one.subject == "rebellions:1.attributes.device_node"] == [
        "not-present"
    ]


def test_no_group_of_rebellions_devices_is_ever_read() -> None:
    held = recordings.recording("rebellions-ca22")
    assert not [question for question in held.answers if "/rsd" in question.subject]


def test_what_is_not_on_the_bus_runs_no_tool() -> None:
    held = recordings.recording("none-cpu-server")
    commands = {question.subject.split()[0] for question in held.answers if question.kind == "command"}
    assert not commands & {"rbln-smi", "furiosa-smi", "tt-smi", "mx-smi", "system_profiler", "sysctl"}


def test_resources_and_variables_are_rays() -> None:
    from ray._private.accelerators import furiosa, mblt, metax_gpu, rbln, ttnpu

    managers = {
        "furiosa-rngd": furiosa.FuriosaAcceleratorManager,
        "mobilint-aries": mblt.MBLTAcceleratorManager,
        "metax-c500": metax_gpu.MetaxGPUAcceleratorManager,
        "rebellions-ca22": rbln.RBLNAcceleratorManager,
        "tenstorrent-n300": ttnpu.TTNPUAcceleratorManager,
    }
    for name, manager in managers.items():
        for device in node(name).accelerators:
            assert device.ray.resource == manager.get_resource_name()
            assert device.visible_env == manager.get_visible_accelerator_ids_env_var()


@pytest.mark.parametrize(
    "text", ["Apple M1", "Apple M2 Max", "Apple M3 Ultra", "Apple M1 Pro chip", "Intel(R) Core(TM) i9", ""]
)
def test_apple_types_are_rays(text: str) -> None:
    from ray._private.accelerators.apple_gpu import AppleGPUAcceleratorManager

    assert apple.chip(text) == AppleGPUAcceleratorManager._parse_apple_chip(text)


def test_mobilint_types_are_rays(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private.accelerators import mblt

    for names in (["aries0"], ["regulus-npu0"], ["aries0", "regulus-npu0"], ["regulus-usb"]):
        paths = {
            mblt._MBLT_ARIES_DEV_GLOB: names[0].startswith("aries"),
            mblt._MBLT_REGULUS_DEV_GLOB: "regulus-npu0" in names,
        }
        monkeypatch.setattr(mblt.glob, "glob", lambda pattern, paths=paths: [pattern] if paths[pattern] else [])
        theirs = mblt.MBLTAcceleratorManager.get_current_node_accelerator_type()
        assert mobilint.ray_type(Answer(names)) == theirs


def test_a_family_that_ray_does_not_know_names_a_custom_resource() -> None:
    (device,) = node("cambricon-mlu370").accelerators
    assert (device.ray.resource, device.attributes["custom_resource"]) == (None, "MLU")


def mac(profile: str, status: int = 0) -> dict[Question, Answer]:
    return {
        Question("process", "uname"): DARWIN,
        question_of_command(apple.PROFILER): Answer(CommandOutput(status, profile, "")),
        question_of_command(apple.BRAND): Answer(CommandOutput(0, "Apple M2 Max\n", "")),
        question_of_command(apple.MEMORY): Answer(CommandOutput(0, "103079215104\n", "")),
    }


def test_the_gpu_of_an_apple_chip() -> None:
    (claim,) = reported(apple.Apple(), mac(json.dumps(PROFILE))).claims
    assert (claim.model, claim.index, claim.state, claim.visible_env) == ("Apple M2 Max", 0, "ok", None)
    assert claim.ray is not None
    assert (claim.ray.resource, claim.ray.type) == ("GPU", "M2-Max")
    assert (claim.memory_bytes, claim.silent["memory_bytes"].reason) == (None, "not-applicable")
    assert claim.attributes == {"unified_memory_bytes": 96 << 30, "gpu_cores": 38}


@pytest.mark.parametrize("profile", ["", "{", "[]", '{"SPDisplaysDataType": [1]}', "[" * 100_000])
def test_a_profile_that_cannot_be_read_is_no_state(profile: str) -> None:
    (claim,) = reported(apple.Apple(), mac(profile)).claims
    assert (claim.state, claim.silent["state"].reason) == (None, "failed")


def test_an_intel_mac_has_no_apple_gpu() -> None:
    answers = mac(json.dumps({"SPDisplaysDataType": [{"sppci_model": "AMD Radeon Pro 5500M"}]}))
    answers[question_of_command(apple.BRAND)] = Answer(CommandOutput(0, "Intel(R) Core(TM) i9\n", ""))
    assert reported(apple.Apple(), answers) == Report()


def test_nothing_is_asked_for_an_apple_gpu_on_linux() -> None:
    held = recordings.recording("furiosa-rngd")
    assert not [question for question in held.answers if question.subject.startswith(("system_profiler", "sysctl"))]


def test_a_tool_that_fails_costs_only_what_it_alone_knows() -> None:
    (first, second) = node("tenstorrent-tool-fails").accelerators
    assert (first.model, first.index, first.serial) == ("n300", 0, "0000100000000000")
    assert (second.numa_node, second.memory_bytes, second.state) == (1, None, "unknown")


def test_numbers_of_furiosas_devices_keep_their_gap() -> None:
    found = node("furiosa-rngd")
    assert [(device.index, device.memory_bytes) for device in found.accelerators] == [
        (0, 51002736640),
        (3, 51002736640),
    ]
    assert [link.link_class for link in found.links] == ["SYS"]
    assert not [one for one in found.problems if one.reason == "disagreement" and not one.subject.startswith("ray.")]


def test_the_second_chip_of_a_card_is_known_by_the_tool_alone() -> None:
    found = node("tenstorrent-n300")
    assert [device.pci.address if device.pci else None for device in found.accelerators] == [
        "0000:23:00.0",
        "0000:a3:00.0",
        None,
        None,
    ]
    assert not [one for one in found.problems if one.reason == "disagreement" and not one.subject.startswith("ray.")]


def test_metaxlink_is_told_without_a_count() -> None:
    kinds = {(one.a, one.b): (one.kind, one.link_class) for one in node("metax-c500").links}
    assert kinds["metax:0", "metax:1"] == ("metaxlink", None)
    assert kinds["metax:0", "metax:2"] == ("pcie", "SYS")


def test_the_older_name_of_rebellions_tool_is_asked_where_the_newer_is_not_installed() -> None:
    answers = {
        Question("names", rebellions.CLASS): Answer(["rbln0"]),
        question_of_command(rebellions.COMMANDS[0]): Answer(None, "not-installed", "rbln-smi is in none"),
        question_of_command(rebellions.COMMANDS[1]): Answer(CommandOutput(0, npu_texts.RBLN_JSON, "")),
    }
    report = reported(rebellions.Rebellions(), answers)
    assert {claim.memory_bytes for claim in report.claims if claim.evidence == "rbln-smi"} == {16877879296}
