"""Kernel logs: recognised in every way that tools print them, made short, and decoded."""

from __future__ import annotations

import io
import json
import random
import resource
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kernel_texts
import seeds
from kernel_texts import BOOT, XID, events, found, log, one, recordings, stamped
from raxl.collect import inputs, log_stream
from raxl.errors import UnknownForm
from raxl.host import Answer, Question, kernel_ring
from raxl.host.kernel_condense import MOST_KEPT, MOST_OF_FAMILY, condensed
from raxl.host.live import LiveHost
from raxl.host.record import RecordedHost
from raxl.intake import documents, forms, kernel_log
from raxl.sources import kernel_log as source

FORMS = {
    "dmesg": ("[ 1843.308145] {}", None, "1843.308145"),
    "dmesg -T": ("[Sun Feb 23 16:24:18 2025] {}", None, "2025-02-23T16:24:18"),
    "dmesg --iso": ("2025-02-23T16:24:18,123456-06:00 {}", None, "2025-02-23T22:24:18Z"),
    "dmesg -x": ("kern  :warn  : [ 1843.308145] {}", None, "1843.308145"),
    "dmesg -x --iso": ("daemon:err   : 2025-02-23T16:24:18,123456+00:00 {}", None, "2025-02-23T16:24:18Z"),
    "dmesg -r": ("<4>[ 1843.308145] {}", None, "1843.308145"),
    "dmesg -d": ("[ 1843.308145 <    0.000012>] {}", None, "1843.308145"),
    "dmesg with callers": ("[ 1843.308145][ T1234] {}", None, "1843.308145"),
    "kmsg": ("4,1234,1843308145,-;{}", None, "1843.308145"),
    "kmsg with callers": ("4,1234,1843308145,-,caller=T1234;{}", None, "1843.308145"),
    "journal": ("Nov 12 03:04:05 gpu-17 kernel: {}", "gpu-17", "Nov 12 03:04:05"),
    "journal, precise": ("Nov 12 03:04:05.123456 gpu-17 kernel: {}", "gpu-17", "Nov 12 03:04:05.123456"),
    "journal, iso": ("2026-11-12T03:04:05+0100 gpu-17 kernel: {}", "gpu-17", "2026-11-12T02:04:05Z"),
    "journal, full": ("Thu 2026-11-12 03:04:05 UTC gpu-17 kernel: {}", "gpu-17", "2026-11-12T03:04:05Z"),
    "journal, monotonic": ("[ 1843.308145] gpu-17 kernel: {}", "gpu-17", "1843.308145"),
    "syslog": ("Nov  2 03:04:05 gpu-17 kernel: [ 1843.308145] {}", "gpu-17", "Nov  2 03:04:05"),
    "rsyslog": ("2024-08-18T01:19:31.351160+00:00 gpu-17 kernel: {}", "gpu-17", "2024-08-18T01:19:31Z"),
    "syslog over the net": ("<4>Nov 12 03:04:05 gpu-17 kernel: {}", "gpu-17", "Nov 12 03:04:05"),
    "RFC 5424": ("<4>1 2026-11-12T03:04:05Z gpu-17 kernel - - - {}", "gpu-17", "2026-11-12T03:04:05Z"),
    "netconsole through syslog": ("Nov 12 03:04:05 192.0.2.7 [ 1843.308145] {}", None, "Nov 12 03:04:05"),
    "dmesg -H": ("[Nov12 03:04] {}", None, "Nov12 03:04"),
    "dmesg -H, the next line": ("[  +0.000012] {}", None, None),
    "a pod's log": ("2026-11-12T03:04:05.123456789Z [ 1843.308145] {}", None, "1843.308145"),
    "pdsh": ("gpu-17: [ 1843.308145] {}", None, "1843.308145"),
    "colours": ("\x1b[32m[ 1843.308145] \x1b[0m\x1b[31m{}\x1b[0m", None, "1843.308145"),
    "Windows": ("[ 1843.308145] {}\r", None, "1843.308145"),
    "no stamps": ("{}", None, None),
}
"""By what printed it: a line, the host that it names, and the stamp as raxl tells it."""


@pytest.mark.parametrize("form", FORMS)
def test_every_way_of_printing_it(form: str) -> None:
    line, host, stamp = FORMS[form]
    text = "".join(f"{line.format(words)}\n" for words in (XID, XID))
    (event,) = events(text)
    assert (event.kind, event.code, event.device, event.count) == ("xid", "48", "0000:61:00", 2)
    assert (event.first, event.last) == (stamp, stamp)
    assert event.detail == {"pid": "4242", "process": "python3"}
    (recording,) = recordings(text)
    assert documents.read(RecordedHost(recording.answer))[0][0].hostname == host


@pytest.mark.parametrize("form", [name for name in FORMS if name != "no stamps"])
def test_a_log_that_tells_of_nothing_is_a_log(form: str) -> None:
    read = log(f"{FORMS[form][0].format('usb 1-1: new device')}\n" * 3)
    assert (read.read.value, read.events) == (3, ())


@pytest.mark.parametrize("form", seeds.TEXTS)
def test_no_form_is_taken_for_another(form: str) -> None:
    text = seeds.TEXTS[form]
    if form in kernel_texts.TEXTS:
        assert [question.subject for question, _ in forms.recognise(text)] == [
            form.replace("fabric-manager-log", "fabric manager log")
        ]
        names = [name for name, module in documents.TEXTS.items() if import_module(module).recognises(text)]
        assert len(names) == 1
    else:
        assert not any(
            import_module(documents.TEXTS[name]).recognises(text) for name in ("kernel-log", "fabric manager log")
        )


@pytest.mark.parametrize(
    "text",
    [
        "[1684843199.123456] [node:12345:0]  ucp_worker.c:1778 UCX  INFO  ep_cfg[2]: tag(self/memory)\n",
        "2026-11-12 03:04:05 INFO app: all is well\n",
        "node-a:77:78 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n",
        "(pid=7) [2026-11-12 03:04:05,123 I 7 7] core_worker.cc:1: started\n",
        "Nov 12 03:04:05 gpu-17 systemd[1]: Started a job.\n",
        "Nov 12 03:04:05 gpu-17 exporter[7]: NVRM: Xid (PCI:0000:61:00): 48, seen by a monitor\n",
        "Jan went to the [ 12.5] kernel\n",
        "",
    ],
)
def test_other_texts_are_no_kernel_log(text: str) -> None:
    assert not kernel_log.recognises(text * 3)


def test_what_other_programs_say_is_not_the_kernel_s() -> None:
    line = "Nov 12 03:04:05 gpu-17"
    text = f"{line} kernel: usb 1-1: new device\n{line} exporter[7]: {XID}\n"
    assert (log(text).read.value, log(text).events) == (1, ())


def test_a_ticket_with_a_log_below_another_output() -> None:
    held = dict(forms.recognise(seeds.TEXTS["ibstat"] + "$ dmesg | tail\n" + stamped(XID)))
    assert {question.subject for question in held} == {"ibstat", "kernel-log"}


def test_only_lines_of_the_catalogue_are_kept() -> None:
    secret = 'audit: USER_LOGIN acct="alice" addr=192.0.2.99'
    (recording,) = recordings(stamped(secret, XID, "python3[7]: oops, token=abc"))
    (answer,) = (answer.value for question, answer in recording.answers.items())
    assert XID in answer
    assert not any(word in answer for word in ("alice", "192.0.2.99", "token", "oops"))


def test_of_a_killed_process_the_name_is_kept_and_not_its_cgroup() -> None:
    line = "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task_memcg=/user/alice,task=python3,pid=77,uid=1000"
    (event,) = events(stamped(line))
    assert event.text == "oom-kill:constraint=CONSTRAINT_NONE,task=python3,pid=77"
    assert (event.code, event.detail) == ("CONSTRAINT_NONE", {"process": "python3", "pid": "77"})


def test_eleven_thousand_lines_are_one_finding() -> None:
    lines = [f"NVRM: Xid (PCI:0000:61:00): 45, pid=1496200, name=python3, Ch {place:08x}" for place in range(11_000)]
    (event,) = events(stamped(*lines, step=0.001))
    assert (event.count, event.first, event.last, event.ends) == (11_000, "100.000000", "110.999000", 11_000)
    finding = one("nvidia.xid", stamped(*lines, step=0.001))
    assert (finding.status, finding.count) == ("ok", 11_000)


def test_copies_that_syslog_left_out_count() -> None:
    line = "Nov 12 03:04:05 gpu-17 kernel: "
    (event,) = events(f"{line}[ 1843.308145] {XID}\n{line}message repeated 7 times: [ [ 1843.308150] {XID}]\n")
    assert event.count == 8


def test_what_is_kept_is_bounded_and_counts_all() -> None:
    lines = [f"NVRM: Xid (PCI:0000:61:00): 45, pid={place}, name=python3, Ch 0" for place in range(3000)]
    told = events(stamped(*lines))
    assert len(told) == MOST_OF_FAMILY + 1
    assert sum(event.count for event in told) == 3000
    many = [f"NVRM: Xid (PCI:0000:{bus:02x}:00): {code}, x" for bus in range(256) for code in range(40)]
    kept = condensed(stamped(*many).splitlines())
    assert len(kept["kept"]) == MOST_KEPT
    assert kept["left_out"] == 256 * 40 - MOST_KEPT
    assert kept["left_out_kinds"] == {"xid": kept["left_out"]}


FLOOD = [f"NVRM: Xid (PCI:{domain:04x}:{bus:02x}:00): 13, x" for domain in range(24) for bus in range(250)]
FAULTS = [
    "NVRM: Xid (PCI:0000:61:00): 79, GPU has fallen off the bus.",
    XID,
    "INFO: task nvidia-smi:77 blocked for more than 120 seconds.",
]


@pytest.mark.parametrize(
    "flood",
    [
        FLOOD,
        [line.replace(" 13,", " 999,") for line in FLOOD],
        [line.replace(" 13,", f" {place}7,") for place, line in enumerate(FLOOD)],
        [f"INFO: task job-{place}:{place} blocked for more than 120 seconds." for place in range(6000)],
    ],
    ids=["a job's own", "a fault", "codes that are none", "ordinary programs"],
)
def test_what_comes_in_masses_displaces_nothing(flood: list[str]) -> None:
    text = stamped(*flood, *FAULTS, step=0.01)
    kept = condensed(text.splitlines())
    assert len(kept["kept"]) == MOST_KEPT
    assert sum(entry["count"] for entry in kept["kept"]) + kept["left_out"] == 6003
    assert {entry["text"] for entry in kept["kept"]} >= {FAULTS[0], FAULTS[1]}
    assert one("nvidia.lost", text).status == "fail"
    assert "fail" in {finding.status for finding in found("host.hung-task", text)} or "job-0" in flood[0]


def test_what_is_left_out_is_counted_alike_in_pieces() -> None:
    text = stamped(*FLOOD, *FLOOD, *FAULTS, step=0.01)
    (told,) = kernel_log.condensed([text[: len(text) // 2], text[len(text) // 2 :]])
    exact, kept = condensed(text.splitlines()), json.loads(told)
    assert kept == exact
    assert sum(entry["count"] for entry in kept["kept"]) + kept["left_out"] == kept["lines"] == 12_003


def test_of_what_was_left_out_nobody_says_that_it_is_well() -> None:
    text = stamped(*FLOOD, "usb 1-1: new device", step=0.01)
    unknown = [finding for finding in found("nvidia.xid", text) if finding.status == "unknown"]
    assert [finding.message for finding in unknown] == [
        "Xids: 1904 more lines of the kernel's log tell of such, of more faults than are kept"
    ]
    assert one("host.hung-task", text).status == "ok"  # whatever tells of it was kept
    assert "1904 lines tell of more faults" in one("host.kernel-log", text).message
    over = stamped(*FLOOD, step=0.01) + f"[    0.000000] {BOOT}\n[   10.000000] usb 1-1: new device\n"
    assert {finding.status for finding in found("host.kernel-log", over)} == {"ok"}
    assert log(over).left_out == {}
    old = {"lines": 9, "kept": [], "left_out": 3}
    assert source._log(old, "x").left_out == {"any": 3}


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_number_at_the_very_end_may_go_on(end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"[    1.000000] usb\n[  100.000000] NVRM: Xid (PCI:0000:61:00): 4{end}"
    wanted = ("4" if end else "4…", "warn")
    (event,) = events(text)
    assert (event.code, one("nvidia.xid", text).status) == wanted
    assert ("cut off" in one("nvidia.xid", text).message) == (not end)
    (long,) = kernel_log.condensed([text])
    assert [entry["text"][-2:] for entry in json.loads(long)["kept"]] == [wanted[0][-2:].rjust(2)]


def test_a_number_of_too_many_digits_is_told() -> None:
    (event,) = events(stamped("NVRM: Xid (PCI:0000:61:00): 12345678901, pid=7, name=p, Ch 00000001"))
    assert (event.code, event.detail) == ("123456…", {"pid": "7", "process": "p"})
    (switch,) = events(stamped("nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 12345678901, Fatal, Link 3 x"))
    assert switch.code == "123456…"
    assert one("nvswitch.sxid", stamped(switch.text)).status == "fail"


def test_of_a_line_without_end_the_start_is_read() -> None:
    line = f"[  100.000000] {XID} "
    rest = "[  101.000000] NVRM: Xid (PCI:0000:62:00): 64, x"
    (told,) = kernel_log.condensed([line, *["y" * (1 << 19)] * 9, f"{rest}\n{rest}\n"])
    kept = json.loads(told)
    assert ([entry["count"] for entry in kept["kept"]], kept["lines"]) == ([1, 1], 2)


def test_a_log_of_one_line_is_not_read_as_a_whole() -> None:
    assert log_stream.is_log(f"[  100.000000] {XID} {'y' * log_stream.HEAD}".encode())
    assert not log_stream.is_log(b"y" * log_stream.HEAD)
    assert not log_stream.is_log(b'{"nodes": [' + b'"a", ' * log_stream.HEAD)


def test_a_hostile_log_stays_small() -> None:
    begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lines = (
        f"Nov 12 03:04:05 host-{n % 3000} kernel: NVRM: Xid (PCI:0000:61:00): {n % 997}, {'x' * 2000}"
        for n in range(8000)
    )
    told = kernel_log.condensed(f"{line}\n" for line in lines)
    assert len(told) == 1025  # the rest of the hosts together
    assert sum(len(json.loads(one_)["kept"]) for one_ in told) <= 1 << 14
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begun < 150 << 10


def test_boots_are_told_apart() -> None:
    old = [f"[    0.000000] {BOOT}", f"[ 5000.000000] {XID}"]
    new = [f"[    0.000000] {BOOT}", "[    9.000000] usb 1-1: new device"]
    assert [event.boot for event in events("\n".join([*old, *new]))] == [1]
    assert [event.boot for event in events("\n".join([*old, new[1]]))] == [1]  # the first lines are lost
    assert [event.boot for event in events("\n".join([*new, *old]))] == [0]
    assert [event.boot for event in events("\n".join([old[1], "-- Reboot --", new[1]]))] == [1]
    dated = [f"Nov 12 03:04:05 a kernel: {XID}", f"Nov 12 04:04:05 a kernel: {BOOT}", "Nov 12 05:04:05 a kernel: usb"]
    assert [event.boot for event in events("\n".join(dated))] == [1]
    assert one("nvidia.xid", "\n".join([*old, *new])).status == "unknown"  # no Xid now, and no GPU is known


def test_lines_that_were_put_together_are_no_boots() -> None:
    text = "[111111111.111] NVRM: Xid (PCI:0000:05:00): 63, x\n[131453.740743] NVRM: Xid (PCI:0000:06:00): 63, x\n"
    assert [event.boot for event in events(text)] == [0, 0]


def test_how_far_back_it_reaches() -> None:
    assert log(f"[    0.000000] {BOOT}\n[    1.000000] usb\n").is_whole is True
    cut = log("[  812.000000] usb\n[  813.000000] usb\n")
    assert (cut.is_whole, cut.covers_from) == (False, "812.000000")
    assert log("Nov 12 03:04:05 a kernel: usb\n").is_whole is None


XIDS = {
    "NVRM: Xid (0000:03:00): 14, Channel 00000001": ("14", "0000:03:00", {}),
    "NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": (
        "79",
        "0000:05:00",
        {"process": "<unknown>"},
    ),
    "NVRM: Xid (PCI:0008:01:00): 13, pid=7, name=my, odd prog, Ch 00000008, intr 10000000": (
        "13",
        "0008:01:00",
        {"pid": "7", "process": "my, odd prog"},
    ),
    "NVRM: Xid (PCI:0000:9B:00): 94, Contained: CE User Channel (0x9). RST: No, D-RST: No": ("94", "0000:9b:00", {}),
    "NVRM: Xid (PCI:0008:01:00): 145, pid=9, name=w, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 0x00000008)": (
        "145",
        "0008:01:00",
        {
            "pid": "9",
            "process": "w",
            "unit": "RLW_SRC_TRACK",
            "severity": "Nonfatal",
            "context": "XC1",
            "link": "3",
            "status": "0x8",
        },
    ),
    "NVRM: Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)": (
        "154",
        "0008:01:00",
        {"value": "0x1", "action": "GPU Reset Required"},
    ),
    "NVRM: Xid (PCI:0000:61:00 GPU-I:05): 13, pid=7, name=p, Graphics SM": (
        "13",
        "0000:61:00",
        {"instance": "05", "pid": "7", "process": "p"},
    ),
    "NVRM: Xid (PCI:0000:61:00): 119": ("119", "0000:61:00", {}),
}


@pytest.mark.parametrize("line", XIDS)
def test_what_an_xid_says(line: str) -> None:
    (event,) = events(stamped(line))
    assert (event.code, event.device, event.detail) == XIDS[line]


KINDS = {
    "NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.": ("fallen-off-bus", None, "0000:b3:00.0"),
    "NVRM: The NVIDIA GPU 0000:b3:00.0\\x0aNVRM: (PCI ID: 10de:26b5) installed in this system has\\x0aNVRM: fallen off "
    "the bus and is not responding to commands.": ("fallen-off-bus", None, "0000:b3:00.0"),
    "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:894)": (
        "rm-init-failed",
        "0x22:0x56:894",
        "0000:01:00.0",
    ),
    "NVRM: RmInitAdapter failed! (0x26:0xffff:1227)": ("rm-init-failed", "0x26:0xffff:1227", None),
    "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up": (
        "sxid",
        "20034",
        "0000:a9:00.0",
    ),
    "amdgpu 0000:43:00.0: amdgpu: 3 new uncorrectable hardware errors detected in umc block": (
        "amd-ras-ue",
        "umc",
        "0000:43:00.0",
    ),
    "amdgpu 0000:43:00.0: amdgpu: 1 correctable hardware errors detected in total in gfx block": (
        "amd-ras-ce",
        "gfx",
        "0000:43:00.0",
    ),
    "amdgpu 0000:43:00.0: amdgpu: GPU reset(2) succeeded!": ("amd-reset-ok", None, "0000:43:00.0"),
    "amdgpu 0000:43:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=12, emitted seq=13": (
        "amd-ring-timeout",
        "gfx_0.0.0",
        "0000:43:00.0",
    ),
    "neuron:nd3: NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR instance-id=i-0 nd-id=3 nc-id=1 serial-num=5 action=REPLACE": (
        "neuron-hw-error",
        "HBM_UNCORRECTABLE_ERROR",
        None,
    ),
    "mlx5_core: probe of 0000:01:00.0 failed with error -22": ("driver-probe-failed", None, "0000:01:00.0"),
    "mlx5_core 0000:01:00.0: probe with driver mlx5_core failed with error -22": (
        "driver-probe-failed",
        None,
        "0000:01:00.0",
    ),
    "mlx5_core 0000:61:00.0: mlx5_health_check_fatal_sensors:1: Fatal error 1 detected": (
        "mlx5-health-bad",
        None,
        "0000:61:00.0",
    ),
    "mlx5_core 0000:61:00.1 ens1f1np1: Link down": ("lost-carrier", "ens1f1np1", "0000:61:00.1"),
    "pcieport 0000:00:03.1: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer": (
        "aer-fatal",
        None,
        "0000:00:03.1",
    ),
    "pcieport 0000:00:03.1: DPC: containment event, status:0x1f01 source:0x0000": ("dpc", None, "0000:00:03.1"),
    "pcieport 0000:00:03.1: pciehp: Slot(5): Link Down": ("dpc", None, "0000:00:03.1"),
    "pcieport 0000:00:03.1: pciehp: Slot(5): Link Down/Up ignored": ("dpc-recovered", None, "0000:00:03.1"),
    "watchdog: BUG: soft lockup - CPU#17 stuck for 22s! [python3:77]": ("soft-lockup", "17", None),
    "mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 7: be00000000800400": ("mce-ue", "3", None),
    "mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 5: be00000000800400": ("mce-ue", "1", None),
    "EDAC skx MC0: CPU 2: Machine Check Exception: 0x5 Bank 7: 0xbd80000000100134": ("mce-ue", "2", None),
    "[Hardware Error]: CPU:9 (19:1:1) MC18_STATUS[Over|UE|MiscV|AddrV|-|-|SyndV|UECC]: 0xfc00": ("mce-ue", "9", None),
    "[Hardware Error]: CPU:9 (19:1:1) MC18_STATUS[-|-|MiscV|AddrV|PCC|-|SyndV]: 0x9e00": ("mce-ue", "9", None),
    "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0)": ("memory-ue", "MC0", None),
    "EDAC MC3: UE page 0x0, offset 0x0, grain 4096, row 0": ("memory-ue", "MC3", None),
    "Memory failure: 0x12ab: recovery action for dirty LRU page: Recovered": ("memory-failure", None, None),
    "{1}[Hardware Error]: event severity: fatal": ("apei-record", "fatal", None),
    "pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0": (
        "aer-received-fatal",
        None,
        "0000:01:00.0",
    ),
    "pcieport 0000:00:01.0: AER: Multiple Uncorrected (Non-Fatal) error received: id=0010": (
        "aer-received-nonfatal",
        None,
        "0000:00:01.0",
    ),
    "AER: Uncorrectable (Fatal) error message received from 0000:01:00.0": ("aer-received-fatal", None, "0000:01:00.0"),
    "AER: Uncorrectable (Non-Fatal) error message received from 0000:01:00.0": (
        "aer-received-nonfatal",
        None,
        "0000:01:00.0",
    ),
    "pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0": (
        "aer-received-corrected",
        None,
        "0000:01:00.0",
    ),
    "XFS (dm-0): Filesystem has been shut down due to log error (0x2).": ("fs-down", "dm-0", None),
    "XFS (sda1): Corruption of in-memory data (0x8) detected at x (f.c:1).  Shutting down filesystem.": (
        "fs-down",
        "sda1",
        None,
    ),
    "Aborting journal on device sda1-8.": ("fs-down", "sda1-8", None),
    'XFS (dm-0): metadata I/O error in "xfs_trans_read_buf_map" at daddr 0x1 len 8 error 5': (
        "fs-error",
        "dm-0",
        None,
    ),
    "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm x: reading": ("fs-error", "sda1", None),
    "I/O error, dev sda, sector 0 op 0x0:(READ) flags 0x0": ("disk-error", "sda", None),
    "blk_update_request: I/O error, dev nvme0n1, sector 7": ("disk-error", "nvme0n1", None),
    "blk_update_request: critical medium error, dev sdb, sector 7": ("disk-error", "sdb", None),
    "Buffer I/O error on dev sda1, logical block 0, lost async page write": ("disk-error", "sda1", None),
    "nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10": ("nvme-dead", "nvme0", None),
    "rcu: INFO: rcu_sched self-detected stall on CPU": ("rcu-stall", "rcu_sched", None),
    "INFO: rcu_sched self-detected stall on CPU { 3}": ("rcu-stall", "rcu_sched", None),
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:": ("rcu-stall", "rcu_preempt", None),
    "BUG: unable to handle page fault for address: ffff": ("kernel-oops", None, None),
    "Out of memory: Killed process 1234 (python) total-vm:1kB": ("oom-killed", None, None),
    "Out of memory: Kill process 1234 (python) score 900 or sacrifice child": ("oom-killed", None, None),
    "Memory cgroup out of memory: Killed process 1234 (python) total-vm:1kB": ("oom-killed-in-container", None, None),
    "INFO: task nvidia-smi:77 blocked in I/O wait for more than 120 seconds.": ("hung-task", None, None),
    "EXT4-fs (nvme0n1p2): Remounting filesystem read-only": ("ro-fs", None, None),
    "nvme nvme3: Disabling device after reset failure: -19": ("nvme-dead", "nvme3", None),
    "Kernel panic - not syncing: Fatal exception": ("kernel-panic", None, None),
    "pt_main_thread[25]: segfault at 7f79 ip 00007f7c sp 00007f7c error 4 in libnccl.so.2[7f7c+d3d3000]": (
        "nccl-segv",
        None,
        None,
    ),
}


@pytest.mark.parametrize("line", KINDS)
def test_what_other_lines_are(line: str) -> None:
    (event,) = events(f"4,7,1843308145,-;{line}\n")
    assert (event.kind, event.code, event.device) == KINDS[line]


@pytest.mark.parametrize(
    "line",
    [
        "amdgpu 0000:43:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:43:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
        "amdgpu 0000:43:00.0: ring gfx uses VM inv eng 0 on hub 0",
        "NVRM: kbifInitLtr_GB202: LTR is disabled in the hierarchy",
        "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Data {0x50610002, 0x10100030}",
        "nvidia-nvswitch0: SXid (PCI:0000:a9:00.0): 20034, Severity 1 Engine instance 30 Sub-engine instance 00",
        "snd_hda_intel: probe of 0000:01:00.1 failed with error -2",
        "mce: [Hardware Error]: Machine check events logged",
        "{1}[Hardware Error]: event severity: corrected",
        "mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 5: 8c00004000010093",
        "EDAC sbridge MC0: CPU 0: Machine Check Event: 0 Bank 7: 8c00004000010093",
        "[Hardware Error]: CPU:9 (19:1:1) MC18_STATUS[-|CE|MiscV|AddrV|-|-|SyndV|CECC]: 0x9c00",
        "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0",
        "EDAC MC0: Giving out device to module skx_edac controller Skylake",
        "I/O error, dev fd0, sector 0",
        "blk_update_request: I/O error, dev sr0, sector 0",
        "I/O error, dev loop7, sector 0",
        "EXT4-fs (sda1): mounted filesystem with ordered data mode",
        "XFS (dm-0): Ending clean mount",
        "Memory cgroup stats for /x",
        "nvme nvme0: 32/0/0 default/read/poll queues",
        "pcieport 0000:00:03.1: AER: enabled with IRQ 34",
    ],
)
def test_lines_that_tell_of_nothing(line: str) -> None:
    assert events(stamped("usb 1-1: new device", line)) == ()


def test_a_lost_gpu_is_told_over_three_lines() -> None:
    text = (
        "[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
        "               NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
        "               NVRM: fallen off the bus and is not responding to commands.\n"
    )
    for log_ in (text, "".join(f"[ 1843.308145] {line.split('] ')[-1].strip()}\n" for line in text.splitlines())):
        (event,) = events(log_)
        assert (event.kind, event.device) == ("fallen-off-bus", "0000:b3:00.0")


def test_a_firmware_s_record_names_its_device_and_how_severe_it_is() -> None:
    lines = [
        "{1}[Hardware Error]: event severity: recoverable",
        "{1}[Hardware Error]:   section_type: PCIe error",
        "{1}[Hardware Error]:   device_id: 0000:11:01.0",
        "{2}[Hardware Error]: event severity: fatal",
        "{2}[Hardware Error]:   section_type: memory error",
        "{2}[Hardware Error]:   device_id: 0000:12:01.0",
    ]
    device, record, memory = events(stamped(*lines))[1:]
    assert (device.kind, device.code, device.device) == ("aer-apei", "recoverable", "0000:11:01.0")
    assert (record.kind, record.code) == ("apei-record", "fatal")
    assert (memory.kind, memory.code, memory.detail) == ("apei-section", "fatal", {"part": "memory error"})
    assert one("pcie.events", stamped(*lines)).status == "warn"
    statuses = {finding.subject: finding.status for finding in found("host.mce", stamped(*lines[:3]))}
    assert statuses["node"] == "ok"  # PCIe alone
    (finding,) = (one_ for one_ in found("host.mce", stamped(*lines)) if one_.subject == "node")
    assert (finding.status, finding.count) == ("fail", 1)


def test_a_record_of_the_boot_before_is_not_of_this_one() -> None:
    lines = ["BERT: Error records from previous boot:", "[Hardware Error]: event severity: fatal"]
    lines.append("[Hardware Error]:  section_type: memory error")
    assert events(stamped(*lines)) == ()


def test_noise_changes_nothing() -> None:
    lines = [XID, "INFO: task nvidia-smi:77 blocked for more than 120 seconds.", *KINDS][:12]
    random.seed(7)
    noisy = [line for told in lines for line in (*(f"usb {random.random()}" for _ in range(20)), told)]
    plain, mixed = (events(stamped(*texts, step=0.0)) for texts in (lines, noisy))
    assert [(e.kind, e.text, e.count) for e in plain] == [(e.kind, e.text, e.count) for e in mixed]


def test_a_log_server_s_file_is_of_many_machines() -> None:
    text = f"Nov 12 03:04:05 a kernel: {XID}\nNov 12 03:04:06 b kernel: usb 1-1\nNov 12 03:04:07 a kernel: {XID}\n"
    given = recordings(text)
    assert [json.loads(one_.answers[Question("document", "kernel-log")].value)["host"] for one_ in given] == ["a", "b"]
    whole = kernel_log.condensed([text])
    assert [json.loads(told)["lines"] for told in whole] == [2, 1]


@pytest.mark.parametrize("form", [name for name in FORMS if name not in ("no stamps", "Windows", "colours")])
def test_a_long_log_is_read_in_pieces_and_says_the_same(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_stream, "LARGEST_WHOLE", 1 << 17)
    monkeypatch.setattr(log_stream, "_PIECE", 1 << 14)
    line = FORMS[form][0]
    text = "".join(
        line.format(
            f"usb 1-1: number {place}" if place % 3 else f"NVRM: Xid (PCI:0000:61:00): 45, pid=7, name=p, Ch {place}"
        )
        + "\n"
        for place in range(6000)
    )
    assert len(text) > log_stream.LARGEST_WHOLE
    path = tmp_path / "long.log"
    path.write_text(text)
    (streamed,) = inputs.opened([str(path)])
    kept = json.loads(streamed.answers[Question("document", "kernel-log")].value)
    exact = condensed(text.splitlines())
    assert {**kept, "host": None} == {**exact, "host": None}
    assert kept["kept"][0]["count"] == 2000


def test_a_long_log_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = stamped(*[f"{XID} {place}" for place in range(60_000)], step=0.01)

    class Piped:
        buffer = io.BytesIO(text.encode())

    monkeypatch.setattr(sys, "stdin", Piped)
    (recording,) = inputs.opened(["-"])
    assert json.loads(recording.answers[Question("document", "kernel-log")].value)["lines"] == 60_000


def test_a_long_text_that_is_no_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("one line like any other\n" * 200_000)
    with pytest.raises(UnknownForm):
        inputs.opened([str(path)])


def test_a_long_line_that_is_no_log_is_refused_by_its_start(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("x" * (log_stream.LARGEST_WHOLE + 1))
    with pytest.raises(UnknownForm, match="not a form that is known"):
        inputs.opened([str(path)])
    assert log_stream.is_endless(b"x" * log_stream.HEAD)
    assert not log_stream.is_endless(b'{"nodes": [' + b"7, " * log_stream.HEAD)
    assert not log_stream.is_endless(b"\n".rjust(log_stream.HEAD))


RECORDS = [
    b"6,100,812000000,-;usb 1-1: new device\n SUBSYSTEM=usb\n DEVICE=+usb:1-1\n",
    f"4,101,813000000,-;{XID}\n".encode(),
]


def test_the_ring_is_read_record_by_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[bytes | OSError] = [
        RECORDS[0],
        BrokenPipeError(32, "overwritten"),
        RECORDS[1],
        BlockingIOError(11, "end"),
    ]
    monkeypatch.setattr(kernel_ring.os, "open", lambda path, flags: 99)
    monkeypatch.setattr(kernel_ring.os, "close", lambda descriptor: None)

    def read(descriptor: int, size: int) -> bytes:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(kernel_ring.os, "read", read)
    told = LiveHost().process("kernel_log")
    assert (told.value["lines"], told.value["oldest"], told.value["whole"]) == (2, "812.000000", False)
    assert [entry["text"] for entry in told.value["kept"]] == [XID]
    json.dumps(told.value)


def test_a_refusal_of_the_ring_is_told_and_the_journal_is_asked() -> None:
    def ask(question: Question) -> Answer:
        return Answer(None, "not-permitted", f"no {question.kind}")

    host = RecordedHost(ask)
    read = source.readings(host)
    assert (read.read.reason, read.read.source) == ("not-permitted", "/dev/kmsg")
    assert Question("command", "journalctl -k -b --no-pager -o short-iso -n 20000") in host.answers


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"kept": 7},
        {"kept": [7, {"text": 7}], "lines": -1},
        {"kept": [{"text": None}], "lines": True},
        {"lines": "x"},
    ],
)
def test_a_damaged_recording_is_no_log(value: object) -> None:
    read = source.readings(RecordedHost(lambda q: Answer(value) if q.kind == "process" else Answer(None, "not-asked")))
    assert (read.read.known, read.events) == (False, ())


def test_odd_values_in_a_recording_are_not_believed() -> None:
    entry = {
        "text": XID,
        "first": 7,
        "last": [],
        "count": -4,
        "boot": "x",
        "order": True,
        "uptime": "y",
        "ends": 1 << 99,
    }
    value = {"kept": [entry, 9, {"text": "usb"}], "lines": 3, "oldest": 9, "whole": "yes"}
    read = source.readings(RecordedHost(lambda q: Answer(value) if q.kind == "process" else Answer(None, "not-asked")))
    (event,) = read.events
    assert (event.first, event.count, event.boot, event.order, event.seconds) == (None, 1, 0, 0, None)
    assert (read.is_whole, read.covers_from) == (None, None)


@pytest.mark.parametrize("cut", range(0, len(XID) + 20, 7))
def test_a_line_that_is_cut_off_never_breaks_it(cut: int) -> None:
    text = stamped("usb 1-1: new device", XID)[: -cut or None]
    assert len(events(text)) <= 1
