"""The checks of AWS Neuron devices."""

from __future__ import annotations

from dataclasses import replace

import pytest

import recordings
from diagnosing import findings, statuses, told, variant
from raxl.checks import Case, neuron
from raxl.checks.diagnosis import Wanted
from raxl.collect import assemble, facts, inputs
from raxl.host.record import Recording
from raxl.model.facts import KernelEvent, KernelLog, Reading
from raxl.model.policy import Policy

CLASS = "/sys/class/neuron_device"


def trn2(*changes: object) -> Recording:
    """Sixteen devices with all three counters."""
    counters = [
        f"{CLASS}/neuron{n}/stats/hardware/{name}=0"
        for n in range(16)
        for name in ("sram_ecc_uncorrected", "mem_ecc_uncorrected", "mem_ecc_repairable_uncorrected")
    ]
    return variant("neuron-trn2-ultraserver", *counters, *changes)  # type: ignore[arg-type]


def test_driver() -> None:
    assert told("neuron.driver", trn2())[0].message == "16 Neuron devices, driver 2.21.37.0"
    unloaded = trn2("names /sys/module=nvme ena", "/sys/module/neuron/version !absent")
    (found,) = told("neuron.driver", unloaded)
    assert (found.status, found.remedy_class) == ("fail", "config")
    assert "fail" in statuses("neuron.driver", variant("neuron-inf2-no-tool")).values()
    assert statuses("neuron.driver", trn2("names /sys/module !denied", "/sys/module/neuron/version !denied")) == {
        "node": "unknown"
    }
    assert statuses("neuron.driver", variant("nvidia-l40s")) == {"node": "skip"}


def test_count() -> None:
    assert statuses("neuron.count", trn2()) == {"node": "ok"}
    names = [f"neuron{n}" for n in range(15)]
    fewer = told("neuron.count", trn2((f"names {CLASS}", names)))
    assert fewer[0].status == "fail"
    assert "16 Neuron devices by the bus, the driver has made 15" in fewer[0].message
    expected = Wanted(policy=Policy(expected={"neuron_devices": 17}))
    assert "fail" in statuses("neuron.count", trn2(), expected).values()
    assert statuses("neuron.count", trn2(f"names {CLASS} !denied")) == {"node": "unknown"}


@pytest.mark.parametrize(
    ("counter", "remedy"),
    [
        ("sram_ecc_uncorrected", "rma"),
        ("mem_ecc_uncorrected", "rma"),
        ("mem_ecc_repairable_uncorrected", "reboot"),
    ],
)
def test_uncorrected_errors(counter: str, remedy: str) -> None:
    found = told("neuron.ecc", trn2(f"{CLASS}/neuron3/stats/hardware/{counter}=2"))
    assert (found[0].subject, found[0].status, found[0].remedy_class) == ("neuron:3", "fail", remedy)
    assert found[1].status == "ok"


def test_errors_that_are_not_known() -> None:
    assert statuses("neuron.ecc", trn2()) == {"node": "ok"}
    gone = f"{CLASS}/neuron3/stats/hardware/mem_ecc_uncorrected !absent"
    assert statuses("neuron.ecc", trn2(gone))["neuron:3"] == "unknown"
    # an older driver has two counters
    assert statuses("neuron.ecc", trn2(f"{CLASS}/neuron3/stats/hardware/mem_ecc_repairable_uncorrected !absent")) == {
        "node": "ok"
    }
    assert statuses("neuron.ecc", variant("neuron-inf2-no-tool"))["node"] == "unknown"


def test_counters_that_a_newer_driver_placed_deeper() -> None:
    moved = [
        (f"names {CLASS}/neuron3", ["info", "health"]),
        (f"names {CLASS}/neuron3/health", ["ecc"]),
        (f"names {CLASS}/neuron3/health/ecc", ["sram_ecc_uncorrected", "mem_ecc_uncorrected"]),
        *(f"{CLASS}/neuron3/stats/hardware/{name} !absent" for name in neuron._UNCORRECTED),
        f"{CLASS}/neuron3/stats/hardware/mem_ecc_repairable_uncorrected !absent",
        f"{CLASS}/neuron3/health/ecc/sram_ecc_uncorrected=0",
        f"{CLASS}/neuron3/health/ecc/mem_ecc_uncorrected=1",
    ]
    assert statuses("neuron.ecc", trn2(*moved))["neuron:3"] == "fail"


def test_a_zero_that_the_driver_could_not_read() -> None:
    recording = trn2()
    (node,) = assemble.inventory([recording]).nodes
    line = KernelEvent("other", "neuron:sysfs_metrics: sysfs failed to read ECC HBM register")
    own = replace(facts.of(recording, node), kernel_log=KernelLog(Reading(10, "/dev/kmsg"), (line,)))
    assert {one.status for one in neuron.ecc.run(Case(node, own))} == {"unknown"}


def test_what_neuron_monitor_counts() -> None:
    text = (
        '{"neuron_hw_counters": {"period": 1.0, "neuron_devices": [{"neuron_device_index": 0, "mem_ecc_corrected": 9, '
        '"mem_ecc_uncorrected": 1, "sram_ecc_uncorrected": 0, "sram_ecc_corrected": 0}], "error": ""}}'
    )
    assert statuses("neuron.ecc", inputs._from_bytes(text.encode(), "given")) == {"neuron:0": "fail"}
    well = text.replace('"mem_ecc_uncorrected": 1', '"mem_ecc_uncorrected": 0')
    assert statuses("neuron.ecc", inputs._from_bytes(well.encode(), "given")) == {"node": "ok"}


@pytest.mark.parametrize("name", recordings.NAMES)
def test_machines_that_are_well_raise_nothing(name: str) -> None:
    raised = {one.check for one in findings(variant(name)).findings if one.status in ("warn", "fail")}
    own = {one for one in raised if one.startswith("neuron.")}
    assert own <= ({"neuron.driver"} if name == "neuron-inf2-no-tool" else set())
