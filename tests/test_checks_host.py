"""The checks of the machine itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from diagnosing import findings, statuses, told, variant
from raxl.checks import Case, Verdict, registry
from raxl.checks.diagnosis import Wanted
from raxl.collect import assemble, facts
from raxl.model.facts import Facts, Reading
from raxl.model.node import Node, OperatingSystem
from recordings import AT_FAULT, NAMES

MEMLOCK = "process limits"
GIB = 1 << 30


def limits(memlock: list[int], nofile: list[int]) -> tuple[str, Any]:
    return MEMLOCK, {"memlock": memlock, "nofile": nofile, "stack": [8388608, -1]}


def filesystem(**changes: Any) -> dict[str, Any]:
    whole = {
        "mount": "/",
        "kind": "ext4",
        "size_bytes": 100 * GIB,
        "available_bytes": 50 * GIB,
        "inodes": 1000,
        "inodes_available": 900,
        "is_read_only": False,
    }
    return {**whole, **changes}


def disks(**paths: dict[str, Any]) -> tuple[str, Any]:
    return "process filesystems", {
        "/": filesystem(),
        **{f"/{name.replace('_', '/')}": one for name, one in paths.items()},
    }


def nodes(*paths: str, may_open: bool = True) -> tuple[str, Any]:
    return "process device_nodes", {path: [0o666, 0, 0, 195, 0, may_open] for path in paths}


def of_case(check: str, case: Case) -> list[Verdict]:
    (found,) = [one for one in registry.checks() if one.id == check]
    return list(found.run(case))


def case_of(name: str, **processes: Reading) -> Case:
    recording = variant(name)
    node = assemble.inventory([recording]).nodes[0]
    return Case(node, replace(facts.of(recording, node), processes=processes))


def test_recordings_of_healthy_machines_raise_nothing() -> None:
    at_fault = {("nvidia-numa-unknown", "host.numa-map"), ("nvidia-l40s-nps4", "gdr.path")}
    own = "host.*", "numa.*", "kernel.cmdline", "ib.*", "roce.*", "efa.*", "gdr.*", "net.*", "lib.*log", "env.*"
    wanted = Wanted("deep", only=[*own, "lib.bad-env"])
    raised = {
        (name, one.check)
        for name in NAMES
        if name not in AT_FAULT
        for one in findings(variant(name), wanted).findings
        if one.status in ("warn", "fail")
    }
    assert raised == at_fault


@pytest.mark.parametrize(
    ("memlock", "status"),
    [([-1, -1], "ok"), ([65536, 65536], "fail"), ([8 << 20, 8 << 20], "fail"), ([1 << 34, -1], "warn")],
)
def test_memlock(memlock: list[int], status: str) -> None:
    (found,) = told("host.memlock", variant("nvidia-hgx-h100", limits(memlock, [65536, 65536])))
    assert found.status == status
    assert (found.remedy_class == "config") == (status in ("fail", "warn"))


def test_memlock_without_rdma_and_unread() -> None:
    limited = limits([65536, 65536], [65536, 65536])
    assert statuses("host.memlock", variant("none-cpu-server", limited)) == {"node": "skip"}
    assert statuses("host.memlock", variant("nvidia-hgx-h100", f"{MEMLOCK} !denied")) == {"node": "unknown"}


def test_the_limit_of_the_raylet_counts_and_not_that_of_the_login_shell() -> None:
    raylet = {"pid": 71, "limits": {"memlock": (65536, 65536), "nofile": (1024, 4096)}}
    case = case_of("nvidia-hgx-h100", raylets=Reading((raylet,), "/proc"))
    (found,) = of_case("host.memlock", case)
    assert (found.status, found.subject) == ("fail", "raylet 71")
    assert [one.source for one in found.evidence] == ["/proc/71/limits", "getrlimit(2)"]
    assert "unlimited" in found.evidence[1].value, "the shell's own limit is shown beside it"
    assert {one.subject: one.status for one in of_case("host.nofile", case)}["raylet 71"] == "fail"


@pytest.mark.parametrize(
    ("hard", "status"), [(1048576, "ok"), (-1, "ok"), (65536, "ok"), (65535, "warn"), (8192, "warn"), (8191, "fail")]
)
def test_open_files_of_a_process(hard: int, status: str) -> None:
    assert statuses("host.nofile", variant("none-cpu-server", limits([-1, -1], [1024, hard])))["node"] == status


@pytest.mark.parametrize(
    ("text", "status"),
    [("100\t0\t1000", "ok"), ("800\t0\t1000", "warn"), ("950\t0\t1000", "fail"), ("words", "unknown")],
)
def test_open_files_of_the_system(text: str, status: str) -> None:
    assert statuses("host.nofile", variant("none-cpu-server", f"/proc/sys/fs/file-nr={text}"))["file-nr"] == status


def test_64_mib_of_shared_memory_fail_on_a_node_with_accelerators() -> None:
    small = filesystem(mount="/dev/shm", kind="tmpfs", size_bytes=64 << 20, available_bytes=45 << 20)
    (found,) = told("host.shm", variant("nvidia-hgx-h100", disks(dev_shm=small)))
    assert found.status == "fail"
    assert "64 MiB, 19 MiB of it used" in found.message
    assert "object store goes to /tmp" in found.message
    assert all(word in str(found.remedy) for word in ("--shm-size", "Kubernetes", "KubeRay"))
    assert statuses("host.shm", variant("none-cpu-server", disks(dev_shm=small))) == {"/dev/shm": "skip"}


def test_shared_memory_that_is_large_missing_or_unread() -> None:
    large = filesystem(mount="/dev/shm", kind="tmpfs", size_bytes=64 * GIB, available_bytes=64 * GIB)
    name = "nvidia-hgx-h100"
    assert statuses("host.shm", variant(name, disks(dev_shm=large))) == {"/dev/shm": "ok"}
    assert statuses("host.shm", variant(name, disks(dev_shm={"errno": 2}))) == {"/dev/shm": "fail"}
    assert statuses("host.shm", variant(name, disks(dev_shm={"errno": 5}))) == {"/dev/shm": "unknown"}
    assert statuses("host.shm", variant(name, disks())) == {"/dev/shm": "unknown"}, "the root's size is not its"
    assert statuses("host.shm", variant(name, "process filesystems !timeout")) == {"/dev/shm": "unknown"}


@pytest.mark.parametrize(("available", "status"), [(50, "ok"), (10, "warn"), (5, "fail"), (0, "fail")])
def test_disks_by_what_is_in_use(available: int, status: str) -> None:
    var = filesystem(mount="/var", available_bytes=available * GIB)
    found = statuses("host.disk", variant("none-cpu-server", disks(var=var)))
    assert found.get("/var", "ok") == status
    assert found["node"] == "ok", "the root is well"


def test_disks_by_inodes_and_those_that_count_none() -> None:
    full, none = filesystem(inodes_available=20), filesystem(inodes=0, inodes_available=0)
    assert statuses("host.disk", variant("none-cpu-server", disks(tmp=full | {"mount": "/tmp"})))["/tmp"] == "fail"
    assert statuses("host.disk", variant("none-cpu-server", disks(tmp=none | {"mount": "/tmp"}))) == {"node": "ok"}


def test_a_filesystem_that_was_made_read_only_fails_and_a_root_from_an_image_does_not() -> None:
    locked = filesystem(is_read_only=True)
    assert statuses("host.disk", variant("none-cpu-server", ("process filesystems", {"/": locked}))) == {"/": "fail"}
    image = filesystem(is_read_only=True, kind="squashfs", available_bytes=0)
    assert statuses("host.disk", variant("none-cpu-server", ("process filesystems", {"/": image}))) == {"node": "ok"}
    assert statuses("host.disk", variant("none-cpu-server", disks(tmp_ray={"errno": 2}))) == {"node": "ok"}
    assert statuses("host.disk", variant("none-cpu-server", "process filesystems !denied")) == {"/": "unknown"}


GPUS = [f"/dev/nvidia{n}" for n in range(8)]
VERBS = [f"/dev/infiniband/uverbs{n}" for n in range(9)]


def test_device_files_are_there() -> None:
    (found,) = told("host.device-nodes", variant("nvidia-hgx-h100", nodes(*GPUS, "/dev/nvidiactl", *VERBS)))
    assert (found.status, found.subject) == ("ok", "node")
    assert "nvidia 8" in found.message


def test_a_container_that_was_robbed_of_its_devices() -> None:
    there = nodes(*GPUS, "/dev/nvidiactl", *VERBS)
    refused = ("process nvidia_control", {"errno": 1, "name": "EPERM"})
    (found,) = told("host.device-nodes", variant("nvidia-hgx-h100", there, refused))
    assert (found.status, found.subject, found.remedy_class) == ("fail", "/dev/nvidiactl", "restart-service")
    ordinary = ("process nvidia_control", {"errno": 13, "name": "EACCES"})
    assert statuses("host.device-nodes", variant("nvidia-hgx-h100", there, ordinary)) == {"node": "ok"}
    unread = told("host.device-nodes", variant("nvidia-container", there, "process nvidia_control !timeout"))
    assert {one.subject: one.status for one in unread}["/dev/nvidiactl"] == "unknown"
    closed = nodes("/dev/nvidiactl", *GPUS, *VERBS, may_open=False)
    assert statuses("host.device-nodes", variant("nvidia-hgx-h100", closed, refused)) == {"node": "ok"}


def test_a_container_without_device_files() -> None:
    assert statuses("host.device-nodes", variant("nvidia-container", nodes())) == {"nvidia": "warn"}
    void = ("process environment", {"KUBERNETES_SERVICE_PORT": "443", "NVIDIA_VISIBLE_DEVICES": "void"})
    assert statuses("host.device-nodes", variant("nvidia-container", nodes(), void)) == {"node": "ok"}
    assert statuses("host.device-nodes", variant("nvidia-container", nodes("/dev/nvidia0"))) == {"node": "ok"}


def test_rdma_adapters_without_device_files() -> None:
    found = told("host.device-nodes", variant("nvidia-hgx-h100", nodes(*GPUS)))
    assert {one.subject: one.status for one in found} == {"/dev/infiniband": "warn"}
    assert found[0].remedy == "modprobe ib_uverbs"
    unlisted = variant("nvidia-hgx-h100", nodes(*GPUS), "names /sys/class/infiniband !denied")
    assert statuses("host.device-nodes", unlisted)["/dev/infiniband"] == "unknown"


def test_device_files_unread_and_of_nothing() -> None:
    assert statuses("host.device-nodes", variant("nvidia-hgx-h100", "process device_nodes !denied")) == {
        "node": "unknown"
    }
    assert statuses("host.device-nodes", variant("none-cpu-server", nodes())) == {"node": "skip"}


def test_efa_devices_and_their_files() -> None:
    name = "nvidia-aws-p5en"
    assert statuses("efa.present", variant(name, nodes(*VERBS))) == {"node": "ok"}
    (found,) = told("efa.present", variant(name, nodes()))
    assert (found.status, found.subject) == ("fail", "/dev/infiniband")
    assert "PCI shows 16 EFA devices" in found.message
    assert "vpc.amazonaws.com/efa" in str(found.remedy)
    pod = ("process environment", {"KUBERNETES_SERVICE_PORT": "443"})
    assert statuses("efa.present", variant(name, nodes(), pod)) == {"/dev/infiniband": "warn"}
    assert statuses("efa.present", variant(name, nodes("/dev/nvidia0"), pod)) == {"/dev/infiniband": "fail"}
    assert statuses("efa.present", variant(name, "process device_nodes !denied")) == {"/dev/infiniband": "unknown"}
    assert statuses("efa.present", variant("nvidia-hgx-h100", nodes())) == {"node": "skip"}


def test_efa_without_its_driver() -> None:
    found = told("efa.present", variant("nvidia-aws-p5en", nodes(*VERBS), "names /sys/class/infiniband="))
    assert found[0].status == "fail"
    assert "modprobe efa" in str(found[0].remedy)


BALANCING = "/proc/sys/kernel/numa_balancing"


def test_numa_balancing() -> None:
    assert statuses("host.numa-balancing", variant("nvidia-hgx-h100", f"{BALANCING}=1")) == {"node": "warn"}
    assert statuses("host.numa-balancing", variant("nvidia-hgx-h100", f"{BALANCING}=0")) == {"node": "ok"}
    assert statuses("host.numa-balancing", variant("nvidia-hgx-h100", f"{BALANCING} !denied")) == {"node": "unknown"}
    assert statuses("host.numa-balancing", variant("nvidia-gh200", f"{BALANCING}=1")) == {"node": "skip"}


def test_the_memory_of_an_accelerator_is_no_faulty_numa_node() -> None:
    (found,) = told("host.numa-map", variant("nvidia-gh200"))
    assert found.status == "ok"
    assert "4 NUMA nodes, 1 with CPUs" in found.message


def test_devices_that_tell_no_numa_node() -> None:
    (found,) = told("host.numa-map", variant("nvidia-numa-unknown"))
    assert (found.status, found.remedy_class) == ("warn", "config")
    assert "nvidia:0" in found.message
    assert statuses("host.numa-map", variant("nvidia-hgx-h100")) == {"node": "ok"}
    assert statuses("host.numa-map", variant("nvidia-aws-p5en")) == {"node": "skip"}, "the hypervisor's word"
    assert statuses("host.numa-map", variant("nvidia-hgx-h100", "/sys/devices/system/node !denied")) == {
        "node": "unknown"
    }


def test_the_numa_nodes_that_the_firmware_makes_of_a_processor() -> None:
    (found,) = told("numa.nps", variant("nvidia-l40s-nps4"))
    assert (found.status, found.message[:4]) == ("ok", "NPS4")
    assert statuses("numa.nps", variant("nvidia-hgx-h100")) == {"node": "skip"}


@pytest.mark.parametrize(
    ("comm", "wchan", "status"),
    [
        ("nvidia-smi", "", "fail"),
        ("python3", "os_acquire_rwlock_write", "fail"),
        ("ls", "nfs_wait_bit_killable", "warn"),
    ],
)
def test_processes_that_hang(comm: str, wchan: str, status: str) -> None:
    stuck = Reading(({"pid": 9, "comm": comm, "seconds": 30.0, "wchan": wchan},), "/proc/9/stat")
    (found,) = of_case("host.dstate", case_of("nvidia-hgx-h100", stuck=stuck))
    assert found.status == status
    assert comm in found.message


def test_no_process_hangs_only_where_those_of_the_host_are_seen() -> None:
    case = case_of("nvidia-hgx-h100", stuck=Reading((), "/proc"))
    assert [one.status for one in of_case("host.dstate", case)] == ["unknown"], "process 2 is not in the recording"
    recording = variant("nvidia-hgx-h100", "/proc/2/comm=kthreadd")
    node = assemble.inventory([recording]).nodes[0]
    seen = replace(case, facts=replace(facts.of(recording, node), processes={"stuck": Reading((), "/proc")}))
    assert [one.status for one in of_case("host.dstate", seen)] == ["ok"]
    assert [one.status for one in of_case("host.dstate", case_of("nvidia-hgx-h100"))] == ["unknown"]


def test_iommu_pt_of_amd() -> None:
    translated = Reading({f"0000:{n:02x}:00.0": "DMA-FQ" for n in range(256)}, "/sys/kernel/iommu_groups")
    case = case_of("amd-mi300x-spx")

    def status(words: str | None, types: Reading) -> str:
        read = Reading(words, "/proc/cmdline", None if words is not None else "not-permitted")
        own = replace(case.facts, kernel_parameters=read, host={**case.facts.host, "iommu_types": types})
        (found,) = of_case("kernel.cmdline", replace(case, facts=own))
        return found.status

    passing = Reading(dict.fromkeys(translated.value, "identity"), translated.source)
    assert status("amd_iommu=on", translated) == "warn"
    assert status("amd_iommu=on iommu=pt", translated) == "ok"
    assert status("", passing) == "ok", "the kernel's own default passes through"
    assert status(None, translated) == "unknown"
    assert status("", Reading(None, translated.source, "timed-out")) == "unknown"
    assert statuses("kernel.cmdline", variant("nvidia-hgx-h100")) == {"node": "skip"}


def test_the_vantage_never_fails() -> None:
    (found,) = told("host.vantage", variant("nvidia-hgx-h100", "/proc/2/comm=kthreadd"))
    assert (found.status, found.message) == ("ok", "as root on the host, sees the host's processes, no hypervisor")
    (inside,) = told("host.vantage", variant("nvidia-container", ("process root", False)))
    assert inside.message.startswith("without root in a kubernetes container")
    file = Case(Node("n", "f", os=OperatingSystem()), Facts(*[Reading(None, "", "not-asked")] * 5))
    assert [one.status for one in of_case("host.vantage", file)] == ["skip"]
