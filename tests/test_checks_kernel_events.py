"""The checks of what the kernel's log tells of the host, of AMD GPUs, of the bus and of the network."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

import captures
import recordings as machines
from diagnosing import statuses, told, variant
from kernel_texts import BOOT, found, one, stamped
from raxl.checks import registry
from raxl.checks.diagnosis import Wanted
from raxl.collect import inputs
from raxl.host.kernel_condense import condensed

LOG = "process kernel_log"
QUIET = (LOG, condensed([f"[    0.000000] {BOOT}", "[    9.000000] usb 1-1: new device"]))
OWN = [
    check
    for check in registry.checks()
    if check.run.__module__.rsplit(".", 1)[1]
    in ("kernel_events", "nvidia_xid", "nvswitch_log", "amd_events", "bus_events")
]
AMD = "amdgpu 0000:43:00.0: amdgpu: "
PORT = "pcieport 0000:00:03.1: "
NIC = "mlx5_core 0000:61:00.0: "
CASES = [
    ("host.hung-task", ["INFO: task nvidia-smi:77 blocked for more than 120 seconds."], "node", "fail", "reboot"),
    ("host.hung-task", ["INFO: task cache_mgr_event:9 blocked for more than 120 seconds."], "node", "fail", "reboot"),
    ("host.hung-task", ["INFO: task dd:77 blocked for more than 120 seconds."], "node", "warn", "none"),
    ("host.lockup", ["watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [x:77]"], "node", "fail", "reboot"),
    ("host.lockup", ["Kernel panic - not syncing: Fatal exception"], "node", "fail", "reboot"),
    ("host.storage-events", ["EXT4-fs (sda1): Remounting filesystem read-only"], "node", "fail", "vendor"),
    ("host.storage-events", ["nvme nvme3: I/O 7 QID 2 timeout, reset controller"], "node", "warn", "vendor"),
    ("host.oom", ["oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=py,pid=7,uid=0"], "node", "warn", "app"),
    ("host.oom", ["Out of memory: Killed process 1234 (python) total-vm:1kB"], "node", "warn", "app"),
    ("host.oom", ["Memory cgroup out of memory: Killed process 1234 (py) total-vm:1kB"], "node", "ok", "none"),
    ("host.storage-events", ["XFS (dm-0): Filesystem has been shut down"], "node", "fail", "vendor"),
    ("host.storage-events", ["EXT4-fs error (device sda1): x: y"], "node", "warn", "vendor"),
    ("host.storage-events", ["I/O error, dev sda, sector 0"], "node", "warn", "vendor"),
    ("host.storage-events", ["blk_update_request: I/O error"], "node", "warn", "vendor"),
    ("host.lockup", ["rcu: INFO: rcu_sched self-detected stall on CPU"], "node", "fail", "reboot"),
    ("host.mce", ["mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 5: be00000000800400"], "node", "fail", "rma"),
    ("host.mce", ["EDAC MC0: 1 UE memory read error on DIMM#0"], "node", "fail", "rma"),
    ("host.mce", ["{1}[Hardware Error]: event severity: fatal"], "node", "fail", "rma"),
    (
        "pcie.events",
        [PORT + "AER: Uncorrected (Fatal) error received: 0000:01:00.0"],
        "0000:01:00.0",
        "fail",
        "reboot",
    ),
    (
        "pcie.events",
        ["AER: Uncorrectable (Fatal) error message received from 0000:01:00.0"],
        "0000:01:00.0",
        "fail",
        "reboot",
    ),
    (
        "pcie.events",
        [PORT + "AER: Uncorrected (Non-Fatal) error received: 0000:01:00.0"],
        "0000:01:00.0",
        "warn",
        "none",
    ),
    ("host.oom", ["oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=py,pid=7,uid=0"], "node", "ok", "none"),
    ("host.mce", ["mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 7: be"], "node", "fail", "rma"),
    ("amd.events", [AMD + "3 uncorrectable hardware errors detected in umc block"], "0000:43:00.0", "fail", "reset"),
    ("amd.events", [AMD + "3 correctable hardware errors detected in umc block"], "0000:43:00.0", "ok", "none"),
    ("amd.events", [AMD + "3 deferred hardware errors detected in umc block"], "0000:43:00.0", "warn", "reset"),
    ("amd.events", [AMD + "GPU reset begin!", AMD + "GPU reset(1) succeeded!"], "0000:43:00.0", "warn", "app"),
    ("amd.events", [AMD + "GPU reset begin!", AMD + "GPU reset end with ret = -62"], "0000:43:00.0", "fail", "reboot"),
    ("amd.events", [AMD + "GPU reset begin!"], "0000:43:00.0", "warn", "drain"),
    ("amd.events", [AMD + "ring gfx timeout, but soft recovered"], "0000:43:00.0", "ok", "none"),
    ("amd.events", [AMD + "[gfxhub0] no-retry page fault (src_id:0)"], "0000:43:00.0", "ok", "none"),
    ("amd.events", [AMD + "RAS records:130 exceed threshold:128"], "0000:43:00.0", "fail", "rma"),
    ("amd.events", [AMD + "RAS records:120 exceeds 90% of threshold:128"], "0000:43:00.0", "warn", "none"),
    ("amd.events", [AMD + "SMU: I'm not done: response:0xFFFFFFFF"], "0000:43:00.0", "fail", "reboot"),
    ("amd.events", [AMD + "ACA[01/01].STATUS=0xa000000000000000"], "0000:43:00.0", "fail", "reset"),
    ("amd.events", [AMD + "ACA[01/01].STATUS=0x98000800003e0000"], "0000:43:00.0", "warn", "none"),
    ("pcie.events", [PORT + "PCIe Bus Error: severity=Uncorrected (Fatal), x"], "0000:00:03.1", "fail", "reboot"),
    ("pcie.events", [PORT + "PCIe Bus Error: severity=Uncorrected (Non-Fatal), x"], "0000:00:03.1", "warn", "none"),
    (
        "pcie.events",
        [PORT + "PCIe Bus Error: severity=Correctable, type=Data Link Layer, x"],
        "0000:00:03.1",
        "ok",
        "none",
    ),
    ("pcie.events", [PORT + "AER: aer_status: 0x00000040, aer_mask: 0x0000e000"], "0000:00:03.1", "ok", "none"),
    ("pcie.events", [PORT + "DPC: containment event, status:0x1f01"], "0000:00:03.1", "fail", "reboot"),
    (
        "pcie.events",
        [PORT + "DPC: containment event, status:0x1f01", PORT + "pciehp: Slot(5): Link Down/Up ignored"],
        "0000:00:03.1",
        "warn",
        "app",
    ),
    (
        "pcie.events",
        [PORT + "AER: aer_status: 0x00000040, aer_mask: 0x0000e000", PORT + "AER: aer_uncor_severity: 0x00062030"],
        "0000:00:03.1",
        "warn",
        "none",
    ),
    ("ib.driver", ["mlx5_core: probe of 0000:61:00.0 failed with error -22"], "0000:61:00.0", "fail", "vendor"),
    (
        "ib.driver",
        [NIC + "wait_func:1132:(pid 7): CREATE_DCT(0x710) No done completion"],
        "0000:61:00.0",
        "fail",
        "reboot",
    ),
    ("ib.driver", [NIC + "device's health compromised - reached miss count"], "0000:61:00.0", "fail", "reboot"),
    (
        "ib.driver",
        [NIC + "device's health compromised - reached miss count", NIC + "health recovery succeeded"],
        "0000:61:00.0",
        "warn",
        "none",
    ),
    ("ib.driver", [NIC + "Detected insufficient power on the PCIe slot (27W)."], "0000:61:00.0", "warn", "power-cycle"),
    (
        "ib.module",
        [NIC + "Port module event[error]: module 0, Cable error, High Temperature"],
        "0000:61:00.0",
        "warn",
        "vendor",
    ),
    (
        "neuron.hw-error",
        ["neuron:nd3: NEURON_HW_ERR=DMA_ERROR nd-id=3 action=REPLACE_INSTANCE"],
        "neuron:3",
        "fail",
        "rma",
    ),
    ("neuron.hw-error", ["neuron:nd3: NEURON_HW_ERR=HANG_ON_COLLECTIVES nd-id=3"], "neuron:3", "warn", "app"),
    ("neuron.hw-error", ["neuron:nd3: NEURON_HW_ERR=NEW_THING nd-id=3"], "neuron:3", "warn", "vendor"),
    (
        "lib.nccl-crash",
        ["python3[77]: segfault at 7f ip 00 sp 00 error 4 in libnccl.so.2[7f+d3]"],
        "node",
        "warn",
        "app",
    ),
    (
        "gdr.peermem",
        ["nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, x"],
        "node",
        "ok",
        "none",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[1][-1][-40:]}")
def test_what_a_line_makes_of_a_node(case: tuple[str, list[str], str, str, str]) -> None:
    check, lines, subject, status, remedy = case
    findings = [one_ for one_ in found(check, stamped(*lines)) if one_.subject != "memory"]
    assert [(one_.subject, one_.status, one_.remedy_class) for one_ in findings] == [(subject, status, remedy)]
    assert (findings[0].remedy is not None) == (status != "ok")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[1][-1][-40:]}")
def test_what_an_earlier_boot_told_does_not_count(case: tuple[str, list[str], str, str, str]) -> None:
    check, lines, *_ = case
    text = stamped(*lines) + f"[    0.000000] {BOOT}\n[   10.000000] usb 1-1: new device\n"
    assert not {one_.status for one_ in found(check, text)} & {"warn", "fail"}


@pytest.mark.parametrize("name", machines.NAMES)
@pytest.mark.parametrize("log", [QUIET, f"{LOG} !denied"], ids=["quiet", "denied"])
def test_a_machine_whose_log_tells_of_nothing_is_not_accused(name: str, log: Any) -> None:
    recording = variant(name, log)
    for check in OWN:
        allowed = {"ok", "skip", "unknown"} if log is not QUIET else {"ok", "skip"}
        given = {one_.status for one_ in told(check.id, recording)}
        assert given <= {*allowed, "unknown"}
        if log is not QUIET and check.id not in ("nvswitch.log", "host.mce"):
            assert "ok" not in given


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ((QUIET,), "ok"),
        ((f"{LOG} !denied",), "unknown"),
        ((f"{LOG} !unasked",), "unknown"),
        (((LOG, condensed([])),), "unknown"),
    ],
    ids=["read", "denied", "not asked", "empty"],
)
def test_whether_the_log_can_be_read(changes: Any, status: str) -> None:
    assert statuses("host.kernel-log", variant("nvidia-hgx-h100", *changes)) == {"node": status}


def test_a_log_that_lost_its_oldest_lines_says_from_when_on_it_tells() -> None:
    finding = one("host.kernel-log", "[  812.000000] usb 1-1: new device\n" * 3)
    assert (finding.status, "812.000000" in finding.message) == ("ok", True)


def test_the_journal_where_the_ring_is_refused() -> None:
    journal = "command journalctl -k -b --no-pager -o short-iso -n 20000"
    text = f"2026-11-12T03:04:05+0000 a kernel: {CASES[0][1][0]}\n"
    changes = (f"{LOG} !denied", (journal, (0, json.dumps(condensed(text.splitlines())), "")))
    assert statuses("host.hung-task", variant("nvidia-hgx-h100", *changes)) == {"node": "fail"}
    nothing = (f"{LOG} !denied", (journal, (1, "-- No entries --\n", "")))
    assert statuses("host.hung-task", variant("nvidia-hgx-h100", *nothing)) == {"node": "unknown"}


MC = "/sys/devices/system/edac/mc"


def memory(*changes: Any) -> str:
    return statuses("host.mce", variant("nvidia-hgx-h100", QUIET, *changes))["memory"]


def test_memory_controllers() -> None:
    both = (f"names {MC}=mc0 mc1 power", f"{MC}/mc0/ue_count=0", f"{MC}/mc0/ce_count=7", f"{MC}/mc1/ce_count=0")
    assert memory(*both, f"{MC}/mc1/ue_count=0") == "ok"
    assert memory(*both, f"{MC}/mc1/ue_count=2") == "fail"
    assert memory(*both, f"{MC}/mc1/ue_count !denied") == "unknown"
    assert memory(f"names {MC} !absent") == "skip"
    assert memory(f"names {MC} !denied") == "unknown"
    assert memory(f"names {MC}=") == "skip"


def test_what_two_lines_tell_counts_once() -> None:
    killed = [
        "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task=py,pid=7,uid=0",
        "Out of memory: Killed process 7 (py) total-vm:1kB",
    ]
    assert one("host.oom", stamped(*killed)).count == 1
    bus = [
        PORT + "AER: Uncorrected (Fatal) error received: 0000:01:00.0",
        "nvidia 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer",
    ]
    assert one("pcie.events", stamped(*bus)).count == 1


def test_a_disk_is_named() -> None:
    lines = [f"I/O error, dev {name}, sector 7" for name in ("sdb", "sda", "sdb")]
    assert (
        one("host.storage-events", stamped(*lines)).message == "sda and sdb: reading or writing a disk failed (3 times)"
    )


def test_where_the_gpus_are_known_amd_s_own_checks_tell_of_their_resets() -> None:
    lines = [f"[  100.000000] {AMD}GPU reset begin!", f"[  101.000000] {AMD}ACA[01/01].STATUS=0xa000000000000000"]
    findings = told("amd.events", variant("amd-mi300x-spx", (LOG, condensed(lines))))
    assert ["ACA" in one_.message for one_ in findings] == [True]


TRUTH = {
    "amd-apu-mes-reset-begun-trunc": {
        ("amd.events", "0000:c5:00.0", "fail", "reset"),
        ("amd.events", "0000:c5:00.0", "warn", "drain"),
    },
    "amd-apu-reset-ok": {("amd.events", "0000:c3:00.0", "warn", "app")},
    "amd-decoded-iso-sample": {
        ("amd.events", "0000:01:00.0", "fail", "reset"),
        ("amd.events", "0000:01:00.0", "warn", "reset"),
        ("amd.events", "0000:02:00.0", "fail", "rma"),
        ("amd.events", "0000:03:00.0", "warn", "none"),
        ("pcie.events", "0000:11:01.0", "warn", "none"),
    },
    "amd-mi300x-ras-aca": {
        ("amd.events", "0000:68:00.0", "fail", "reboot"),
        ("amd.events", "0000:9e:00.0", "warn", "none"),
        ("amd.events", "0000:d4:00.0", "warn", "none"),
    },
    "fabricmanager": {("nvswitch.log", "0000:86:00.0", "warn", "none")},
    "mlx5-command-timeout-trunc": {("ib.driver", "0000:61:00.0", "fail", "reboot")},
    "mlx5-load-failed-22": {("ib.driver", "0000:01:00.0", "fail", "vendor")},
    "nccl-segfault-iso": {("lib.nccl-crash", "node", "warn", "app")},
    "nv-gb200-xid145-149-154": {
        *((("nvidia.xid", f"{gpu}:01:00", "fail", "reset")) for gpu in ("0008", "0009", "0018", "0019")),
        *((("nvidia.xid", f"{gpu}:01:00", "warn", "none")) for gpu in ("0008", "0018", "0019")),
        ("nvidia.xid", "0009:01:00", "fail", "drain"),
    },
    "nv-gsp-reset-required-noxid-trunc": {("nvidia.reset-required", "node", "fail", "reset")},
    "nv-rminitadapter-failed": {("nvidia.rm-init", "0000:01:00.0", "fail", "drain")},
    "nv-sxid": {
        ("nvswitch.sxid", "0000:05:00.0", "warn", "none"),
        ("nvswitch.sxid", "0000:a9:00.0", "fail", "reset"),
        ("nvswitch.sxid", "0000:0a:00.0", "warn", "none"),
    },
    "nv-xid119-gsp-timeout": {("nvidia.xid", "0000:9b:00", "fail", "reset")},
    "nv-xid74-etc-collected": {
        ("nvidia.xid", "0000:03:00", "warn", "vendor"),
        ("nvidia.xid", "0000:04:00", "warn", "reset"),
        ("nvidia.xid", "0000:9b:00", "warn", "app"),
    },
}
"""What the log of each capture supports, by what its manifest and the vendors' pages say; all others accuse nobody."""


def logs() -> list[object]:
    if captures.CORPUS is None:
        return [captures.NONE]
    held = yaml.safe_load((captures.CORPUS / "MANIFEST.yaml").read_text())["entries"]
    chosen = [one_ for one_ in held if one_["kind"] == "kernel-log" or "dmesg" in one_["path"]]
    return [pytest.param(captures.CORPUS / one_["path"], id=one_["path"]) for one_ in chosen]


@pytest.mark.parametrize("path", logs())
def test_real_logs(path: Any) -> None:
    wanted = Wanted(level="deep")
    given = [finding for check in OWN for finding in told(check.id, inputs.opened([str(path)]), wanted)]
    accused = {(f.check, f.subject, f.status, f.remedy_class) for f in given if f.status in ("warn", "fail")}
    assert accused == TRUTH.get(path.stem, set())
