"""The real amdsmi in the asking process, before a library built from C: what it says, and what it costs when it fails.

`pytest tests/test_amdsmi.py --accept` writes the outputs of now; the diff is then read as an operator would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kept
import recordings
from raxl import __version__
from raxl.collect import assemble, inputs
from raxl.host import Answer, pack
from raxl.host.record import Recording
from raxl.plugins import registry
from stubs import AMDSMI, VIEWS, Ran, binding, build, live, node, raxl, replay

NAMES = AMDSMI.machines
CODES = dict.fromkeys(NAMES, 0) | dict.fromkeys(("gpu-lost", "hang", "hang-at-start"), 3)
"""3 where a device's state is not known any more; all else is told by the kernel."""
SECONDS = {"hang": 2.0, "hang-at-start": 10.0}
"""What a call that never returns costs: its deadline, once."""
AS_WITHOUT = ("not-permitted", "hang-at-start", "no-library", "old-library", "other-release")
"""Machines on which the library tells nothing."""
RAY = ("ray", "accelerators.ray.would_register")
NONSENSE = (None, True, -1, 1 << 70, "", "x\0", [], [None], ["x", 1], {}, {"ends": [1]})


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    binding()
    return {name: live(AMDSMI, name, tmp_path_factory.mktemp(name)) for name in NAMES}


def kernel(name: str, folder: Path) -> dict[str, Any]:
    """The node as it is told without the library."""
    (folder / "node.tar.gz").write_bytes(recordings.snapshot(name))
    return node(Ran(0, "", 0.0, folder / "node.tar.gz"))


def without_rays_view(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The accelerators without what Ray would make of them: Ray may not be beside, or have another amdsmi."""
    return [{**device, "ray": {**device["ray"], "would_register": None}} for device in found["accelerators"]]


def problems(found: dict[str, Any], subject: str) -> list[tuple[str, str]]:
    return [(one["reason"], one["message"]) for one in found["problems"] if one["subject"] == subject]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", NAMES)
def test_output_is_as_expected(name: str, view: str, ran: dict[str, Ran], accept: bool) -> None:
    printed, code = replay(ran[name], view)
    kept.check(f"amdsmi-{name}", view, printed, accept)
    assert code == CODES[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_library_costs_its_deadline_once(name: str, ran: dict[str, Ran]) -> None:
    least = SECONDS.get(name, 0.0)
    assert least <= ran[name].seconds < least + 8  # `benchmarks/hang.py` holds it to half a second


def test_the_library_tells_what_the_kernel_does_not(ran: dict[str, Ran]) -> None:
    devices = node(ran["mi300x-spx"])["accelerators"]
    assert [device["index"] for device in devices] == list(range(8))
    assert {tuple(device["evidence"]) for device in devices} == {("sysfs", "kfd", "amdsmi")}
    third, attributes = devices[3], [device["attributes"] for device in devices]
    assert (third["uuid"], third["serial"]) == ("GPU-1000000000000003", "692300000003")
    assert third["fabric"]["domain"] == "4000000000000001"
    assert third["memory_bytes"] == 206141652992
    assert (attributes[3]["ecc_correctable"], attributes[3]["ecc_uncorrectable"], attributes[2]["ecc_correctable"]) == (
        12,
        1,
        0,
    )
    assert (attributes[3]["bad_pages"], attributes[3]["bad_pages_pending"], attributes[2]["bad_pages"]) == (1, 1, 0)
    assert (attributes[4]["xgmi_links_up"], attributes[4]["xgmi_links_down"]) == (6, 1)
    assert (attributes[5]["throttled_by"], attributes[2]["throttled_by"]) == ("power, socket temperature", "none")
    assert (attributes[6]["processes"], attributes[2]["processes"]) == (1, 0)
    assert (attributes[0]["slot"], attributes[0]["compute_units"], attributes[7]["oam_id"]) == ("OAM", 304, 7)
    assert attributes[0]["smi_uuid"] == "10ff74a1-0000-1000-8000-000000000000"


def test_links_are_counted_by_their_ends(ran: dict[str, Ran]) -> None:
    """In CPX the kernel gives no bandwidth that would tell the count."""
    found = node(ran["mi300x-cpx"])
    pairs = [link for link in found["links"] if link["kind"] == "xgmi"]
    assert {(link["link_class"], link["count"], *link["evidence"]) for link in pairs} == {("XGMI1", 1, "amdsmi")}
    assert len(pairs) == 28
    assert [len(device["partitions"]) for device in found["accelerators"]] == [8] * 8
    assert [device["index"] for device in found["accelerators"]] == list(range(8))
    assert found["accelerators"][1]["partitions"][0]["id"] == "kfd:10"
    assert found["accelerators"][1]["partitions"][0]["memory_bytes"]


@pytest.mark.parametrize("name", ["mi210", "swapped"])
def test_the_kind_of_a_link_is_taken_by_its_name(name: str, ran: dict[str, Ran]) -> None:
    links = node(ran[name])["links"]
    xgmi = {(link["a"], link["b"]) for link in links if link["link_class"] == "XGMI1"}
    assert xgmi == {("amd:0", "amd:1"), ("amd:2", "amd:3")}
    assert len([link for link in links if link["kind"] == "pcie"]) == 4


@pytest.mark.parametrize("name", AS_WITHOUT)
def test_what_the_kernel_told_stands_without_the_library(name: str, ran: dict[str, Ran], tmp_path: Path) -> None:
    found, told = node(ran[name]), kernel("amd-mi300x-spx", tmp_path)
    hung = name == "hang-at-start"
    if hung:  # of how a device does, the kernel's word does not stand against a driver that hangs
        assert {device["state"] for device in found["accelerators"]} == {"unknown"}
    left_out = ("state", "evidence") if hung else ()
    for mine, theirs in zip(without_rays_view(found), without_rays_view(told), strict=True):
        assert all(mine[key] == theirs[key] for key in theirs if key not in left_out)
    assert found["links"] == told["links"]
    more = [one for one in found["problems"] if one not in told["problems"] and not one["subject"].startswith(RAY)]
    assert [one["subject"] for one in more] == (
        []
        if name in ("no-library", "other-release")
        else ["accelerators.attributes", *(["accelerators.state"] if hung else [])]
    )


def test_a_device_that_hangs_costs_its_own_answers(ran: dict[str, Ran]) -> None:
    devices = node(ran["hang"])["accelerators"]
    assert [device["index"] for device in devices if device["state"] != "ok"] == [3]
    assert [device["index"] for device in devices if "ecc_correctable" not in device["attributes"]] == [3]
    assert devices[3]["serial"] == "692300000003"


def test_a_device_that_tells_no_address_is_the_one_that_is_left(ran: dict[str, Ran]) -> None:
    devices = node(ran["gpu-lost"])["accelerators"]
    assert len(devices) == 8
    assert (devices[6]["pci"]["address"], devices[6]["state"]) == ("0000:c6:00.0", "unknown")
    assert problems(node(ran["gpu-lost"]), "amd:6.state") == [("failed", "AMD SMI error 12: I/O Error")]


def test_both_readings_are_told_where_they_differ(ran: dict[str, Ran]) -> None:
    found = node(ran["disagreement"])
    assert problems(found, "amd:0.index") == [("disagreement", "kfd says 1, amdsmi says 0")]
    assert problems(found, "accelerators") == [("disagreement", "8 GPUs are on the bus with amdgpu, amdsmi lists 7")]
    assert ("disagreement", "0000:05:00.0–0000:26:00.0: amdsmi says XGMI2, KFD says XGMI1") in problems(found, "links")


def test_a_redacted_snapshot_holds_no_identity_that_the_library_gave(ran: dict[str, Ran], tmp_path: Path) -> None:
    redacted = tmp_path / "redacted.tar.gz"
    raxl("snapshot", "--from", str(ran["mi300x-spx"].snapshot), "--redact", "--output", str(redacted))
    printed = raxl("topo", "--format", "json", "--from", str(redacted)).stdout
    for identity in ("1000000000000003", "692300000003", "4000000000000001", "10ff74a1-0000-1000-8000-000000000003"):
        assert identity in raxl("topo", "--format", "json", "--from", str(ran["mi300x-spx"].snapshot)).stdout
        assert identity not in printed
    assert [link["link_class"] for link in json.loads(printed)["nodes"][0]["links"]].count("XGMI1") == 28


def test_the_collector_uses_the_copy_of_the_node(ran: dict[str, Ran], tmp_path: Path) -> None:
    """On a node without packages: isolated, without site, below another root."""
    collector = pack.collector(__version__, registry.ask_tasks(), registry.LIBRARIES)
    assert "amdsmi_wrapper" not in collector
    build(AMDSMI, "mi300x-spx", tmp_path / "root")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-"],
        input=collector.encode(),
        capture_output=True,
        env={**os.environ, "RAXL_HOST_ROOT": str(tmp_path / "root")},
        timeout=60,
        check=True,
    )
    (tmp_path / "node.tar.gz").write_bytes(done.stdout)
    collected = node(Ran(0, "", 0.0, tmp_path / "node.tar.gz"))
    assert without_rays_view(collected) == without_rays_view(node(ran["mi300x-spx"]))
    assert problems(collected, "accelerators.ray.would_register") == [
        ("not-asked", "whether the Python package amdsmi is beside Ray was not asked")
    ]
    assert collected["links"] == node(ran["mi300x-spx"])["links"]


@pytest.mark.parametrize(
    "value", [None, True, -1, 1 << 70, "", "x\0", [], [None], ["x", 1], {}, {"ends": [1]}], ids=repr
)
def test_an_edited_recording_is_read_as_far_as_it_makes_sense(value: object, ran: dict[str, Ran]) -> None:
    """Every call in turn gives something else than it does."""
    (told,) = inputs.opened([str(ran["mi210"].snapshot)])
    questions = [question for question in told.answers if question.subject.startswith("amdsmi ")]
    for call in sorted({question.subject.split(" ")[1] for question in questions}):
        edited = dict(told.answers)
        edited.update((one, Answer(value)) for one in questions if one.subject.split(" ")[1] == call)
        assert len(assemble.node(Recording(edited, recorded_by="0")).accelerators) == 4


def test_another_unique_id_at_one_address_is_no_second_device(ran: dict[str, Ran]) -> None:
    found = node(ran["other-unit"])
    assert len(found["accelerators"]) == 8
    (told,) = [one for one in found["problems"] if one["subject"] == "amd:3.uuid"]
    assert told["reason"] == "disagreement"
    assert "amdsmi says GPU-deadbeef12345678" in told["message"]
