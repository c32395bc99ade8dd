"""The real pynvml in the asking process, before a library built from C: what checks ask, and that nobody else does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from raxl.checks import diagnosis
from raxl.collect import assemble, facts, inputs
from raxl.host.record import Recording
from raxl.model.facts import Facts
from stubs import NVML, build, raxl

MIB = 1 << 20
ASKED_BY_CHECKS = ("ecc_errors", "event_samples", "holders", "inforom", "nvlink_errors", "start_seconds")


def recorded(name: str, folder: Path) -> Recording:
    """The snapshot of a machine with that library."""
    build(NVML, name, folder / "root")
    done = raxl("snapshot", "--output", str(folder / "node.tar.gz"), RAXL_HOST_ROOT=str(folder / "root"))
    assert done.returncode in (0, 3), done.stderr
    (recording,) = inputs.opened([str(folder / "node.tar.gz")])
    return recording


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded("examined", tmp_path_factory.mktemp("examined"))


def facts_of(recording: Recording) -> Facts:
    (node,) = assemble.inventory([recording]).nodes
    return facts.of(recording, node)


def test_every_call_reaches_its_reading(examined: Recording) -> None:
    devices = facts_of(examined).devices

    def value(index: int, question: str) -> Any:
        reading = devices[f"nvidia:{index}"][question]
        assert reading.known, (question, reading)
        return reading.value

    assert value(1, "ecc_errors") == {
        "uncorrected_volatile": 3,
        "uncorrected_volatile_sram": 1,
        "uncorrected_volatile_dram": 2,
        "corrected_volatile": 4,
        "uncorrected_aggregate": 3,
        "corrected_aggregate": 40,
    }
    assert value(2, "sram_threshold_exceeded") is True
    assert value(2, "remap_histogram") == (2540, 10, 5, 3, 2)
    assert (value(2, "remapped_rows"), value(2, "remap_pending"), value(2, "remap_failure")) == ((0, 9), True, False)
    assert value(0, "temperature_celsius") == 33
    assert value(0, "memory_temperature_celsius") == 40
    assert (value(5, "temperature_margin_celsius"), value(0, "temperature_margin_celsius")) == (2, 54)
    assert value(4, "power_limit_watts") == 500.0
    assert (value(0, "power_draw_watts"), value(0, "power_default_watts")) == (70.93, 700.0)
    assert (value(4, "persistence_mode"), value(0, "persistence_mode")) == (False, True)
    assert value(4, "compute_mode") == "prohibited"
    assert value(4, "clocks_mhz") == {"now": 345, "most": 1980, "applications": 1200, "applications_default": 1980}
    assert value(6, "memory_bytes") == {"total": 81559 * MIB, "used": 4096 * MIB, "reserved": 470 * MIB}
    assert value(6, "holders") == ()
    assert (value(0, "inforom"), value(5, "inforom")) == ("valid", "corrupted")
    assert value(6, "recovery_action") == "reboot node"
    assert value(7, "ecc_mode") == (True, False)
    assert [one["recovery"] for one in value(0, "nvlink_errors")] == [0] * 18
    assert value(0, "nvlink_errors")[0]["replay"] == 2
    assert value(0, "nvlinks")[4] == {"state": "sleeping", "remote": "switch"}
    assert value(5, "event_samples")["times"] == (("hardware slowdown", "hardware thermal"),) * 5
    assert value(0, "event_samples")["shares"] == {
        "software thermal": 0.0,
        "hardware thermal": 0.0,
        "hardware power brake": 0.0,
    }
    assert value(0, "violations_seconds") == {"thermal": 1.5, "board limit": 0.0, "reliability": 0.0}
    assert value(0, "peers") == dict.fromkeys(range(1, 8), "ok")


def test_what_the_checks_make_of_it(examined: Recording) -> None:
    """Each fault by its device, and no other."""
    inventory = assemble.inventory([examined])
    found = diagnosis.findings(inventory, [facts_of(examined)]).findings
    bad = {(one.check, one.subject): one.status for one in found if one.status in ("warn", "fail")}
    bad = {key: status for key, status in bad.items() if key[0].startswith(("nvidia.", "nvlink.", "fabric.s"))}
    assert bad == {
        ("nvidia.ecc-uncorrected", "nvidia:1"): "fail",
        ("nvidia.sram-threshold", "nvidia:2"): "fail",
        ("nvidia.remap-pending", "nvidia:2"): "warn",
        ("nvidia.remap-pending", "nvidia:3"): "warn",
        ("nvidia.remap-exhaust", "nvidia:2"): "fail",
        ("nvidia.persistence", "nvidia:4"): "warn",
        ("nvidia.compute-mode", "nvidia:4"): "fail",
        ("nvidia.power", "nvidia:4"): "warn",
        ("nvidia.clocks", "nvidia:4"): "warn",
        ("nvidia.temperature", "nvidia:5"): "warn",
        ("nvidia.throttle", "nvidia:5"): "fail",
        ("nvidia.inforom", "nvidia:5"): "fail",
        ("nvidia.recovery-action", "nvidia:6"): "fail",
        ("nvidia.ecc-mode", "nvidia:7"): "warn",
        ("nvlink.errors", "nvidia:6"): "fail",
    }


def test_other_commands_do_not_ask_it(tmp_path: Path) -> None:
    build(NVML, "examined", tmp_path / "root")
    kept = tmp_path / "node.tar.gz"
    assert raxl("topo", "--record", str(kept), RAXL_HOST_ROOT=str(tmp_path / "root")).returncode == 0
    (recording,) = inputs.opened([str(kept)])
    calls = {question.subject.split(" ")[1] for question in recording.answers if question.kind == "library"}
    assert "ecc_mode" in calls
    assert not calls & set(ASKED_BY_CHECKS)


def test_a_device_that_hangs_is_told_and_the_others_are_examined(tmp_path: Path) -> None:
    """The samples of all devices leave it out, and still come."""
    devices = facts_of(recorded("hang", tmp_path)).devices
    assert devices["nvidia:3"]["unanswered"].value
    assert devices["nvidia:2"]["event_samples"].value["times"] == (("idle",),) * 5
    assert devices["nvidia:3"]["event_samples"].reason == "timed-out"


def test_a_replay_finds_the_same(tmp_path: Path) -> None:
    build(NVML, "examined", tmp_path / "root")
    kept, only = tmp_path / "node.tar.gz", ("--only", "nvidia.*", "--format", "json")
    first = raxl("diagnose", *only, "--record", str(kept), RAXL_HOST_ROOT=str(tmp_path / "root"))
    again = raxl("diagnose", *only, "--from", str(kept))
    assert (first.returncode, json.loads(first.stdout)["findings"]) == (1, json.loads(again.stdout)["findings"])


def test_the_quick_level_asks_no_driver(tmp_path: Path) -> None:
    build(NVML, "examined", tmp_path / "root")
    kept = tmp_path / "node.tar.gz"
    raxl(
        "diagnose", "--level", "quick", "--format", "json", "--record", str(kept), RAXL_HOST_ROOT=str(tmp_path / "root")
    )
    (recording,) = inputs.opened([str(kept)])
    assert not [question for question in recording.answers if question.kind in ("library", "command")]
    assert any(question.subject == "/sys/module/nvidia/version" for question in recording.answers)
