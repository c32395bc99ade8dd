"""The machine itself: what a process of Ray's may take of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Optional

from raxl.checks import P0, P1, Case, Verdict, check, evidence, fail, ok, skip, unread, warn
from raxl.checks.vantage import words as seen_from
from raxl.checks.words import size
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK

_UNLIMIT = (
    "set LimitMEMLOCK=infinity for the service that starts the raylet, or --ulimit memlock=-1 for its container; drain "
    "the node and restart its raylet"
)
_MORE_FILES = (
    "set LimitNOFILE=1048576 for the service that starts the raylet, or --ulimit nofile=1048576 for its container"
)


@check(
    "host.memlock",
    "Processes may lock the memory that RDMA registers",
    P0,
    QUICK,
    "config",
    reference="https://github.com/openucx/ucx/issues/8229",
)
def memlock(case: Case, fail_bytes: float = 8 << 20) -> Iterator[Verdict]:
    """RDMA registers memory by locking it, and a limit makes that fail in the middle of a job.

    Read: the limit of every raylet, else of a process that raxl starts. It fails where the node has an RDMA device and
    the soft limit is at most `fail_bytes` (the kernel's default, 8 MiB; 64 KiB before 5.16), warns at any other limit.

    Not to be confused: the limit of a login shell says nothing of a service's. CAP_IPC_LOCK makes the limit moot.
    """
    for subject, limits, source in _limits(case):
        if limits is None:
            yield unread(subject, "the limit of locked memory", source)
            continue
        yield _judged_memlock(case, subject, limits["memlock"], source, fail_bytes)


Limits = Mapping[str, tuple[Optional[int], Optional[int]]]


def _limits(case: Case) -> Iterator[tuple[str, Limits | None, Reading]]:
    """The limits of every raylet, where those were seen, else of the process that asks: whose, and where from."""
    raylets = case.facts.processes.get("raylets", NOT_READ)
    every = [one for one in raylets.value if isinstance(one, Mapping)] if raylets.known else []
    told = [one for one in every if {"memlock", "nofile"}.issubset(one.get("limits") or ())]
    for one in told:
        yield f"raylet {one.get('pid')}", one["limits"], Reading(one["limits"], f"/proc/{one.get('pid')}/limits")
    if not told:
        own = case.facts.limits
        yield "node", own.value if own.known else None, own


def _judged_memlock(
    case: Case, subject: str, limit: tuple[int | None, int | None], source: Reading, fail_bytes: float
) -> Verdict:
    rdma = [nic for nic in case.node.nics if nic.kind not in (None, "ethernet")]
    soft, hard = limit
    own = case.facts.limits
    shell = [evidence(own, f"raxl's own: {size(own.value['memlock'][0])}")] if subject != "node" and own.known else []
    told = [evidence(source, f"memlock soft {size(soft)}, hard {size(hard)}"), *shell]
    if soft is None:
        return ok(subject, "locked memory is not limited", *told)
    if not rdma:
        return skip(subject, f"locked memory is limited to {size(soft)}, and the node has no RDMA device")
    whose = "" if subject == "node" else f" of {subject}"
    if soft <= fail_bytes:
        words = f"locked memory{whose} is limited to {size(soft)}: RDMA cannot register buffers"
        return fail(subject, words, *told, remedy=_UNLIMIT, remedy_class="config")
    words = f"locked memory{whose} is limited to {size(soft)}: RDMA fails once it has registered as much"
    return warn(subject, words, *told, remedy=_UNLIMIT, remedy_class="config")


@check(
    "host.nofile",
    "Ray's processes may open enough files",
    P1,
    QUICK,
    "config",
    reference="https://docs.ray.io/en/latest/cluster/vms/user-guides/large-cluster-best-practices.html",
)
def nofile(
    case: Case,
    warn_files: float = 65536,
    fail_files: float = 8192,
    warn_share: float = 0.80,
    fail_share: float = 0.95,
) -> Iterator[Verdict]:
    """Ray holds a connection to every other process of the cluster; at the limit of open files it loses nodes and
    workers.

    Read: the hard limit of the raylet, else of a process that raxl starts, and `/proc/sys/fs/file-nr`. It warns below
    `warn_files` (Ray asks for 65536) and fails below `fail_files`; and of all files that the system may have open it
    warns from `warn_share` on and fails from `fail_share` on (gpud).

    Not to be confused: `ray.init` raises the soft limit to the hard one, `ray start` does not; so the hard one counts.
    """
    for subject, limits, source in _limits(case):
        if limits is None:
            yield unread(subject, "the limit of open files", source)
            continue
        soft, hard = limits["nofile"]
        told = evidence(source, f"nofile soft {soft or 'unlimited'}, hard {hard or 'unlimited'}")
        if hard is None or hard >= warn_files:
            yield ok(subject, f"{hard or 'any number of'} files may be open at once", told)
            continue
        words = f"only {hard} files may be open at once, and Ray asks for 65536"
        made = fail if hard < fail_files else warn
        yield made(subject, words, told, remedy=_MORE_FILES, remedy_class="config")
    yield _file_table(case.facts.host.get("open_files", NOT_READ), warn_share, fail_share)


_NO_LIMIT = (1 << 63) - 1
"""What the kernel shows where nobody set one."""


def _file_table(reading: Reading, warn_share: float, fail_share: float) -> Verdict:
    if not reading.known:
        return unread("file-nr", "how many files the system has open", reading)
    used, most = reading.value
    share = used / most if most else 0.0
    limit = f"of at most {most} files" if most < _NO_LIMIT else "files"
    words = f"{used} {limit} of the whole system are open"
    if share < warn_share:
        return ok("file-nr", words, evidence(reading, f"{used} of {most}"))
    made = fail if share >= fail_share else warn
    remedy = "lsof | awk '{print $1}' | sort | uniq -c | sort -n | tail; raise fs.file-max in /etc/sysctl.d"
    return made("file-nr", words, evidence(reading, f"{used} of {most}"), remedy=remedy, remedy_class="config")


@check(
    "host.vantage",
    "From where the node is looked at",
    P0,
    QUICK,
    "none",
    reference="https://docs.kernel.org/filesystems/proc.html",
)
def vantage(case: Case) -> Iterator[Verdict]:
    """What can be seen depends on where one looks from: a container sees neither the host's processes nor, often, its
    kernel log, and without root configuration space is cut off after 64 bytes.

    Read: /proc/2/comm, the effective user, cgroup, the marks of container managers, DMI and the processor's hypervisor
    flag. It never fails: it says what the answers of all other checks are worth.

    Not to be confused: a pod shows the cgroup `0::/` as the host does; ARM machines and containers may hide DMI.
    """
    if case.node.recorded_by is None:
        yield skip("node", "what was given is a file: nobody looked at a machine")
        return
    own, system = case.facts.vantage, case.node.os
    if not own.is_root.known:
        yield unread("node", "as whom the node is looked at", own.is_root)
        return
    sees = {True: "sees the host's processes", False: "does not see the host's processes"}
    told = [seen_from(case), sees.get(own.sees_host_processes.value, "may not see the host's processes")]
    shown = [evidence(one) for one in (own.is_root, own.sees_host_processes) if one.known]
    machine = {None: "whether it is a virtual machine is not known", "none": "no hypervisor"}
    told.append(machine.get(system.virtualization, f"hypervisor {system.virtualization}"))
    yield ok("node", ", ".join(told), *shown)
