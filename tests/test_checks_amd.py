"""The checks of AMD GPUs."""

from __future__ import annotations

from dataclasses import replace

import pytest

import recordings
from diagnosing import findings, statuses, told, variant
from raxl.checks import Case, amd, amd_memory
from raxl.checks.diagnosis import Wanted
from raxl.collect import assemble, facts
from raxl.host.record import Recording
from raxl.model.facts import Facts, KernelEvent, KernelLog, Reading
from raxl.model.finding import Finding
from raxl.model.policy import Policy

SYSFS = "/sys/bus/pci/devices"
GPUS = tuple(f"0000:{bus}:00.0" for bus in ("05", "26", "46", "65", "85", "a6", "c6", "e5"))
FIRST = f"{SYSFS}/{GPUS[0]}"


def mi300(*changes: object) -> Recording:
    """Eight GPUs whose driver counts no errors."""
    clean = [
        change
        for address in GPUS
        for change in (
            (f"names {SYSFS}/{address}/ras", ["gpu_vram_bad_pages", "umc_err_count", "xgmi_wafl_err_count"]),
            f"{SYSFS}/{address}/ras/umc_err_count=ue: 0\nce: 0\nde: 0\n",
            f"{SYSFS}/{address}/ras/xgmi_wafl_err_count=ue: 0\nce: 0\n",
            f"{SYSFS}/{address}/ras/gpu_vram_bad_pages=",
            (f"data {SYSFS}/{address}/config", "0210a174" + "00" * 60),
        )
    ]
    return variant("amd-mi300x-spx", *clean, *changes)  # type: ignore[arg-type]


def with_log(check: object, *events: KernelEvent, read: Reading | None = None) -> list[tuple[str, str, str]]:
    """Status, subject and message of a check where the kernel's log tells these events."""
    recording = mi300()
    (node,) = assemble.inventory([recording]).nodes
    own: Facts = facts.of(recording, node)
    log = KernelLog(read or Reading(100, "/dev/kmsg"), events, is_whole=True)
    case = Case(node, replace(own, kernel_log=log))
    return [(one.status, one.subject, one.message) for one in check.run(case)]  # type: ignore[attr-defined]


def event(kind: str, text: str = "what the line said", order: int = 0) -> KernelEvent:
    return KernelEvent(kind, text, device=GPUS[0], order=order)


def test_driver() -> None:
    (found,) = told("amd.driver", mi300())
    assert (found.status, found.subject) == ("ok", "node")
    assert found.message == "8 AMD GPUs known to KFD, amdgpu 6.12.12"
    assert set(statuses("amd.driver", variant("amd-driverless")).values()) == {"fail"}
    assert statuses("amd.driver", variant("nvidia-hgx-h100")) == {"node": "skip"}
    assert statuses("amd.driver", variant("none-pci-denied")) == {"node": "unknown"}


def test_a_gpu_that_kfd_leaves_out() -> None:
    gone = "/sys/class/kfd/kfd/topology/nodes/2"
    without = mi300(f"{gone}/properties=cpu_cores_count 0\nsimd_count 0\n")
    found = told("amd.driver", without)
    assert [(one.status, one.subject) for one in found if one.status == "fail"] == [("fail", f"amd@{GPUS[0]}")]
    denied = statuses("amd.driver", mi300(f"{gone} !denied"))
    assert set(denied.values()) == {"unknown"}


def test_a_gpu_of_another_driver_is_handed_on() -> None:
    handed = mi300((f"link {FIRST}/driver", "/sys/bus/pci/drivers/vfio-pci"))
    assert "fail" not in statuses("amd.driver", handed).values()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (f"{FIRST}/ras/umc_err_count=ue: 1\nce: 4\n", "fail"),
        (f"{FIRST}/ras/umc_err_count=ue: 0\nce: 4\n", None),
        (f"{FIRST}/ras/umc_err_count !denied", "unknown"),
        (f"{FIRST}/ras/umc_err_count=garbage", "unknown"),
        (f"{FIRST}/ras/umc_err_count=ue: 2097120\nce: 0\n", "unknown"),  # two times 1048560: it slept
        (f"{FIRST}/power/runtime_status=suspended", "skip"),
        (f"names {FIRST}/ras !absent", "skip"),  # a virtual function, or a card without RAS
        (f"names {FIRST}/ras !timeout", "unknown"),
    ],
)
def test_uncorrectable_errors(change: str, status: str | None) -> None:
    found = statuses("amd.ras-ue", mi300(change))
    assert found.get("amd:0") == status
    assert found["node"] == "ok"


def test_an_uncorrectable_error_names_its_block() -> None:
    (found,) = [one for one in told("amd.ras-ue", mi300(f"{FIRST}/ras/umc_err_count=ue: 3\n")) if one.status == "fail"]
    assert "3 in umc" in found.message
    assert found.remedy_class == "reset"


def test_errors_that_amd_smi_counts() -> None:
    """Without amdgpu's folder, the library's totals are what there is."""
    assert statuses("amd.ras-ue", variant("amd-mi355x"))["node"] in ("ok", "skip")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (f"{FIRST}/ras/umc_err_count=ue: 0\nce: 7\nde: 0\n", "ok"),
        (f"{FIRST}/ras/umc_err_count=ue: 0\nce: 0\nde: 1\n", "warn"),
        (f"{FIRST}/ras/xgmi_wafl_err_count=ue: 0\nce: 1\n", "warn"),
    ],
)
def test_corrected_and_deferred_errors(change: str, status: str) -> None:
    found = told("amd.ras-ce", mi300(change))
    assert found[0].status == status
    if status == "ok":
        assert "amd:0 7 in umc" in found[0].message


def test_bad_pages() -> None:
    pages = f"{FIRST}/ras/gpu_vram_bad_pages="
    retired, pending, failed = (f"0x0000abc{n} : 0x00001000 : {kind}\n" for n, kind in enumerate("RPF"))
    threshold = ("names " + FIRST + "/drm", ["card3", "renderD131"])
    limit = "/sys/kernel/debug/dri/3/ras/bad_page_cnt_threshold="
    assert statuses("amd.bad-pages", mi300()) == {"node": "ok"}
    assert statuses("amd.bad-pages", mi300(pages + retired)) == {"node": "ok"}
    assert statuses("amd.bad-pages", mi300(pages + retired + pending))["amd:0"] == "warn"
    assert statuses("amd.bad-pages", mi300(pages + failed))["amd:0"] == "fail"
    assert statuses("amd.bad-pages", mi300(pages + retired * 9, threshold, f"{limit}10"))["amd:0"] == "warn"
    assert statuses("amd.bad-pages", mi300(pages + retired * 10, threshold, f"{limit}10"))["amd:0"] == "fail"
    assert statuses("amd.bad-pages", mi300(f"{FIRST}/ras/gpu_vram_bad_pages !denied"))["amd:0"] == "unknown"


def test_resets() -> None:
    assert [one[0] for one in with_log(amd.reset)] == ["ok"]
    assert with_log(amd.reset, event("amd-reset-begin"), event("amd-reset-ok", order=1))[0][:2] == ("warn", "amd:0")
    assert with_log(amd.reset, event("amd-reset-begin"), event("amd-reset-failed", order=1))[0][:2] == ("fail", "amd:0")
    (timeout,) = with_log(amd.reset, event("amd-ring-timeout"))
    assert timeout[0] == "ok"
    assert "amd:0" in timeout[2]
    denied = Reading(None, "/dev/kmsg", "not-permitted", "Operation not permitted")
    assert [one[0] for one in with_log(amd.reset, read=denied)] == ["unknown"]
    earlier = replace(event("amd-reset-failed"), boot=1)
    assert [one[0] for one in with_log(amd.reset, earlier)] == ["ok"]


def test_a_dump_of_a_gpu() -> None:
    dump = ("names /sys/class/devcoredump", ["devcd1", "disabled"])
    own = ("link /sys/class/devcoredump/devcd1/failing_device", f"/sys/devices/pci0000:01/0000:01:01.1/{GPUS[0]}")
    other = ("link /sys/class/devcoredump/devcd1/failing_device", "/sys/devices/pci0000:00/0000:00:14.3")
    assert statuses("amd.reset", mi300(dump, own))["amd:0"] == "warn"
    assert "warn" not in statuses("amd.reset", mi300(dump, other)).values()


def test_lost() -> None:
    assert statuses("amd.lost", mi300()) == {"node": "ok"}
    dead = mi300((f"data {FIRST}/config", "ff" * 64))
    assert statuses("amd.lost", dead)["amd:0"] == "fail"
    assert statuses("amd.lost", mi300(f"data {FIRST}/config !denied"))["amd:0"] == "unknown"
    (found,) = [one for one in with_log(amd.lost, event("amd-smu-dead")) if one[0] == "fail"]
    assert found[1] == "amd:0"
    errors = with_log(amd_memory.uncorrectable, event("amd-ras-ue", "3 uncorrectable hardware errors detected in umc"))
    assert ("fail", "amd:0") in [one[:2] for one in errors]


def fewer_links(*lost: tuple[int, int]) -> list[Finding]:
    """Without the XGMI link between two KFD nodes."""
    changes = []
    for one, other in lost:
        for a, b in ((one, other), (other, one)):
            links = f"/sys/class/kfd/kfd/topology/nodes/{a}/io_links"
            place = [n for n in range(2, 10) if n != a].index(b) + 1
            changes.append(f"{links}/{place}/properties=type 2\nnode_from {a}\nnode_to {b}\n")
    return told("amd.xgmi", mi300(*changes))


def test_xgmi() -> None:
    assert [one.status for one in fewer_links()] == ["ok"]
    assert {one.subject for one in fewer_links((2, 3)) if one.status == "fail"} == {"amd:0", "amd:1"}
    assert statuses("amd.xgmi", variant("amd-mi210")) == {"node": "ok"}  # bridges join two and two
    assert statuses("amd.xgmi", variant("nvidia-l40s")) == {"node": "skip"}
    assert statuses("amd.xgmi", variant("amd-driverless"))["node"] in ("unknown", "skip")


def test_partitions() -> None:
    assert statuses("amd.partition", mi300()) == {"node": "ok"}
    mixed = told("amd.partition", mi300(f"{FIRST}/current_compute_partition=CPX"))
    assert mixed[0].status == "fail"
    assert "amd:0 is CPX/NPS1" in mixed[0].message
    wanted = Wanted(policy=Policy(expected={"compute_partition": "CPX"}))
    assert statuses("amd.partition", mi300(), wanted) == {"node": "warn"}
    assert statuses("amd.partition", mi300(f"{FIRST}/current_compute_partition !denied"))["amd:0"] == "unknown"


OWN = {"amd.driver", "amd.lost", "amd.reset", "amd.xgmi", "amd.partition", "amd.ras-ue", "amd.ras-ce", "amd.bad-pages"}


@pytest.mark.parametrize("name", recordings.NAMES)
def test_machines_that_are_well_raise_nothing(name: str) -> None:
    raised = {one.check for one in findings(variant(name)).findings if one.status in ("warn", "fail")}
    faults = {"amd-driverless": {"amd.driver"}, "amd-mi300x-sick": {"amd.reset", "amd.ras-ue", "amd.bad-pages"}}
    assert raised & OWN == faults.get(name, set())
