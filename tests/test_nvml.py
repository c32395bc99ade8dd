"""The real pynvml in the asking process, before a library built from C: what it says, and what it costs when it fails.

`pytest tests/test_nvml.py --accept` writes the outputs of now; the diff is then read as an operator would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kept
from raxl.collect import assemble, inputs
from raxl.host import Answer
from stubs import NVML, VIEWS, Ran, build, live, node, raxl, replay

NAMES = NVML.machines
CODES = dict.fromkeys(NAMES, 0) | dict.fromkeys(
    ("gpu-lost", "unknown-error", "hang", "hang-at-start", "crash-twice", "mismatch", "disagreements"), 3
)
"""3 where a device's memory, state or links could not be read; a serial alone is a lesser gap."""
SECONDS = {"hang": 2.0, "hang-at-start": 10.0}
"""What a call that never returns costs: its deadline, once."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    return {name: live(NVML, name, tmp_path_factory.mktemp(name)) for name in NAMES}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_output_is_as_expected(name: str, view: str, ran: dict[str, Ran], accept: bool) -> None:
    printed, code = replay(ran[name], view)
    kept.check(f"nvml-{name}", view, printed, accept)
    assert code == CODES[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_library_costs_its_deadline_once(name: str, ran: dict[str, Ran]) -> None:
    least = SECONDS.get(name, 0.0)
    assert least <= ran[name].seconds < least + 8  # `benchmarks/hang.py` holds it to half a second


def test_every_call_that_the_library_answers_is_kept_for_replay(ran: dict[str, Ran]) -> None:
    """Values with their own spelling: NVML's addresses, chassis, clique, rows, links at their other end."""
    tray, hgx = node(ran["nvl72-tray"]), node(ran["hgx-h100"])
    first = tray["accelerators"][0]
    assert first["pci"]["address"] == "0008:01:00.0"
    assert first["fabric"] == {
        "domain": "7e2c0000-0000-4000-8000-000000000f1a",
        "clique": "3",
        "state": "completed",
    }
    assert first["attributes"]["chassis_serial"] == "1820000000042"
    assert (first["attributes"]["slot"], first["attributes"]["tray"]) == (11, 4)
    assert [(one["id"], one["accelerator"]) for one in tray["numa_nodes"]][2:] == [
        (2, "nvidia:0"),
        (10, "nvidia:1"),
        (18, "nvidia:2"),
        (26, "nvidia:3"),
    ]
    assert hgx["accelerators"][7]["fabric"]["domain"] is None
    pairs = [link for link in hgx["links"] if link["kind"] == "nvlink"]
    assert {(link["link_class"], link["count"], link["evidence"][0]) for link in pairs} == {("NV18", 18, "nvml")}
    assert len(pairs) == 28
    assert hgx["accelerators"][0]["attributes"]["nvlinks_up"] == 18


def test_a_device_that_hangs_costs_its_own_answers(ran: dict[str, Ran]) -> None:
    found = node(ran["hang"])
    known = [device["index"] for device in found["accelerators"] if device["memory_bytes"] and device["state"] == "ok"]
    assert known == [0, 1, 2, 4, 5, 6, 7]
    assert found["accelerators"][3]["uuid"] == "GPU-00000000-0000-4000-8000-000000000003"


def test_a_lost_device_keeps_its_number_and_its_place(ran: dict[str, Ran]) -> None:
    found = node(ran["gpu-lost"])
    gone = found["accelerators"][6]
    assert (gone["id"], gone["pci"]["address"], gone["state"]) == ("nvidia:6", "0000:bb:00.0", "lost")
    assert len(found["accelerators"]) == 8


def test_two_sources_that_differ_are_both_told(ran: dict[str, Ran]) -> None:
    found = node(ran["disagreements"])
    told = {one["subject"]: one["message"] for one in found["problems"] if one["reason"] == "disagreement"}
    assert told == {
        "accelerators": "4 GPUs are on the bus with NVIDIA's driver, NVML lists 3",
        "links": "nvidia:0–nvidia:1: nvml says PXB, the PCI tree says NODE",
        "nvidia:0.uuid": "/proc/driver/nvidia/gpus says GPU-00000000-0000-4000-8000-0000000e0000, "
        "nvml says GPU-00000000-0000-4000-8000-0000000000aa",
        "nvidia:0.numa_node": "sysfs says none, nvml says 0",
        "nvidia:1.numa_node": "sysfs says none, nvml says 0",
        "nvidia:2.numa_node": "sysfs says none, nvml says 1",
        "nvidia:1.pci.link.width": "sysfs says 16, nvml says 8",
    }
    assert [device["numa_node"] for device in found["accelerators"]] == [0, 0, 1, None]


def test_a_redacted_snapshot_holds_no_identity_that_the_library_gave(ran: dict[str, Ran], tmp_path: Path) -> None:
    redacted = tmp_path / "redacted.tar.gz"
    raxl("snapshot", "--from", str(ran["nvl72-tray"].snapshot), "--redact", "--output", str(redacted))
    printed = raxl("topo", "--format", "json", "--from", str(redacted)).stdout
    for identity in ("GPU-00000000-0000-4000-8000-000000030000", "1654321000030", "1820000000042", "7e2c0000"):
        assert identity in raxl("topo", "--format", "json", "--from", str(ran["nvl72-tray"].snapshot)).stdout
        assert identity not in printed


def test_the_collector_carries_the_binding(ran: dict[str, Ran], tmp_path: Path) -> None:
    """On a node without packages: isolated, without site, below another root."""
    collector = subprocess.run([sys.executable, "-m", "raxl", "snapshot", "collector"], capture_output=True, check=True)
    build(NVML, "hgx-h100", tmp_path / "root")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-"],
        input=collector.stdout,
        capture_output=True,
        env={**os.environ, "RAXL_HOST_ROOT": str(tmp_path / "root")},
        timeout=60,
        check=True,
    )
    (tmp_path / "node.tar.gz").write_bytes(done.stdout)
    collected = node(Ran(0, "", 0.0, tmp_path / "node.tar.gz"))
    assert collected["accelerators"] == node(ran["hgx-h100"])["accelerators"]
    assert collected["links"] == node(ran["hgx-h100"])["links"]


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("old-driver", "blocks", "nvidia:0 and nvidia:1 may not reach each other: the chipset does not support it"),
        ("disagreements", "clear", "the driver lets nvidia:0 and nvidia:1 read and write each other"),
    ],
)
def test_a_path_tells_what_the_driver_says_of_peer_access(
    name: str, status: str, message: str, ran: dict[str, Ran]
) -> None:
    printed = raxl("topo", "--path", "0", "1", "--format", "json", "--from", str(ran[name].snapshot)).stdout
    path = json.loads(printed)["path"]
    told = [(one["status"], one["message"]) for one in path["obstacles"] if one["kind"] == "p2p"]
    assert told == [(status, message)]
    assert ("pcie-p2p" in {use["way"] for use in path["uses"]}) is False


def test_a_fabric_that_is_not_ready_joins_nobody(ran: dict[str, Ran]) -> None:
    found = node(ran["fabric-not-ready"])
    told = [(device["fabric"]["state"], device["fabric"]["clique"]) for device in found["accelerators"]]
    assert told == [("in progress", None), ("failed with nvml error 999", None), ("completed", "3"), ("completed", "4")]
    pairs = [link for link in found["links"] if link["kind"] == "nvlink"]
    assert {(link["link_class"], link["state"]) for link in pairs} == {("NV18", "down")}


def test_links_that_lead_nobody_knows_where_leave_the_pair_open(ran: dict[str, Ran]) -> None:
    found = node(ran["open-links"])
    pairs = [link for link in found["links"] if "nvidia:2" in (link["a"], link["b"]) and "nvidia" in link["b"]]
    assert {(link["link_class"], link["kind"]) for link in pairs} == {(None, None)}
    assert len(pairs) == 7


def test_mig_devices_without_uuids_go_by_their_numbers(ran: dict[str, Ran]) -> None:
    (told,) = inputs.opened([str(ran["mig"].snapshot)])
    for question, answer in told.answers.items():
        if question.subject.startswith("nvml mig_devices") and answer.known:
            told.answers[question] = Answer([{**one, "uuid": None, "index": None} for one in answer.value])
    # `nvidia-smi` numbers them too, and would tell the UUIDs.
    told.answers = {question: answer for question, answer in told.answers.items() if question.kind != "command"}
    (device, *_) = assemble.node(told).accelerators
    assert [one.id for one in device.partitions] == [f"mig:{place}" for place in range(len(device.partitions))]
    assert len(device.partitions) > 1
