"""The check of Google TPUs, and what looks like one and is none."""

from __future__ import annotations

import pytest

import recordings
from diagnosing import findings, statuses, told, variant
from raxl.checks.diagnosis import Wanted
from raxl.collect import assemble, inputs
from raxl.model.policy import Policy

FOLDER = "/sys/bus/pci/devices"


def test_all_chips_are_here() -> None:
    (found,) = told("tpu.present", variant("tpu-v6e-8"))
    assert found.status == "ok"
    assert found.message.startswith("8 TPU chips, as TPU_CHIPS_PER_HOST_BOUNDS says")
    assert "/dev/vfio/5 is of 15b3:a2dc" in found.message  # somebody else's device in a group


def test_a_chip_is_missing() -> None:
    (found,) = told("tpu.present", variant("tpu-v7x-chip-missing"))
    assert (found.status, found.subject) == ("fail", "node")
    assert found.message.startswith("4 TPU chips by TPU_CHIPS_PER_HOST_BOUNDS, 3 of them on the bus")
    expected = Wanted(policy=Policy(expected={"tpu_chips": 8}))
    assert statuses("tpu.present", variant("tpu-v6e-8"), expected) == {"node": "ok"}
    assert statuses("tpu.present", variant("tpu-v7x-chip-missing"), expected) == {"node": "fail"}


def test_nobody_says_how_many() -> None:
    alone = variant("tpu-v6e-8", ("process environment", {}))
    assert "nobody says how many" in told("tpu.present", alone)[0].message
    part = variant(
        "tpu-v6e-8", ("process environment", {"TPU_CHIPS_PER_HOST_BOUNDS": "4,4,1", "TPU_VISIBLE_CHIPS": "0"})
    )
    assert statuses("tpu.present", part) == {"node": "ok"}


def test_the_bus_that_cannot_be_read_tells_nothing() -> None:
    assert statuses("tpu.present", variant("tpu-v6e-8", f"{FOLDER} !denied", f"names {FOLDER} !denied")) == {
        "node": "unknown"
    }
    text = "TPU_ACCELERATOR_TYPE: 'v4-16'\nCHIPS_PER_HOST_BOUNDS: '2,2,1'\n"
    assert "ok" not in {s for r in inputs._from_bytes(text.encode(), "x") for s in statuses("tpu.present", r).values()}


def test_another_drivers_accel_node_is_no_tpu() -> None:
    """ray-project/ray 63322, 45302: a GPU's driver, or an NPU's, makes /dev/accel/accel0."""
    made = variant(
        "nvidia-l40s",
        ("names /dev/accel", ["accel0"]),
        ("link /sys/class/accel/accel0/device", "/sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0"),
    )
    (found,) = told("tpu.present", made)
    assert found.status == "skip"
    assert "/dev/accel/accel0 is of 10de:26b9 at 0000:01:00.0: no TPU" in found.message
    (node,) = assemble.inventory([made]).nodes
    assert {device.vendor for device in node.accelerators} == {"nvidia"}
    assert {device.ray.resource for device in node.accelerators} == {"GPU"}


def test_a_group_of_an_adapter_is_no_tpu() -> None:
    """ray-project/ray 65034: BlueField's function in group 96 of a GB300 was counted as a TPU."""
    made = variant(
        "nvidia-gb200-tray",
        ("names /dev/vfio", ["96", "vfio"]),
        ("names /sys/kernel/iommu_groups/96/devices", ["0000:03:00.2"]),
        f"{FOLDER}/0000:03:00.2/vendor=0x15b3",
        f"{FOLDER}/0000:03:00.2/device=0xc2d5",
    )
    (found,) = told("tpu.present", made)
    assert found.status == "skip"
    assert "/dev/vfio/96 is of 15b3:c2d5 at 0000:03:00.2: no TPU" in found.message
    (node,) = assemble.inventory([made]).nodes
    assert "tpu" not in {device.vendor for device in node.accelerators}


@pytest.mark.parametrize("name", recordings.NAMES)
def test_machines_that_are_well_raise_nothing(name: str) -> None:
    raised = {one.check for one in findings(variant(name)).findings if one.status in ("warn", "fail")}
    own = {one for one in raised if one.startswith("tpu.")}
    assert own <= ({"tpu.present"} if name == "tpu-v7x-chip-missing" else set())
