"""What the kernel's log tells of the machine itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from raxl.checks import P0, P1, Case, Verdict, check, evidence, fail, ok, skip, unknown, unread
from raxl.checks.log_events import (
    FAIL,
    INFO,
    WARN,
    Weight,
    current,
    cut,
    none_told,
    times,
    unreadable,
    verdict,
    weighed,
)
from raxl.checks.words import listed
from raxl.model.facts import KernelEvent
from raxl.model.finding import QUICK, ROOT
from raxl.model.problem import FAILED

_OF_ACCELERATOR = re.compile(
    r"nvidia|nv-|nv_|dcgm|gpud|cache_mgr|UVM|rocm|amd-?smi|amdgpu|kfd|hl-smi|habana|neuron|npu|xpu-?smi|furiosa|rbln"
    r"|irq/\d+-(?:nv|amdgpu)|tpu"
)
_READ_LOG = "run as root, or sysctl kernel.dmesg_restrict=0; in a container, mount /dev/kmsg"


@check("host.kernel-log", "The kernel's log can be read, back to the boot", P0, QUICK, "config", vantage=ROOT)
def kernel_log(case: Case) -> Iterator[Verdict]:
    """All that is told of Xids, resets, hung tasks and PCIe errors comes from the kernel's log.

    Read: /dev/kmsg; the kernel's part of the journal where that is refused; or the log that `--from` names. Lines that
    tell of no fault are counted and not kept.

    It is well whenever lines were read; a ring that has lost its oldest lines says from when on it tells.

    Not to be confused: an empty log, as some containers have it, is not a log without errors, and is unknown here.
    """
    log = case.facts.kernel_log
    if not log.read.known:
        yield unread("node", f"the kernel's log ({_READ_LOG})", log.read)
    elif not log.read.value:
        yield unknown("node", FAILED, f"the kernel's log is empty ({log.read.source})")
    else:
        reach = "reaches back to the boot" if log.is_whole else f"tells from {log.covers_from or 'an unknown time'} on"
        words = f"{log.read.value} lines of the kernel's log were read; it {reach}"
        if log.left_out:
            words += f"; {sum(log.left_out.values())} lines tell of more faults than are kept, and do not count"
        yield ok("node", words, evidence(log.read))


@check(
    "host.hung-task",
    "No task of the kernel is stuck",
    P0,
    QUICK,
    "reboot",
    vantage=ROOT,
    reference="https://github.com/leptonai/gpud/pull/117",
)
def hung_task(case: Case) -> Iterator[Verdict]:
    """A task that waits in the kernel and cannot be killed: `task NAME:PID blocked for more than 120 seconds`.

    It warns of each program that did; it fails where the program is a tool or thread of an accelerator's driver, for
    then every later call to that driver hangs as well. Of a process that hangs still host.dstate tells it.

    Not to be confused: a slow network filesystem blocks ordinary programs in the same way; that is the warning.
    """
    events = current(case, "hung-task")
    missing = unreadable(case, "stuck tasks")
    if missing or not events:
        yield missing or none_told(case, "stuck task")
        return
    yield from cut(case, "stuck tasks", "hung-task")
    for name in dict.fromkeys(event.detail.get("process", "?") for event in events):
        own = [event for event in events if event.detail.get("process", "?") == name]
        words = f"{name} was blocked in the kernel for more than two minutes{times(own)}"
        if _OF_ACCELERATOR.match(name):
            weight = Weight(FAIL, "reboot_node")
            words = f"{words}: it works with an accelerator's driver, which then answers nobody"
        else:
            weight = Weight(WARN, "watch")
        under = ("host.dstate", f"process {name}")
        yield replace(verdict(case, own, weight, words, about="node", root=name), under=under)


_LOCKUPS = {
    "soft-lockup": Weight(FAIL, "reboot_node", "a CPU ran in the kernel without end (soft lock-up)"),
    "hard-lockup": Weight(FAIL, "reboot_node", "a CPU took no interrupts any more (hard lock-up)"),
    "rcu-stall": Weight(FAIL, "reboot_node", "a CPU did not come out of the kernel for 20 s or more (RCU stall)"),
    "kernel-oops": Weight(FAIL, "reboot_node", "the kernel met an error of its own and went on (oops)"),
    "kernel-panic": Weight(FAIL, "reboot_node", "the kernel stopped in a panic"),
}


@check(
    "host.lockup",
    "No CPU hung in the kernel, and the kernel met no error of its own",
    P0,
    QUICK,
    "reboot",
    vantage=ROOT,
)
def lockup(case: Case) -> Iterator[Verdict]:
    """A CPU that hangs in the kernel: `soft lockup - CPU#3 stuck for 22s`, a hard lock-up, `rcu_sched self-detected
    stall on CPU`; an oops of the kernel, and a panic.

    Each fails. Those of an earlier boot are told by the log of that boot and do not count.

    Not to be confused: a machine that was suspended, or is under a debugger, tells of lock-ups that are none.
    """
    yield from _of_host(case, _LOCKUPS, "lock-up, stall, oops or panic")


_STORAGE = {
    "ro-fs": Weight(FAIL, "support", "a filesystem was made read-only after an error"),
    "fs-down": Weight(FAIL, "support", "a filesystem was shut down, or its journal was aborted"),
    "fs-error": Weight(WARN, "support", "a filesystem met an error: its disk fails, or it has to be checked (fsck)"),
    "disk-error": Weight(WARN, "support", "reading or writing a disk failed"),
    "nvme-dead": Weight(WARN, "support", "an NVMe disk did not answer, and was reset or given up"),
}


@check("host.storage-events", "No disk failed", P1, QUICK, "vendor", vantage=ROOT)
def storage(case: Case) -> Iterator[Verdict]:
    """Disks of which the kernel's log tells that they failed.

    It fails where a filesystem was made read-only (`Remounting filesystem read-only`) or was shut down (XFS, a journal
    of ext4's), and warns of errors of ext4, XFS and Btrfs, of reads and writes that failed (`I/O error, dev sda`), and
    where an NVMe controller was reset after a time-out or disabled.

    Not to be confused: drives without a medium (floppy disks, CDs) and loop devices fail on a sound machine, and are
    left out.
    """
    events = current(case, *_STORAGE)
    if not events:
        yield from _of_host(case, _STORAGE, "error of a disk or of ext4, XFS or Btrfs")
        return
    yield from cut(case, "errors of disks", *_STORAGE)
    for kind, weight in _STORAGE.items():
        own = [event for event in events if event.kind == kind]
        if own:
            names = listed(sorted({event.code for event in own if event.code}))
            words = f"{names or 'the node'}: {weight.meaning}{times(own)}"
            yield verdict(case, own, weight, words, about="node", root=kind)


_KILLED = ("oom-killed", "oom-killed-in-container")


@check("host.oom", "The kernel killed no process for want of memory", P1, QUICK, "app", vantage=ROOT)
def oom(case: Case) -> Iterator[Verdict]:
    """The kernel's OOM killer: `oom-kill:constraint=…`, or `Out of memory: Killed process …` without such a line.

    It warns where the node itself had no memory left, and names the victim. Where a container met its own limit
    (CONSTRAINT_MEMCG) that is said, and is the container's affair.

    Not to be confused: Ray's memory monitor kills workers before the kernel does; the raylet's log tells of that.
    """
    events = current(case, "oom", *_KILLED)
    told = {event.detail.get("pid") for event in events if event.kind == "oom"}
    events = [event for event in events if event.kind == "oom" or event.detail.get("pid") not in told]
    missing = unreadable(case, "killed processes")
    if missing or not events:
        yield missing or none_told(case, "process killed for want of memory")
        return
    yield from cut(case, "processes killed for want of memory", "oom", *_KILLED)
    for limit in (True, False):
        own = [event for event in events if (event.code == "CONSTRAINT_MEMCG" or event.kind == _KILLED[1]) is limit]
        if not own:
            continue
        victims = listed(list(dict.fromkeys(event.detail.get("process", "a process") for event in own)), 4)
        if limit:
            words = f"a container met its memory limit: the kernel killed {victims}{times(own)}"
            yield verdict(case, own, Weight(INFO, "ignore"), words, about="node", root="container")
        else:
            words = f"the node ran out of memory: the kernel killed {victims}{times(own)}"
            yield verdict(case, own, Weight(WARN, "check_app"), words, about="node", root="node")


_UNCORRECTED = Weight(FAIL, "rma", "uncorrected machine check or memory error")


@check("host.mce", "CPUs and memory have no uncorrected errors", P0, QUICK, "vendor", vantage=ROOT)
def machine_check(case: Case) -> Iterator[Verdict]:
    """Errors of CPUs and host memory that no code could correct.

    Read: machine checks in the kernel's log, by their status word (UC or PCC: uncorrected), uncorrected errors that
    EDAC, the firmware's records (APEI) and the handling of bad pages tell, and the counters of the memory controllers
    (/sys/devices/system/edac/mc/mc*/ue_count and ce_count). An uncorrected one fails. Corrected ones are counted since
    the driver was loaded, so that a single reading of them is information.

    Not to be confused: `[Hardware Error]` also stands before corrected and deferred errors, and before those of PCIe
    devices. Virtual machines have no such counters.
    """
    events = _uncorrected(case)
    missing = unreadable(case, "machine checks")
    yield from cut(case, "machine checks", *_UNCORRECTED_KINDS)
    if missing and not events:
        yield missing
    elif events:
        words = f"{_UNCORRECTED.meaning}{times(events)} in the kernel's log"
        yield verdict(case, events, _UNCORRECTED, words, about="node", root="log")
    else:
        yield none_told(case, "uncorrected machine check or memory error")
    yield from _counters(case)


_UNCORRECTED_KINDS = ("mce-ue", "memory-ue", "memory-failure", "apei-section", "apei-record")


def _uncorrected(case: Case) -> list[KernelEvent]:
    """What the log tells of uncorrected errors. A firmware's record counts by what is in it: pcie.events tells of
    PCIe devices."""
    events = current(case, *_UNCORRECTED_KINDS)
    parts = {event.code for event in current(case, "aer-apei")}
    parts |= {event.code for event in events if event.kind == "apei-section"}
    return [event for event in events if event.kind != "apei-record" or event.code not in parts]


def _counters(case: Case) -> Iterator[Verdict]:
    reading = case.facts.host.get("memory_errors")
    if reading is None:
        return
    if not reading.known:
        yield unread("memory", "the error counters of the memory controllers", reading)
        return
    counts = reading.value
    uncorrected = {name: pair[0] for name, pair in counts.items() if pair[0]}
    corrected = sum(pair[1] or 0 for pair in counts.values())
    unread_counters = [name for name, pair in counts.items() if pair[0] is None]
    if not counts:
        yield skip("memory", "no memory controller counts its errors here")
    elif uncorrected:
        told = listed([f"{count} at {name}" for name, count in uncorrected.items()])
        yield fail(
            "memory",
            f"host memory had uncorrected errors: {told}",
            evidence(reading),
            remedy="drain the node and have the memory module replaced; edac-util -v names it",
            remedy_class="rma",
        )
    elif unread_counters:
        yield unknown("memory", FAILED, f"the uncorrected errors of {listed(unread_counters)} could not be read")
    else:
        words = f"no uncorrected errors at {len(counts)} memory controllers, {corrected} corrected ones"
        yield ok("memory", words, evidence(reading))


def _of_host(case: Case, table: dict[str, Weight], what: str) -> Iterator[Verdict]:
    events = current(case, *table)
    missing = unreadable(case, f"a {what}")
    if missing or not events:
        yield missing or none_told(case, what)
        return
    yield from cut(case, what, *table)
    yield from weighed(case, table, events)
