"""Facts of a node by their paths, over machines whose right values were read in `machine.txt`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from diagnosing import variant
from raxl.host.replay import ReplayHost
from raxl.model.cluster import Cluster, RayNode
from raxl.model.facts import Reading
from raxl.recipe.node_facts import ABSENT, NodeFacts, is_path
from raxl.sources import usable_cpus
from recipe_facts import facts_of, of_capture

HEALTHY = "nvidia-hgx-h100-healthy"
RIGHT = {
    HEALTHY: {
        "accelerators.count": 8,
        "accelerators[vendor=nvidia].count": 8,
        "accelerators[vendor=nvidia,state=ok].count": 8,
        "accelerators[vendor=amd].count": 0,
        "accelerators[model=*H100*].count": 8,
        "accelerators[memory_bytes=85520809984].count": 8,
        "accelerators[ray.would_register=true].count": 8,
        "accelerators[attributes.mig_mode=Disabled].count": 8,
        "accelerators.model": "NVIDIA H100 80GB HBM3",
        "accelerators.ray.type": "H100",
        "accelerators.ray.resource": "GPU",
        "accelerators.architecture": "Hopper",
        "accelerators.index": (0, 1, 2, 3, 4, 5, 6, 7),
        "accelerators.fabric.state": "completed",
        "accelerators.pci.device_id": "2330",
        "nics.count": 9,
        "nics[kind=infiniband].count": 8,
        "nics[kind=infiniband,speed_bits_per_second=400000000000].count": 8,
        "nics[kind=efa].count": 0,
        "nics[role=management].id": "mlx5_8",
        "nics.kind": ("infiniband", "roce"),
        "switches[kind=nvswitch].count": 4,
        "switches[kind=pcie].count": 8,
        "os.kernel": "6.8.0-60-generic",
        "os.container": "none",
        "cpu.packages": 2,
        "cpu.cores": 112,
        "cpu.threads": 224,
        "numa.count": 2,
        "software.nvidia": "570.133.20",
        "software.nvidia-driver": "570.133.20",
        "software.nvidia-nccl-cu12": "2.27.5",
        "software.libnccl": "2.27.5",
        "software.nccl": "2.27.5",
        "software.torch": "2.9.0+cu128",
        "scale_up.kind": "nvlink",
        "scale_up.class": "NV18",
        "limits.memlock_bytes": "unlimited",
        "limits.nofile": 1048576,
        "shm.size_bytes": 1082063962112,
        "shm.kind": "tmpfs",
        "modules.nvidia_peermem": True,
        "modules.nvidia-peermem": True,
        "modules.nv_peer_mem": False,
        "kernel_parameters.iommu": "pt",
        "kernel_parameters.intel_iommu": "on",
        "environment.NCCL_SOCKET_IFNAME": "ens8np0",
        "drivers.nvidia.module": "570.133.20",
        "drivers.nvidia.services": ("nvidia-fabricmanager.service", "nvidia-persistenced.service"),
        "host.numa_balancing": 0,
        "device_files[path=/dev/infiniband/uverbs*].count": 9,
        "device_files[path=/dev/infiniband/uverbs*].may_open": True,
        "ray.version": "2.60.0",
    },
    "nvidia-aws-p5en": {
        "placement.provider": "aws",
        "placement.instance_type": "p5en.48xlarge",
        "accelerators.ray.type": "H200",
        "nics[kind=efa].count": 16,
        "nics[role=compute,kind=efa].count": 16,
        "software.efa": "2.15.3g",
        "os.virtualization": "amazon",
    },
    "nvidia-gb200-tray": {
        "accelerators.count": 4,
        "accelerators.ray.type": "GB200",
        "accelerators.fabric.domain": "7e2c0000-0000-4000-8000-0000000000f1",
        "accelerators.fabric.clique": "3",
        "os.architecture": "aarch64",
        "placement.fabric_domain": "7e2c0000-0000-4000-8000-0000000000f1.3",
    },
    "amd-mi300x-spx": {
        "accelerators.count": 8,
        "accelerators.ray.type": "AMD-Instinct-MI300X-OAM",
        "scale_up.kind": "xgmi",
        "nics[kind=roce].count": 8,
    },
    "neuron-trn2-ultraserver": {
        "accelerators.count": 16,
        "accelerators.attributes.neuron_cores": 4,
        "scale_up.kind": "neuronlink",
        "placement.instance_type": "trn2u.48xlarge",
    },
    "tpu-v6e-8": {"accelerators.count": 8, "accelerators.ray.type": "TPU-V6E", "scale_up.kind": "ici"},
    "none-cpu-server": {"accelerators.count": 0, "scale_up.kind": "none", "cpu.usable": 32, "nics.count": 1},
    "nvidia-hgx-h100-gpu-lost": {"accelerators.count": 7, "accelerators[state=lost].count": 1},
    "amd-mi300x-sick": {"software.rocm": "6.4.1", "software.rccl": "1.0.60401", "software.amdgpu": "6.12.12"},
    "nvidia-vfio": {"accelerators.count": 2},
    "nvidia-pci-denied": {"accelerators[vendor=nvidia].count": 2},
    "container-blind": {"limits.memlock_bytes": 8388608},
}


@pytest.mark.parametrize(
    ("machine", "path", "right"), [(name, path, value) for name, told in RIGHT.items() for path, value in told.items()]
)
def test_a_fact_is_what_the_machine_says(machine: str, path: str, right: Any) -> None:
    reading = facts_of(machine).read(path)
    assert (reading.value, reading.reason) == (right, None), reading
    assert reading.source


@pytest.mark.parametrize(
    ("machine", "path", "reason"),
    [
        ("none-pci-denied", "accelerators.count", "not-permitted"),
        ("none-pci-denied", "accelerators[vendor=nvidia].count", "not-permitted"),
        ("none-pci-denied", "nics.count", "not-permitted"),
        ("none-pci-denied", "scale_up.kind", "not-permitted"),
        ("nvidia-azure-nd-h100", "switches[kind=nvswitch].count", "not-supported"),
        ("nvidia-azure-nd-h100", "placement.provider", "not-asked"),
        ("nvidia-aws-p5en", "nics[role=compute].count", "not-supported"),
        ("nvidia-aws-p5en", "placement.rack", "not-asked"),
        ("nvidia-aws-p5en", "shm.size_bytes", "not-asked"),
        ("nvidia-aws-p5en", "kernel_parameters.iommu", "failed"),
        (HEALTHY, "kernel_parameters.console", "not-asked"),
        (HEALTHY, "environment.HCCL_COMM_ID", "not-asked"),
        (HEALTHY, "ray.resources.GPU", "not-asked"),
        (HEALTHY, "software.amdgpu", "not-asked"),
        (HEALTHY, "host.device_nodes", "not-supported"),
        (HEALTHY, "no.such", "not-supported"),
    ],
)
def test_what_is_not_known_says_why(machine: str, path: str, reason: str) -> None:
    reading = facts_of(machine).read(path)
    assert (reading.value, reading.reason) == (None, reason)
    assert reading.message
    assert reading.reason not in ABSENT


@pytest.mark.parametrize(
    ("machine", "path"),
    [
        ("none-cpu-server", "accelerators.model"),
        ("none-cpu-server", "accelerators[vendor=nvidia].ray.type"),
        ("none-cpu-server", "placement.provider"),
        ("none-cpu-server", "placement.instance_type"),
        (HEALTHY, "accelerators.fabric.domain"),
        (HEALTHY, "environment.NCCL_PROTO"),
        (HEALTHY, "kernel_parameters.isolcpus"),
        (HEALTHY, "device_files[path=/dev/nothing*].path"),
    ],
)
def test_that_there_is_none_is_told_apart_from_what_is_not_known(machine: str, path: str) -> None:
    reading = facts_of(machine).read(path)
    assert reading.value is None
    assert reading.reason in ABSENT
    assert reading.message


def test_a_node_whose_only_accelerators_are_lost_is_none_without_accelerators() -> None:
    facts = facts_of("nvidia-hgx-h100-gpu-lost")
    lost = replace(facts.node, accelerators=tuple(one for one in facts.node.accelerators if one.state == "lost"))
    reading = NodeFacts(lost, facts.case.facts).read("accelerators.count")
    assert (reading.value, reading.reason) == (None, "failed")
    assert "nvidia:6 is lost" in reading.message


def test_devices_that_differ_are_several_values_and_one_without_stands_among_them() -> None:
    facts = facts_of(HEALTHY)
    first, *rest = facts.node.accelerators
    other = replace(first, model="NVIDIA H100 NVL", fabric=replace(first.fabric, domain="d", clique="1"))
    mixed = NodeFacts(replace(facts.node, accelerators=(other, *rest)), facts.case.facts)
    assert mixed.read("accelerators.model").value == ("NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL")
    assert mixed.read("accelerators.fabric.domain").value == (None, "d")


def test_an_adapter_of_unknown_kind_leaves_a_count_open_unless_another_filter_rules_it_out() -> None:
    facts = facts_of(HEALTHY)
    first, *rest = facts.node.nics
    untold = replace(facts.node, nics=(replace(first, kind="rdma"), *rest))
    seen = NodeFacts(untold, facts.case.facts)
    assert seen.read("nics[kind=infiniband].count").value is None
    assert "mlx5_0" in seen.read("nics[kind=infiniband].count").message
    assert seen.read("nics[kind=infiniband,role=management].count").value == 0


def test_a_listing_that_could_not_be_read_whole_makes_no_count() -> None:
    every = facts_of("nvidia-driverless")
    assert every.read("accelerators.count").value == 4
    function = f"/sys/bus/pci/devices/{every.node.accelerators[0].pci.address}"
    reading = facts_of("nvidia-driverless", f"{function}/vendor !denied").read("accelerators.count")
    assert (reading.value, reading.reason) == (None, "not-permitted")


@pytest.mark.parametrize("path", ["accelerators.count", "accelerators[vendor=amd].count", "nics[kind=efa].count"])
def test_a_part_of_a_list_says_of_nothing_that_there_is_none(path: str, tmp_path: Path) -> None:
    port = "00:1c.0 PCI bridge [0604]: Intel Corporation Device [8086:9d10] (rev f1)\n"
    (tmp_path / "lspci.txt").write_text(port)
    part = of_capture(tmp_path / "lspci.txt")
    assert (part.read(path).value, part.read(path).reason) == (None, "not-asked")
    assert "it may be a part" in part.read(path).message
    assert not part.node.has_none
    (tmp_path / "lspci.txt").write_text(f"00:00.0 Host bridge [0600]: Intel Corporation Device [8086:2020]\n{port}")
    assert of_capture(tmp_path / "lspci.txt").read(path).value == 0


def test_ray_s_own_view_of_the_node() -> None:
    mine = RayNode("aa", "alive", "gpu-09", "192.0.2.23", resources={"GPU": 8.0}, labels={"raxl/scale-up": "nvlink"})
    facts = facts_of(HEALTHY)
    node = replace(facts.node, ray_node_id="aa")
    seen = NodeFacts(node, facts.case.facts, Cluster(ray_version="2.61.0", nodes=(mine,)))
    assert seen.read("ray.version").value == "2.61.0"
    assert seen.read("ray.resources.GPU").value == 8.0
    assert seen.read("ray.resources.TPU").reason == "not-present"
    assert seen.read("ray.labels.raxl/scale-up").value == "nvlink"
    dumped = NodeFacts(node, facts.case.facts, Cluster(nodes=(replace(mine, resources={}),)))
    assert dumped.read("ray.resources.GPU").reason == "not-asked"


def test_the_raylet_s_limit_counts_and_not_the_shell_s() -> None:
    reading = facts_of("nvidia-hgx-h100-sick").read("limits.memlock_bytes")
    assert reading.value == 65536
    assert "raylet" in reading.source


@pytest.mark.parametrize("path", ["limits.memlock_bytes", "limits.nofile", "environment.NCCL_SOCKET_IFNAME"])
def test_what_a_raylet_has_is_not_told_by_the_shell_where_nobody_could_look(path: str) -> None:
    reading = facts_of(HEALTHY, "process processes !denied").read(path)
    assert (reading.value, reading.reason) == (None, "not-permitted")


def test_every_path_that_was_asked_is_remembered_with_its_answer() -> None:
    facts = facts_of("none-cpu-server")
    facts.read("accelerators.count")
    facts.read("shm.size_bytes")
    facts.read("accelerators.count")
    assert list(facts.asked) == ["accelerators.count", "shm.size_bytes"]
    assert facts.asked["accelerators.count"].value == 0


def test_a_name_from_the_machine_never_acts() -> None:
    told = facts_of("none-cpu-server", '/etc/os-release=PRETTY_NAME="Evil \x1b[31mOS\x07"').read("os.distribution")
    assert told.value == "Evil OS"


def test_a_path_is_known_or_it_is_not() -> None:
    for text in (*RIGHT[HEALTHY], "accelerators.attributes.x", "software.intel-gpu driver", "ray.labels.ray.io/x"):
        assert is_path(text), text
    for text in (
        "",
        "accelerators",
        "accelerators.",
        "accelerators.colour",
        "accelerators.attributes.",
        "accelerators[].count",
        "accelerators[vendor].count",
        "accelerators[vendor=].count",
        "accelerators[colour=red].count",
        "accelerators[vendor=nvidia.count",
        "os[kernel=6].kernel",
        "os.name",
        "placement.evidence",
        "numa.kind",
        "software.",
        "software. x",
        "environment.A\nB",
        "environment.{A}",
        "__class__.__init__",
        "x" * 300,
        "software." + "x" * 300,
    ):
        assert not is_path(text), text


@pytest.mark.parametrize(
    ("changes", "right", "source"),
    [
        ([("process affinity", 4)], 4, "sched_getaffinity(2)"),
        (["/sys/fs/cgroup/cpu.max=max 100000", ("process affinity", 4)], 4, "sched_getaffinity(2)"),
        (["/sys/fs/cgroup/cpu.max=350000 100000", ("process affinity", 8)], 3, "/sys/fs/cgroup/cpu.max"),
        (["/sys/fs/cgroup/cpu.max=50000 100000", ("process affinity", 8)], 1, "/sys/fs/cgroup/cpu.max"),
        (
            [
                "/sys/fs/cgroup/user.slice/cpu.max=600000 100000",
                "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope/cpu.max=200000 100000",
                ("process affinity", 8),
            ],
            2,
            "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope/cpu.max",
        ),
        (
            [
                "/proc/self/cgroup=4:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab",
                "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us=200000",
                "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us=100000",
                ("process affinity", 8),
            ],
            2,
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us",
        ),
        (
            [
                "/proc/self/cgroup=4:cpu,cpuacct:/",
                "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us=-1",
                "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us=100000",
                ("process affinity", 8),
            ],
            8,
            "sched_getaffinity(2)",
        ),
        (["/proc/self/cgroup=0::/../../etc", ("process affinity", 8)], 8, "sched_getaffinity(2)"),
    ],
)
def test_as_many_cpus_are_usable_as_affinity_and_quota_allow(changes: list[Any], right: int, source: str) -> None:
    recording = variant("none-cpu-server", *changes)
    assert usable_cpus.reading(ReplayHost(recording)) == Reading(right, source)
    assert facts_of("none-cpu-server", *changes).read("cpu.usable").value == right


def test_without_quota_and_affinity_all_threads_are_usable_and_the_evidence_says_so() -> None:
    reading = facts_of("none-cpu-server").read("cpu.usable")
    assert reading.value == 32
    assert "neither a quota nor an affinity was read" in reading.source


def test_this_machine_says_how_many_cpus_a_process_may_use() -> None:
    from raxl.host.live import LiveHost

    reading = usable_cpus.reading(LiveHost())
    assert 1 <= reading.value <= len(os.sched_getaffinity(0))
