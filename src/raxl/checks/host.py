"""The machine itself: what a process of Ray's may take of it."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, Case, Verdict, check, evidence, fail, ok, skip, unread, warn
from raxl.checks.words import size
from raxl.model.finding import QUICK

_UNLIMIT = "set LimitMEMLOCK=infinity for the service that starts the raylet, or --ulimit memlock=-1 for its container"


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

    Read: the limit of the raylet, else of a process that raxl starts. It fails where the node has an RDMA device and
    the soft limit is at most `fail_bytes` (the kernel's default, 8 MiB; 64 KiB before 5.16), warns at any other limit.

    Not to be confused: the limit of a login shell says nothing of a service's. CAP_IPC_LOCK makes the limit moot.
    """
    rdma = [nic for nic in case.node.nics if nic.kind not in (None, "ethernet")]
    reading = case.facts.limits
    if not reading.known:
        yield unread("node", "the limit of locked memory", reading)
        return
    soft, hard = reading.value["memlock"]
    told = evidence(reading, f"memlock soft {size(soft)}, hard {size(hard)}")
    if soft is None:
        yield ok("node", "locked memory is not limited", told)
    elif not rdma:
        yield skip("node", f"locked memory is limited to {size(soft)}, and the node has no RDMA device")
    elif soft <= fail_bytes:
        words = f"locked memory is limited to {size(soft)}: RDMA cannot register buffers"
        yield fail("node", words, told, remedy=_UNLIMIT, remedy_class="config")
    else:
        words = f"locked memory is limited to {size(soft)}: RDMA fails once it has registered as much"
        yield warn("node", words, told, remedy=_UNLIMIT, remedy_class="config")
