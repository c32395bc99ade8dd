"""Processes that wait in the kernel and cannot be ended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from raxl.checks import P0, Case, Verdict, check, evidence, fail, ok, unknown, unread, warn
from raxl.model.facts import NOT_READ
from raxl.model.finding import HOST, STANDARD, Evidence
from raxl.model.problem import NOT_PERMITTED

_TOOLS = re.compile(
    r"nvidia|nv-|nv_|dcgm|rocm|amd-smi|amdsmi|amdgpu|kfd|neuron|hl-smi|habana|npu-smi|ascend|xpu-smi|tt-smi|rbln|furiosa"
)
_PLACES = re.compile(r"\b(nv_|nvidia|uvm_|os_acquire|rm_|amdgpu|kfd_|neuron|habana|xe_|i915|mlx5_|ib_|nvlink)")


@check(
    "host.dstate",
    "No process hangs in the kernel",
    P0,
    STANDARD,
    "reboot",
    vantage=HOST,
    reference="https://github.com/leptonai/gpud/pull/117",
)
def dstate(case: Case) -> Iterator[Verdict]:
    """A process in state D waits in the kernel for a driver that does not come back; no signal ends it.

    Read: the processes that were in state D in two samples, with their start time, and where in the kernel they wait.
    It fails where one is a management tool of accelerators or waits in a driver of accelerators or adapters, and warns
    for any other. It is well only where the processes of the host are seen.

    Not to be confused: disk I/O passes through state D for milliseconds or seconds; a network filesystem whose server
    is away holds processes there too.
    """
    reading = case.facts.processes.get("stuck", NOT_READ)
    if not reading.known:
        yield unread("node", "which processes hang in the kernel", reading)
        return
    stuck = [one for one in reading.value if isinstance(one, Mapping)]
    blocked = [one for one in case.facts.kernel_log.events if one.kind == "hung-task" and one.boot == 0]
    for one in stuck[:32]:
        logged = [event for event in blocked if event.detail.get("pid") == str(one.get("pid"))]
        told = [evidence(reading, _words(one, "")), *[Evidence("kernel log", event.text[:200]) for event in logged[:1]]]
        yield _judged(one, told, ", for more than two minutes by the kernel's log" if logged else "")
    sees_host = case.facts.vantage.sees_host_processes
    if not stuck and sees_host.value is not True:
        words = "none of the processes seen hangs in the kernel; those of the host are not seen"
        yield unknown("node", NOT_PERMITTED, words)
    elif not stuck:
        yield ok("node", "no process hangs in the kernel", evidence(reading, "none"))


def _words(one: Mapping[str, Any], since: str) -> str:
    seconds = f" twice within {one['seconds']:g} s" if isinstance(one.get("seconds"), (int, float)) else ""
    who, place = f"process {one.get('pid', '?')} ({one.get('comm', '?')})", one.get("wchan") or "an unknown place"
    return f"{who} hangs in the kernel in {place} (state D{seconds}{since})"


def _judged(one: Mapping[str, Any], told: Sequence[Evidence], since: str) -> Verdict:
    name, place = str(one.get("comm", "")), str(one.get("wchan") or "")
    remedy = f"cat /proc/{one.get('pid')}/stack; drain, collect the kernel log, and reboot: it cannot be killed"
    if _TOOLS.search(name) or _PLACES.search(place):
        words = f"{_words(one, since)}: a driver does not answer"
        return fail(f"process {name}", words, *told, remedy=remedy, remedy_class="reboot", root=place)
    remedy = f"cat /proc/{one.get('pid')}/stack; look for a disk or network filesystem that does not answer"
    return warn(f"process {name}", _words(one, since), *told, remedy=remedy, remedy_class="drain", root=place)
