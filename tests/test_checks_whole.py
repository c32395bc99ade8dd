"""Whole machines: what an operator is told of a bad night, once, and the worst first."""

from __future__ import annotations

from diagnosing import findings, statuses, told, variant
from raxl.checks.diagnosis import Wanted
from raxl.model.finding import FAIL, SKIP, UNKNOWN, WARN, Finding
from raxl.render.findings_words import closing, rest

SICK, HEALTHY = "nvidia-hgx-h100-sick", "nvidia-hgx-h100-healthy"
GPU_6 = "/sys/bus/pci/devices/0000:bb:00.0"


def wrong(name: str, *changes: str) -> list[tuple[str, str, str]]:
    found = findings(variant(name, *changes)).findings
    return [(one.status, one.check, one.subject) for one in found if one.status in (FAIL, WARN)]


def test_a_bad_night_is_told_worst_first() -> None:
    assert wrong(SICK) == [
        ("fail", "nvidia.lost", "nvidia:6"),
        ("fail", "host.dstate", "process nvidia-smi"),
        ("fail", "ib.rate", "mlx5_4/1"),
        ("fail", "nvidia.ecc-uncorrected", "nvidia:1"),
        ("fail", "nvidia.recovery-action", "nvidia:1"),
        ("fail", "nvlink.down", "nvidia:2"),
        ("fail", "host.memlock", "raylet 50120"),
        ("fail", "host.shm", "/dev/shm"),
        ("fail", "ib.port-state", "mlx5_5/1"),
        ("fail", "ray.object-store", "raylet 50120"),
        ("fail", "ray.orphan-process", "process 48103"),
        ("warn", "nvidia.remap-pending", "nvidia:1"),
        ("warn", "ray.resource-vs-hardware", "node"),
        ("warn", "ray.ports", "raylet 50120"),
    ]


def test_what_is_a_part_of_another_fault_is_skipped_and_names_it() -> None:
    found = {(one.check, one.subject): one for one in findings(variant(SICK)).findings}
    for check, subject, cause in (
        ("pcie.config-dead", "nvidia:6", "nvidia.lost"),
        ("pcie.aer", "nvidia:6", "pcie.config-dead"),
        ("accelerator.state", "nvidia:1", "nvidia.recovery-action"),
        ("host.hung-task", "node", "host.dstate"),
        ("nvidia.xid", "nvidia:1", "nvidia.remap-pending"),
    ):
        one = found[check, subject]
        assert (one.status, one.remedy, one.remedy_class) == (SKIP, None, "none")
        assert one.message.endswith(f": {cause} tells it")


def test_a_part_is_told_where_the_whole_is_not() -> None:
    sick = variant(SICK)
    for check in ("pcie.config-dead", "pcie.aer", "accelerator.state", "host.hung-task", "nvidia.xid"):
        assert {"fail", "warn"} & set(statuses(check, sick).values()), check
    quick = findings(sick, Wanted(level="quick")).findings
    assert ("nvidia.xid", "warn") in [(one.check, one.status) for one in quick]


def test_a_lost_gpu_is_seen_by_its_configuration_space_alone() -> None:
    dead = variant(HEALTHY, (f"data {GPU_6}/config", "ff" * 64))
    assert [(one.status, one.subject) for one in told("nvidia.lost", dead)] == [("fail", "nvidia:6")]


def test_a_row_that_waits_no_more_is_no_fault() -> None:
    after = variant(SICK, ("library nvml remapped_rows 1", [0, 1, 0, 0]))
    (one,) = [one for one in told("nvidia.xid", after) if one.subject == "nvidia:1"]
    assert one.status == "ok"
    assert "nvidia:1 (0000:3b:00)" in one.message
    unread = variant(SICK, "library nvml remapped_rows 1 !timeout")
    assert statuses("nvidia.xid", unread)["nvidia:1"] == "warn"


def test_the_raylets_variables_count_for_jobs() -> None:
    (one,) = told("net.iface", variant(HEALTHY))
    assert (one.status, one.subject) == ("ok", "NCCL_SOCKET_IFNAME")
    assert one.evidence[0].source == "/proc/41210/environ"


def test_a_pod_that_sees_little_is_not_called_well() -> None:
    known = {"kind": "tmpfs", "inodes": 1 << 20, "inodes_available": 1 << 20, "is_read_only": False}
    room = {**known, "size_bytes": 1 << 36, "available_bytes": 1 << 36}
    roomy = {path: {**room, "mount": path} for path in ("/", "/dev/shm")}
    found = findings(variant("container-blind", ("process filesystems", roomy)))
    assert [one.check for one in found.findings if one.status in (FAIL, WARN, UNKNOWN)] == []
    assert not found.coverage[0].complete
    assert closing(found).startswith("No fault seen, not the whole picture: 19 checks are not possible")
    assert {"nvidia.xid", "host.dstate", "nvidia.memory-held"} <= set(found.coverage[0].not_possible_here)


def test_a_stamp_of_the_kernels_is_told_as_time_since_boot() -> None:
    def words(first: str, last: str | None = None, count: int = 1) -> str:
        return rest(Finding("a.b", "node", "n", FAIL, "words", first_seen=first, last_seen=last or first, count=count))

    assert words("1699320.418821") == " (19 d 16 h after boot)"
    assert words("5400.000001") == " (1 h 30 min after boot)"
    assert words("31.5200") == " (0 min after boot)"
    assert words("2026-01-15T08:00:00Z") == " (at 2026-01-15T08:00:00Z)"
    assert words("7200.000", "7201.000", 3) == " (3 times, 2 h 0 min after boot)"
    assert words("60.000", "7200.000", 2) == " (2 times, first 1 min after boot, last 2 h 0 min after boot)"
