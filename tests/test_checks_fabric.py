"""The checks of the NVLink fabric: states, its manager, memory across nodes, and where none of that is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diagnosing import statuses, told, variant
from nvml_answers import FABRIC, L40S, healthy, of
from raxl.collect import inputs
from raxl.host.record import Recording

NO_TOOL = ("command nvidia-smi -q -x !unasked", "command nvidia-smi topo -m !unasked")
HERE, MODULE = "/proc/2/comm=kthreadd", "/sys/module/nvidia/version=570.133.20"
SLICE = "names /sys/fs/cgroup/system.slice"
MANAGER, IMEX = f"{SLICE}=nvidia-fabricmanager.service ssh.service", f"{SLICE}=nvidia-imex.service"
NEITHER = f"{SLICE}=ssh.service"
VERSION = "command nv-fabricmanager --version"
IN_RACK = {**FABRIC, "cluster": "7e2c0000-0000-4000-8000-000000000f1a", "clique": 3}


def machine(*changes: Any, **other: Any) -> Recording:
    return variant("nvidia-hgx-h100", HERE, MODULE, *NO_TOOL, *healthy(**other), *changes)


def version(told: str) -> tuple[str, list[Any]]:
    return (VERSION, [0, f"Fabric Manager version is : {told}\n", ""])


# The state


@pytest.mark.parametrize(
    ("fabric", "status", "words"),
    [
        ({}, "ok", "joined"),
        ({"status": 23}, "fail", "NVML error 23"),
        ({"health_mask": 1}, "fail", "bandwidth degraded"),
        ({"health_mask": 1 << 4}, "fail", "route unhealthy"),
        ({"health_mask": 1 << 6}, "fail", "access timeout"),
        ({"health_mask": 5 << 8}, "fail", "insufficient NVLinks"),
        ({"health_mask": 1 << 8}, "ok", "joined"),
        ({"health_mask": 2 | 2 << 2 | 2 << 4 | 2 << 6}, "ok", "joined"),
        ({"health_mask": 1 << 2}, "warn", "route recovery"),
        ({"health": 2}, "fail", "unhealthy"),
        ({"health": 3}, "warn", "limited capacity"),
        ({"state": 1}, "fail", "not started"),
    ],
)
def test_state(fabric: dict[str, int], status: str, words: str) -> None:
    """Clique 0 and a zero cluster UUID are how an HGX board tells that all is well."""
    found = told("fabric.state", machine(of(3, "fabric", {**FABRIC, **fabric})))
    assert (found[0].status, words in found[0].message) == (status, True)
    assert found[0].subject == ("node" if status == "ok" else "nvidia:3")


@pytest.mark.parametrize(("uptime", "status"), [("120.5 900.1", "warn"), ("1728000.0 1.0", "fail"), (None, "warn")])
def test_registration_in_progress(uptime: str | None, status: str) -> None:
    """Just booted, it may still come; after 20 days it does not."""
    change = f"/proc/uptime={uptime}" if uptime else "/proc/uptime !denied"
    (found, *_) = told("fabric.state", machine(change, of(3, "fabric", {**FABRIC, "state": 2})))
    assert found.status == status


def test_single_gpus_have_no_fabric() -> None:
    for state in (0, 1):
        cards = variant("nvidia-l40s", *NO_TOOL, *healthy(L40S, nvlinks=[], fabric={**FABRIC, "state": state}))
        assert statuses("fabric.state", cards) == {"node": "skip"}


LOG = """==============NVSMI LOG==============

Driver Version                            : 550.54.15
CUDA Version                              : 12.4

Attached GPUs                             : 1
GPU 00000000:19:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Fabric
        State                             : Completed
        Status                            : Insufficient Resources
        CliqueId                          : 0
        ClusterUUID                       : 00000000-0000-0000-0000-000000000000
    Processes                             : None

GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000001)
         Link 0: 26.562 GB/s
         Link 1: 26.562 GB/s
"""


def test_all_links_up_and_the_fabric_dead(tmp_path: Path) -> None:
    """Links train by themselves: azhpc-images #506, dstack #1167. It is the status that fails."""
    path = tmp_path / "ticket.txt"
    path.write_text(LOG)
    (recording,) = inputs.opened([str(path)])
    (found,) = [one for one in told("fabric.state", recording) if one.status == "fail"]
    assert "insufficient resources" in found.message
    (evidence,) = found.evidence
    for word in ("completed", "clique 0", "00000000-0000-0000-0000-000000000000"):
        assert word in evidence.value
    assert "fail" not in statuses("nvlink.down", recording).values()


# The manager


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ([MANAGER], "unknown"),
        ([MANAGER, version("570.133.20")], "ok"),
        ([MANAGER, version("535.183.01")], "fail"),
        ([NEITHER], "ok"),
        ([NEITHER, of(3, "fabric", {**FABRIC, "state": 1})], "fail"),
        ([f"{SLICE} !denied", of(3, "fabric", {**FABRIC, "state": 2})], "unknown"),
    ],
)
def test_manager(changes: list[Any], status: str) -> None:
    """Where no manager runs and all GPUs have joined, it is managed from elsewhere."""
    assert statuses("fabric.manager", machine(*changes)) == {"node": status}


def test_a_manager_of_the_second_cgroup_hierarchy() -> None:
    older = (f"{SLICE} !absent", MANAGER.replace("cgroup/", "cgroup/systemd/"))
    assert statuses(
        "fabric.manager", machine(*older, version("570.133.20"), of(3, "fabric", {**FABRIC, "state": 2}))
    ) == {"node": "ok"}


def test_a_manager_is_not_asked_for_without_switches() -> None:
    """`pre-NVL5 system detected, nothing to do`: cube-studio #29. And a tray of an NVL72 has its manager elsewhere."""
    for name in ("nvidia-l40s", "nvidia-a100-pcie-bridged", "nvidia-gb200-tray"):
        assert statuses("fabric.manager", variant(name, NEITHER)) == {"node": "skip"}


def test_inside_a_container_a_manager_cannot_be_seen() -> None:
    inside = ("/run/systemd/container=docker", "/proc/2/comm=bash", f"{SLICE} !absent")
    hidden = machine(*inside, "/sys/fs/cgroup/systemd/system.slice !absent", of(3, "fabric", {**FABRIC, "state": 2}))
    (found,) = told("fabric.manager", hidden)
    assert (found.status, found.is_ruled_out) == ("skip", True)


# IMEX


@pytest.mark.parametrize("check", ["fabric.imex", "fabric.imex-channel"])
def test_imex_is_not_asked_for_outside_of_a_rack(check: str) -> None:
    assert statuses(check, machine(NEITHER)) == {"node": "skip"}
    unread = [f"library nvml fabric {index} !denied" for index in range(8)]
    assert statuses(check, machine(NEITHER, *unread)) == {"node": "unknown"}


def test_imex_of_a_rack() -> None:
    """ComputeDomains run IMEX in pods, and switch the host's service off on purpose: DCGM #308."""
    assert statuses("fabric.imex", machine(IMEX, fabric=IN_RACK)) == {"node": "ok"}
    assert statuses("fabric.imex", machine(NEITHER, fabric=IN_RACK)) == {"node": "skip"}
    assert statuses("fabric.imex", machine(f"{SLICE} !denied", fabric=IN_RACK)) == {"node": "unknown"}


def test_imex_channels() -> None:
    """nvbandwidth #39: CUDA_ERROR_NOT_PERMITTED without a channel, where the host itself runs IMEX."""
    channels = "names /dev/nvidia-caps-imex-channels"
    assert statuses("fabric.imex-channel", machine(IMEX, f"{channels}=channel0", fabric=IN_RACK)) == {"node": "ok"}
    assert statuses("fabric.imex-channel", machine(IMEX, fabric=IN_RACK)) == {"node": "fail"}
    assert statuses("fabric.imex-channel", machine(NEITHER, fabric=IN_RACK)) == {"node": "skip"}
    assert statuses("fabric.imex-channel", machine(IMEX, f"{channels} !denied", fabric=IN_RACK)) == {"node": "unknown"}
