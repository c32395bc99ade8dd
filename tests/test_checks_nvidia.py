"""The checks of NVIDIA's GPUs: each well, at fault, unreadable, not applicable, and its traps."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nvidia_smi_texts
import nvml_answers
import recordings
from diagnosing import findings, statuses, told, variant
from nvml_answers import DEVICE, ECC, MIB, healthy, of, refused, samples
from raxl.checks import Case, Check, diagnosis
from raxl.checks.diagnosis import Wanted
from raxl.checks.nvidia_driver import lost as lost_check
from raxl.checks.nvidia_memory import ecc_corrected, remap_pending
from raxl.checks.nvidia_state import mig
from raxl.collect import assemble, facts, inputs
from raxl.host.record import Recording
from raxl.model.cluster import RayNode
from raxl.model.facts import KernelEvent, KernelLog, Reading
from raxl.model.policy import Policy

HGX = "nvidia-hgx-h100"
CHECKS = (
    "nvidia.driver",
    "nvidia.library-mismatch",
    "nvidia.hang",
    "nvidia.count",
    "nvidia.lost",
    "nvidia.ecc-mode",
    "nvidia.ecc-uncorrected",
    "nvidia.ecc-corrected",
    "nvidia.remap-pending",
    "nvidia.remap-failed",
    "nvidia.sram-threshold",
    "nvidia.remap-exhaust",
    "nvidia.inforom",
    "nvidia.recovery-action",
    "nvidia.persistence",
    "nvidia.compute-mode",
    "nvidia.mig",
    "nvidia.memory-held",
    "nvidia.throttle",
    "nvidia.temperature",
    "nvidia.power",
    "nvidia.clocks",
    "nvidia.p2p",
    "nvlink.down",
    "nvlink.errors",
    "fabric.state",
    "fabric.imex",
    "fabric.imex-channel",
    "node.intra-consistency",
)
HERE = "/proc/2/comm=kthreadd"
NO_TOOL = ("command nvidia-smi -q -x !unasked", "command nvidia-smi topo -m !unasked")
MODULE = "/sys/module/nvidia/version=570.133.20"


def machine(*changes: Any, **other: Any) -> Recording:
    """The HGX machine with all that NVML says of it."""
    return variant(HGX, HERE, MODULE, *NO_TOOL, *healthy(**other), *changes)


def given(tmp_path: Path, text: str, name: str = "given.txt") -> Recording:
    path = tmp_path / name
    path.write_text(text)
    (recording,) = inputs.opened([str(path)])
    return recording


@pytest.mark.parametrize("check", CHECKS)
def test_a_healthy_machine_raises_nothing(check: str) -> None:
    found = [one for one in told(check, machine()) if "the kernel's log" not in one.message]
    assert {one.status for one in found} <= {"ok", "skip"}, found


@pytest.mark.parametrize("check", CHECKS)
def test_a_machine_without_nvidia_is_passed_over(check: str) -> None:
    assert statuses(check, variant("none-cpu-server")) == {"node": "skip"}


@pytest.mark.parametrize("check", [one for one in CHECKS if one not in ("nvidia.driver", "nvidia.lost")])
def test_what_nobody_could_look_for_is_not_well(check: str) -> None:
    found = told(check, variant("none-pci-denied"))
    assert all(one.status == "unknown" or one.is_ruled_out for one in found), found


@pytest.mark.parametrize(
    ("check", "change", "status", "remedy_class"),
    [
        ("nvidia.ecc-mode", of(3, "ecc_mode", [1, 0]), "warn", "reset"),
        ("nvidia.ecc-mode", of(3, "ecc_mode", [0, 0]), "fail", "config"),
        (
            "nvidia.ecc-uncorrected",
            of(3, "ecc_errors", {**ECC, "uncorrected_volatile": 2, "uncorrected_volatile_dram": 2}),
            "fail",
            "reset",
        ),
        ("nvidia.sram-threshold", of(3, "sram_threshold_exceeded", 1), "fail", "rma"),
        ("nvidia.remap-pending", of(3, "remapped_rows", [0, 1, 1, 0]), "warn", "reset"),
        ("nvidia.remap-failed", of(3, "remapped_rows", [0, 1, 0, 1]), "fail", "rma"),
        ("nvidia.remap-exhaust", of(3, "remapped_rows", [0, 512, 0, 0]), "fail", "rma"),
        ("nvidia.remap-exhaust", of(3, "remap_histogram", [2559, 0, 0, 0, 1]), "warn", "rma"),
        ("nvidia.recovery-action", of(3, "recovery_action", 1), "fail", "reset"),
        ("nvidia.recovery-action", of(3, "recovery_action", 2), "fail", "reboot"),
        ("nvidia.recovery-action", of(3, "recovery_action", 3), "warn", "drain"),
        ("nvidia.recovery-action", of(3, "recovery_action", 99), "fail", "vendor"),
        ("nvidia.persistence", of(3, "persistence_mode", 0), "warn", "config"),
        ("nvidia.compute-mode", of(3, "compute_mode", 2), "fail", "config"),
        ("nvidia.mig", of(3, "mig_mode", [1, 1]), "fail", "config"),
        ("nvidia.mig", of(3, "mig_mode", [0, 1]), "warn", "reset"),
        ("nvidia.temperature", of(3, "temperature_margin", 5), "warn", "vendor"),
        ("nvidia.temperature", of(3, "temperature_margin", 0), "fail", "vendor"),
        ("nvidia.power", of(3, "power_limit", 500000), "warn", "config"),
        (
            "nvidia.clocks",
            of(3, "clocks", {"now": 345, "applications": 1200, "applications_default": 1980}),
            "warn",
            "config",
        ),
        (
            "nvidia.memory-held",
            of(3, "memory", {"total": 81559 * MIB, "used": 500 * MIB, "reserved": 470 * MIB}),
            "warn",
            "app",
        ),
    ],
)
def test_one_device_at_fault(check: str, change: Any, status: str, remedy_class: str) -> None:
    """The one device is named with its address, and the others are well."""
    (fault, *rest) = told(check, machine(change))
    assert (fault.status, fault.subject, fault.remedy_class) == (status, "nvidia:3", remedy_class)
    assert "0000:5d:00.0" in fault.message
    assert fault.remedy
    assert {one.status for one in rest} <= {"ok"}


@pytest.mark.parametrize(
    ("check", "call"),
    [
        ("nvidia.ecc-mode", "ecc_mode"),
        ("nvidia.ecc-uncorrected", "ecc_errors"),
        ("nvidia.ecc-corrected", "ecc_errors"),
        ("nvidia.sram-threshold", "sram_threshold_exceeded"),
        ("nvidia.remap-pending", "remapped_rows"),
        ("nvidia.remap-failed", "remapped_rows"),
        ("nvidia.remap-exhaust", "remapped_rows"),
        ("nvidia.recovery-action", "recovery_action"),
        ("nvidia.persistence", "persistence_mode"),
        ("nvidia.compute-mode", "compute_mode"),
        ("nvidia.mig", "mig_mode"),
        ("nvidia.memory-held", "memory"),
        ("nvidia.clocks", "clocks"),
        ("nvidia.inforom", "inforom"),
        ("nvlink.down", "nvlinks"),
        ("nvlink.errors", "nvlink_errors"),
        ("fabric.state", "fabric"),
    ],
)
def test_what_one_device_does_not_tell(check: str, call: str) -> None:
    """Denied is unknown, and says of which device; not supported is passed over."""
    denied = [one for one in told(check, machine(f"{refused(3, call)} !denied")) if one.subject != "kernel log"]
    assert {one.subject: one.status for one in denied} == {"nvidia:3": "unknown", "node": "ok"}
    assert "Permission denied" in denied[0].message
    unsupported = statuses(check, machine(f"{refused(3, call)} !unsupported"))
    assert {**unsupported, "kernel log": ""} == {"nvidia:3": "skip", "node": "ok", "kernel log": ""}


def test_all_devices_alike_take_one_line() -> None:
    changes = [f"{refused(index, 'ecc_mode')} !denied" for index in range(8)]
    (found,) = told("nvidia.ecc-mode", machine(*changes))
    assert (found.status, found.subject) == ("unknown", "node")
    assert "all 8 GPUs" in found.message


@pytest.mark.parametrize(
    ("times", "status"),
    [
        ([1, 1, 1, 1, 1], "ok"),
        ([4, 4, 4, 4, 4], "ok"),
        ([2, 16, 0, 0, 256], "ok"),
        ([0x40, 0x40, 1, 1, 1], "ok"),
        ([0x48, 0x48, 0x48, 1, 1], "fail"),
        ([0x80, 0x80, 0x80, 0x80, 1], "fail"),
        ([0x8, 0x8, 0x8, 0x8, 0x8], "fail"),
        ([0x20, 0x20, 0x20, 4, 4], "warn"),
    ],
)
def test_throttle(times: list[int], status: str) -> None:
    """Power caps at load, application clocks and idle are no faults; heat twice in five is chance."""
    found = told("nvidia.throttle", machine(samples([[1] * 5] * 3 + [times] + [[1] * 5] * 4)))
    assert found[0].status == status
    assert found[0].subject == ("node" if status == "ok" else "nvidia:3")


def test_throttle_by_the_drivers_own_clock() -> None:
    """A fifth of the second in a power brake, which no reading happened to hit."""
    grown = machine(samples([[1] * 5] * 8, {"hardware power brake": 200_000_000}))
    assert set(statuses("nvidia.throttle", grown).values()) == {"fail"}


def test_throttle_by_one_reading_alone() -> None:
    """Where the samples could not be had, what was read once warns."""
    question = "library nvml event_samples 0 1 2 3 4 5 6 7"
    once = machine(f"{question} !denied", of(3, "clocks_event_reasons", 0x40))
    assert statuses("nvidia.throttle", once) == {"nvidia:3": "warn", "node": "unknown"}
    neither = [f"{refused(index, 'clocks_event_reasons')} !denied" for index in range(8)]
    assert statuses("nvidia.throttle", machine(f"{question} !denied", *neither)) == {"node": "unknown"}


def test_a_slowdown_temperature_does_where_no_margin_is_told() -> None:
    unread = [f"{refused(index, 'temperature_margin')} !unsupported" for index in range(8)]
    limits = [of(index, "slowdown_temperature", 87) for index in range(8)]
    assert statuses("nvidia.temperature", machine(*unread, *limits)) == {"node": "ok"}
    hot = machine(*unread, *limits, of(2, "temperature", 86))
    assert statuses("nvidia.temperature", hot)["nvidia:2"] == "warn"


def test_a_sensor_that_fails_beside_peers_that_read() -> None:
    broken = machine()
    question = next(one for one in broken.answers if one.subject == "nvml power_draw 3")
    broken.answers[question] = broken.answers[question]._replace(value=None, reason="failed", message="NVML error 999")
    assert statuses("nvidia.power", broken) == {"nvidia:3": "warn", "node": "ok"}


def test_ecc_of_consumer_workstation_and_guest() -> None:
    """No ECC: skip. ECC off on a workstation card, and on a vGPU: well."""
    off = {"ecc_mode": [0, 0]}
    assert statuses("nvidia.ecc-mode", machine(**off)) == {f"nvidia:{index}": "warn" for index in range(8)}
    assert statuses("nvidia.ecc-mode", machine(name="NVIDIA RTX A6000", **off)) == {"node": "ok"}
    assert statuses("nvidia.ecc-mode", machine(virtualization=2, **off)) == {"node": "ok"}
    none = [f"{refused(index, 'ecc_mode')} !unsupported" for index in range(8)]
    assert statuses("nvidia.ecc-mode", machine(*none)) == {"node": "skip"}


def test_errors_of_the_past_are_no_fault() -> None:
    """Aggregate counts never go back, and corrected errors were repaired: told, without a verdict."""
    past = machine(of(3, "ecc_errors", {**ECC, "uncorrected_aggregate": 7, "corrected_volatile": 12}))
    (found,) = told("nvidia.ecc-uncorrected", past)
    assert (found.status, "7 in all" in found.message) == ("ok", True)
    (found,) = [one for one in told("nvidia.ecc-corrected", past) if "the kernel's log" not in one.message]
    assert (found.status, "12 corrected" in found.message) == ("ok", True)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ([], "ok"),
        ([of(3, "holders", [4711])], "ok"),
        (["/proc/2/comm=bash"], "unknown"),
        ([f"{refused(3, 'holders')} !denied"], "unknown"),
        ([of(3, "display_active", 1)], "ok"),
    ],
)
def test_memory_that_somebody_may_hold(change: list[Any], status: str) -> None:
    """Used memory is a fault only where all processes can be seen and none has it."""
    used = of(3, "memory", {"total": 81559 * MIB, "used": 4096 * MIB, "reserved": 470 * MIB})
    found = statuses("nvidia.memory-held", machine(*([used] if change else []), *change))
    assert found.get("nvidia:3", found["node"]) == status


def test_memory_of_a_gpu_that_the_kernel_uses_too() -> None:
    """GH200: its memory is a NUMA node, in which the kernel keeps what it likes."""
    used = {"total": 97871 * MIB, "used": 9000 * MIB, "reserved": 0}
    recording = variant(
        "nvidia-gh200", HERE, *healthy(("01",), name="NVIDIA GH200 480GB", memory=used, memory_numa_node=1)
    )
    recording.answers.pop(next(one for one in recording.answers if one.subject == "nvml address 0"))
    inventory = assemble.inventory([recording])
    assert [one.accelerator for one in inventory.nodes[0].numa_nodes if one.accelerator]
    assert statuses("nvidia.memory-held", recording).get("nvidia:0") == "skip"


def test_persistence_is_for_servers() -> None:
    """A workstation, a display and a vGPU need none."""
    off = {"persistence_mode": 0}
    assert statuses("nvidia.persistence", machine(**off)) == {"node": "warn"}
    for other in ({"name": "NVIDIA GeForce RTX 4090"}, {"display_active": 1}, {"virtualization": 2}):
        assert statuses("nvidia.persistence", machine(**off, **other)) == {"node": "ok"}


# Driver, library, hang, count


def test_driver_not_loaded_or_another() -> None:
    absent = variant("nvidia-driverless")
    assert statuses("nvidia.driver", absent) == {"node": "fail"}
    changes = []
    for question, answer in absent.answers.items():
        if question.kind == "text" and question.subject.endswith("/vendor") and answer.value.strip() == "0x10de":
            changes.append(question.subject.removesuffix("vendor") + "driver")
    bound = variant("nvidia-driverless", *((f"link {one}", "/sys/bus/pci/drivers/nouveau") for one in changes))
    (found,) = told("nvidia.driver", bound)
    assert (found.status, "nouveau" in found.message) == ("fail", True)


def test_driver_in_words(tmp_path: Path) -> None:
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure …\n"
    assert statuses("nvidia.driver", given(tmp_path, words)) == {"node": "fail"}


def test_driver_of_a_guests_device_and_unread() -> None:
    assert {one.status for one in told("nvidia.driver", variant("nvidia-vfio"))} == {"skip", "ok"}
    assert {one.status for one in told("nvidia.lost", variant("nvidia-vfio"))} == {"skip", "ok"}
    denied = variant("nvidia-driverless", "/sys/module/nvidia/version !denied")
    assert statuses("nvidia.driver", denied) == {"node": "unknown"}


def test_library_mismatch(tmp_path: Path) -> None:
    assert statuses("nvidia.library-mismatch", variant("nvidia-driver-mismatch")) == {"node": "fail"}
    words = "Failed to initialize NVML: Driver/library version mismatch\n"
    assert statuses("nvidia.library-mismatch", given(tmp_path, words)) == {"node": "fail"}
    assert statuses("nvidia.library-mismatch", variant("nvidia-driver-hangs", MODULE)) == {"node": "unknown"}


def test_library_of_another_version_than_the_module() -> None:
    """Where NVML did not begin, the two names tell; where it works, other copies do not matter."""
    other = ("link /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.575.57.08")
    assert statuses("nvidia.library-mismatch", variant("nvidia-driver-hangs", MODULE, other)) == {"node": "fail"}
    assert statuses("nvidia.library-mismatch", machine(other)) == {"node": "ok"}


def test_an_upgrade_that_waits_for_a_reboot() -> None:
    built = "names /var/lib/dkms/nvidia=575.57.08 kernel-6.8.0-60-generic-x86_64"
    (found,) = told("nvidia.library-mismatch", machine(built))
    assert (found.status, found.remedy_class) == ("warn", "reboot")
    assert statuses("nvidia.library-mismatch", machine(built.replace("575.57.08", "570.133.20"))) == {"node": "ok"}


@pytest.mark.parametrize(("seconds", "status"), [(0.4, "ok"), (3.0, "ok"), (18.5, "warn")])
def test_response_time(seconds: float, status: str) -> None:
    """Without persistence a first call takes 20 s on NVSwitch boards, and Ray does not start."""
    (found,) = told("nvidia.hang", machine(("library nvml start_seconds", seconds)))
    assert found.status == status
    assert status == "ok" or ("18.5 s (limit 3 s)" in found.message and "persistence" in (found.remedy or ""))


def test_a_call_that_does_not_come_back() -> None:
    hung = machine(f"{refused(3, 'serial')} !timeout")
    assert statuses("nvidia.hang", hung) == {"nvidia:3": "fail"}
    assert statuses("nvidia.hang", variant("nvidia-driver-hangs")) == {"node": "fail"}
    assert statuses("nvidia.hang", machine("library nvml start !timeout")) == {"node": "fail"}


def test_a_call_whose_turn_never_came_is_no_hang() -> None:
    late = machine()
    for question in [one for one in late.answers if one.subject.startswith("nvml")]:
        over = "the node's 20 s were over before this was asked"
        late.answers[question] = late.answers[question]._replace(value=None, reason="timed-out", message=over)
    assert statuses("nvidia.hang", late) == {"node": "unknown"}


def test_count_against_the_bus() -> None:
    """A GPU that the bus has and the library does not list; from inside a container that is how it was given."""
    (found,) = told("nvidia.count", variant("nvidia-hgx-h100-gpu-missing"))
    assert (found.status, "0000:bb:00.0" in found.message) == ("fail", True)
    inside = variant("nvidia-hgx-h100-gpu-missing", "/run/systemd/container=docker")
    assert statuses("nvidia.count", inside) == {"node": "ok"}


XML = (
    '<?xml version="1.0" ?>\n<nvidia_smi_log>\n<driver_version>570.133.20</driver_version>\n'
    "<attached_gpus>8</attached_gpus>\n"
    + "".join(
        f'<gpu id="00000000:{place:02x}:00.0"><product_name>NVIDIA H100</product_name><uuid>GPU-{place:08x}</uuid>'
        "<fb_memory_usage><total>81559 MiB</total></fb_memory_usage></gpu>\n"
        for place in range(1, 9)
    )
    + "</nvidia_smi_log>\n"
)
LOG = nvidia_smi_texts.HEAD.format(attached=8) + "\n".join(
    nvidia_smi_texts.query_block(0).replace(nvidia_smi_texts.ADDRESSES[0], f"00000000:{place:02X}:00.0")
    for place in range(1, 9)
)


@pytest.mark.parametrize("whole", [XML, LOG], ids=["-q -x", "-q"])
@pytest.mark.parametrize("inside", [True, False])
def test_a_log_that_was_cut_counts_nothing(tmp_path: Path, whole: str, inside: bool) -> None:
    """Eight are stated: in the fifth, or before it, the log ends."""
    assert statuses("nvidia.count", given(tmp_path, whole)) == {"node": "ok"}
    fifth = re.search(r'\n(<gpu id="00000000:05|GPU 00000000:05).{40}', whole, re.DOTALL)
    assert fifth is not None
    recording = given(tmp_path, whole[: fifth.end() if inside else fifth.start() + 1])
    told_of = [one for one in assemble.inventory([recording]).nodes[0].problems if one.subject == "accelerators"]
    assert any(one.reason == "disagreement" for one in told_of)
    (found,) = told("nvidia.count", recording)
    assert found.status == "unknown"
    assert f"states 8 attached GPUs and lists {5 if inside else 4}" in found.message
    wanted = Wanted(policy=Policy(expected={"accelerators": 5.0 if inside else 4.0}))
    assert statuses("accelerator.count", recording, wanted) == {"node": "unknown"}
    assert statuses("accelerator.count", recording) == {"node": "unknown"}


def test_xml_whose_end_alone_is_missing_is_told(tmp_path: Path) -> None:
    cut = given(tmp_path, XML.replace("</nvidia_smi_log>\n", ""))
    problems = assemble.inventory([cut]).nodes[0].problems
    assert any(one.subject == "accelerators" and "incomplete" in one.message for one in problems)
    assert statuses("nvidia.count", cut) == {"node": "unknown"}


# Lost


def with_log(recording: Recording, *events: KernelEvent, check: Check = lost_check) -> dict[str, str]:
    """What a check says where the kernel's log has these events."""
    (node,) = assemble.inventory([recording]).nodes
    own = replace(facts.of(recording, node), kernel_log=KernelLog(Reading(4, "dmesg"), events))
    found = list(check.run(Case(node, own)))
    return {one.subject: one.status for one in found}


FALLEN = KernelEvent(
    "fallen-off-bus",
    "NVRM: The NVIDIA GPU 0000:b3:00.0 (PCI ID: 10de:26b5) installed in this system has fallen off the bus",
    device="0000:b3:00.0",
)
XID_79 = KernelEvent("xid", "NVRM: Xid (PCI:0000:b3:00): 79, GPU has fallen off the bus.", "79", "0000:b3:00")


def test_fallen_off_the_bus_with_and_without_an_xid() -> None:
    """NVSentinel #155: three lines at boot have no Xid; with an Xid 79 beside them there is still one finding."""
    assert with_log(variant("none-cpu-server"), FALLEN) == {"0000:b3:00.0": "fail"}
    assert with_log(variant("none-cpu-server"), XID_79) == {"0000:b3:00.0": "fail"}
    assert with_log(variant("none-cpu-server"), FALLEN, XID_79) == {"0000:b3:00.0": "fail"}


def test_a_loss_of_another_boot_or_that_was_mended() -> None:
    assert with_log(variant("none-cpu-server"), replace(XID_79, boot=1)) == {"node": "skip"}
    assert with_log(machine(), replace(XID_79, device="0000:5d:00")) == {"nvidia:3": "warn"}


def test_lost_by_the_library_and_by_the_log_is_one_finding() -> None:
    gone = machine()
    for question in [one for one in gone.answers if one.subject.startswith("nvml") and one.subject.endswith(" 3")]:
        words = "NVML error 15: GPU is lost"
        if question.subject.count(" ") == 2:
            gone.answers[question] = gone.answers[question]._replace(value=None, reason="failed", message=words)
    assert statuses("nvidia.lost", gone) == {"nvidia:3": "fail"}
    assert with_log(gone, replace(XID_79, device="0000:5d:00")) == {"nvidia:3": "fail"}
    (first, *_) = told("nvidia.ecc-mode", gone)
    assert (first.status, first.subject, "lost" in first.message) == ("skip", "nvidia:3", True)


def test_xids_that_tell_more_of_a_memory_error() -> None:
    """92: the rate of corrected errors is high. 95: an error was not contained, and what waits for a reset cannot."""
    high, uncontained = (KernelEvent("xid", f"NVRM: Xid {code}", code, "0000:5d:00") for code in ("92", "95"))
    assert with_log(machine(), check=ecc_corrected) == {"node": "ok"}
    assert with_log(machine(), high, check=ecc_corrected) == {"nvidia:3": "warn", "node": "ok"}
    remapped = machine(of(3, "remapped_rows", [0, 1, 1, 0]))
    assert with_log(remapped, high, check=ecc_corrected)["nvidia:3"] == "fail"
    assert with_log(remapped, check=remap_pending)["nvidia:3"] == "warn"
    assert with_log(remapped, uncontained, check=remap_pending)["nvidia:3"] == "fail"
    assert with_log(remapped, replace(uncontained, boot=1), check=remap_pending)["nvidia:3"] == "warn"


def test_a_device_that_needs_a_reset() -> None:
    gone = machine()
    question = next(one for one in gone.answers if one.subject == "nvml remapped_rows 3")
    words = "NVML error 16: GPU requires restart"
    gone.answers[question] = gone.answers[question]._replace(value=None, reason="failed", message=words)
    (found,) = told("nvidia.lost", gone)
    assert (found.status, found.remedy_class) == ("fail", "reset")


def test_lost_unread() -> None:
    """What the basics were denied of is not known to answer."""
    denied = machine(f"{refused(3, 'memory_bytes')} !denied", f"{refused(3, 'memory')} !denied")
    found = told("nvidia.lost", denied)
    assert [(one.status, "nvidia:3" in one.message) for one in found] == [("unknown", True), ("ok", False)]


# MIG (ray #12413) and others' words


MIG_LIST = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-00000000-0000-0000-0000-000000000001)
  MIG 1g.5gb      Device  0: (UUID: MIG-00000000-0000-0000-0000-00000000000a)
  MIG 1g.5gb      Device  1: (UUID: MIG-00000000-0000-0000-0000-00000000000b)
"""


def test_mig_devices_are_told_with_what_ray_would_offer(tmp_path: Path) -> None:
    """Ray counts cards. Whether the resources were set by hand is not known without Ray: no alarm."""
    (found,) = told("nvidia.mig", given(tmp_path, MIG_LIST))
    assert (found.status, "2 MIG devices" in found.message, "1 GPU" in found.message) == ("ok", True, True)


def test_mig_devices_that_ray_does_not_offer(tmp_path: Path) -> None:
    recording = given(tmp_path, MIG_LIST)
    (node,) = assemble.inventory([recording]).nodes
    own = facts.of(recording, node)
    for offered, status in ((1.0, "warn"), (2.0, "ok")):
        view = RayNode("f" * 56, "alive", resources={"GPU": offered})
        found = list(mig.run(Case(node, own, ray=view)))
        assert found[0].status == status


def test_a_corrupt_inforom_in_words(tmp_path: Path) -> None:
    line = "WARNING: infoROM is corrupted at gpu 0008:00:00.0\n"
    (found,) = told("nvidia.inforom", given(tmp_path, line))
    assert (found.status, "0008:00:00.0" in found.message) == ("fail", True)
    broken = machine()
    question = next(one for one in broken.answers if one.subject == "nvml inforom 3")
    broken.answers[question] = broken.answers[question]._replace(
        value=None, reason="failed", message="NVML error 14: Corrupted infoROM"
    )
    assert statuses("nvidia.inforom", broken)["nvidia:3"] == "fail"


def test_peers() -> None:
    assert statuses("nvidia.p2p", machine(nvml_answers.peers(0, 1, 4))) == {"nvidia:0-nvidia:1": "warn"}
    none = [nvml_answers.peers(a, b, 2) for a in range(8) for b in range(a + 1, 8)]
    assert statuses("nvidia.p2p", machine(*none)) == {"node": "ok"}


@pytest.mark.parametrize(
    ("call", "value", "field"),
    [
        ("vbios", "96.00.A5.00.02", "VBIOS"),
        ("memory_bytes", 40000 * MIB, "memory"),
        ("power_limit", 650000, "power limit"),
        ("ecc_mode", [0, 0], "ECC mode"),
        ("mig_mode", [1, 1], "MIG mode"),
        ("nvlinks", DEVICE["nvlinks"][:12], "number of NVLinks"),
    ],
)
def test_the_odd_one_out(call: str, value: Any, field: str) -> None:
    found = told("node.intra-consistency", machine(of(3, call, value)))
    assert [(one.subject, one.status) for one in found] == [("nvidia:3", "warn")]
    assert field in found[0].message


def test_no_majority_blames_nobody() -> None:
    half = [of(index, "vbios", "96.00.A5.00.02") for index in range(4)]
    (found,) = told("node.intra-consistency", machine(*half))
    assert (found.status, found.subject) == ("warn", "node")


def test_the_whole_level_raises_nothing_on_a_healthy_machine() -> None:
    bad = [one for one in findings(machine()).findings if one.status in ("warn", "fail")]
    assert not bad
    assert set(CHECKS) <= {one.id for one in diagnosis.registry.checks()}


FAULTS: list[tuple[str, Any, tuple[str, ...]]] = [
    ("nvidia.ecc-mode", of(3, "ecc_mode", [1, 0]), ("ecc_mode",)),
    ("nvidia.ecc-uncorrected", of(3, "ecc_errors", {**ECC, "uncorrected_volatile": 2}), ("ecc_errors",)),
    ("nvidia.remap-exhaust", of(3, "remap_histogram", [1, 0, 0, 0, 1]), ("remap_histogram", "remapped_rows")),
    ("nvidia.recovery-action", of(3, "recovery_action", 1), ("recovery_action",)),
    ("nvidia.persistence", of(3, "persistence_mode", 0), ("persistence_mode", "name", "virtualization")),
    ("nvidia.mig", of(3, "mig_mode", [1, 1]), ("mig_mode", "mig_devices")),
    ("nvidia.power", of(3, "power_limit", 500000), ("power_limit", "power_default", "power_draw")),
    ("nvidia.hang", ("library nvml start_seconds", 9.5), ("start_seconds", "start")),
    ("nvidia.p2p", nvml_answers.peers(0, 1, 4), ("p2p",)),
    ("node.intra-consistency", of(3, "vbios", "96.00.A5.00.02"), ("vbios", "name")),
]


@pytest.mark.parametrize(("check", "fault", "calls"), FAULTS, ids=[one[0] for one in FAULTS])
def test_what_is_missing_makes_nothing_well(check: str, fault: Any, calls: tuple[str, ...]) -> None:
    """Without one of the readings that a fault was found by, the check warns, fails, or does not know."""
    for call in calls:
        recording = machine(fault)
        pair = {"p2p": "0 1", "start": "", "start_seconds": ""}.get(call, "3")
        question = next(one for one in recording.answers if one.subject == f"nvml {call} {pair}".strip())
        refusal = recording.answers[question]._replace(value=None, reason="not-asked", message="not recorded")
        recording.answers[question] = refusal
        assert {"warn", "fail", "unknown"} & {one.status for one in told(check, recording)}, call


def test_counts_that_an_output_does_not_hold(tmp_path: Path) -> None:
    """The table tells uncorrected errors alone: nothing is said of corrected ones."""
    header = "index, name, ecc.errors.uncorrected.volatile.total\n0, NVIDIA A100-SXM4-80GB, 0\n"
    recording = given(tmp_path, header, "counts.csv")
    assert set(statuses("nvidia.ecc-uncorrected", recording).values()) == {"ok"}
    assert "ok" not in {one.status for one in told("nvidia.ecc-corrected", recording)}


ABOUT_FAULTS = {
    "nvidia-driver-hangs": {"nvidia.hang"},
    "nvidia-driver-mismatch": {"nvidia.library-mismatch"},
    "nvidia-driverless": {"nvidia.driver"},
    "nvidia-hgx-h100-gpu-lost": {"nvidia.lost"},
    "nvidia-hgx-h100-sick": {
        "nvidia.ecc-uncorrected",
        "nvidia.lost",
        "nvidia.recovery-action",
        "nvidia.remap-pending",
        "nvlink.down",
    },
}


@pytest.mark.parametrize("name", recordings.NAMES)
def test_a_recording_raises_what_it_is_about(name: str) -> None:
    """GH200 with nodes without processors, cards without a bridge, MIG, a container: nothing."""
    found = findings(recordings.recording(name)).findings
    own = {one.check for one in found if one.status in ("warn", "fail") and one.check in (*CHECKS, "fabric.manager")}
    assert own == ABOUT_FAULTS.get(name, set())


@pytest.mark.parametrize(
    "change",
    [
        of(3, "memory", {"total": None}),
        of(3, "fabric", {"state": 3, "health_mask": "all"}),
        of(3, "clocks", {}),
        of(3, "ecc_errors", {}),
        of(3, "nvlink_errors", [{"replay": "many"}]),
        of(3, "nvlinks", [{}]),
        of(3, "remapped_rows", [1]),
        of(3, "recovery_action", -1),
        ("library nvml event_samples 0 1 2 3 4 5 6 7", {"seconds": 0.0, "bits": [], "grown": []}),
        ("library nvml event_samples 0 1 2 3 4 5 6 7", {"seconds": 1.0, "bits": [[-1]], "grown": [{"x": None}]}),
    ],
)
def test_an_edited_recording_breaks_no_check(change: Any) -> None:
    assert not [one for one in findings(machine(change)).findings if "the check itself failed" in one.message]
