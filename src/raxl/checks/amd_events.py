"""What amdgpu tells of its GPUs in the kernel's log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.checks import P0, Case, Verdict, absent, check
from raxl.checks.log_events import (
    FAIL,
    INFO,
    WARN,
    Weight,
    by_device,
    current,
    cut,
    none_told,
    times,
    unreadable,
    verdict,
    worst,
)
from raxl.checks.words import listed
from raxl.model.facts import KernelEvent
from raxl.model.finding import QUICK, ROOT

_RAS = "https://docs.kernel.org/gpu/amdgpu/ras.html"
_MEMORY = {
    "amd-ras-ue": Weight(FAIL, "reset_gpu", "uncorrectable errors"),
    "amd-ras-errevent": Weight(FAIL, "reboot_node", "an uncorrectable error that stopped the GPU"),
    "amd-poison-consumed": Weight(FAIL, "reset_gpu", "damaged data was used: the driver resets the GPU"),
    "amd-poison-queue": Weight(WARN, "restart_app", "damaged data was used: the job that read it was stopped"),
    "amd-ras-de": Weight(WARN, "reset_when_idle", "damaged data was marked, which is fatal when it is used"),
    "amd-ras-ce": Weight(INFO, "watch", "correctable errors"),
    "amd-bad-page-over": Weight(FAIL, "rma", "more bad pages than its table holds"),
    "amd-bad-page-near": Weight(WARN, "watch", "its table of bad pages is nearly full: plan for a replacement"),
}
_STATE = {
    "amd-init-fatal": Weight(FAIL, "reboot_node", "the driver could not start it"),
    "amd-smu-dead": Weight(FAIL, "reboot_node", "its management processor does not answer"),
    "amd-kfd-wedged": Weight(FAIL, "reset_gpu", "its scheduler hangs"),
    "amd-page-fault": Weight(INFO, "check_app", "a job used an address without memory"),
}
_LOOKED_FOR = "memory error, error record, hang or reset of an AMD GPU"
_ACA = ("amd-aca", "amd-aca-status")
_RESET = ("amd-reset-begin", "amd-reset-ok", "amd-reset-failed", "amd-ring-timeout", "amd-soft-recovered")
_ELSEWHERE = frozenset(
    (
        "amd-ras-ue",
        "amd-ras-errevent",
        "amd-poison-consumed",
        "amd-bad-page-over",
        "amd-bad-page-near",
        "amd-init-fatal",
        "amd-smu-dead",
        "amd-kfd-wedged",
        "amd-reset-begin",
        "amd-reset-ok",
        "amd-reset-failed",
    )
)
"""What amd.ras-ue, amd.bad-pages, amd.lost and amd.reset tell of a node whose GPUs are known."""
_VALID, _UNCORRECTED, _CORRUPT, _DEFERRED, _POISON = (1 << bit for bit in (63, 61, 57, 44, 43))


@check("amd.events", "The kernel's log accuses no AMD GPU", P0, QUICK, "reset", vantage=ROOT, reference=_RAS)
def events(case: Case) -> Iterator[Verdict]:
    """What amdgpu tells of memory errors (RAS), error records (ACA), bad pages, hangs and resets. One finding a GPU and
    kind.

    Uncorrectable errors, a reset that failed, a full table of bad pages fail. A reset that succeeded warns: the job on
    that GPU is gone. A ring that timed out and was recovered, and a page fault, are the job's own and information, as
    corrected errors are. Of an ACA record the status counts: uncorrected or context corrupt fails, else it warns.

    Where the node's GPUs are known, what amd.ras-ue, amd.bad-pages, amd.lost and amd.reset tell is left to them.

    Not to be confused: `no uncorrectable hardware errors` is good news.
    """
    known = absent(case, "amd") is None
    kinds = [kind for kind in (*_MEMORY, *_STATE, *_ACA, *_RESET) if not (known and kind in _ELSEWHERE)]
    told = current(case, *kinds)
    if not told:
        yield absent(case, "amd") or unreadable(case, "AMD GPUs") or none_told(case, _LOOKED_FOR)
        return
    yield from cut(case, "AMD GPUs", *kinds)
    for address, own in by_device(told):
        yield from _of_gpu(case, address or "of which the log gives no address", own)


def _of_gpu(case: Case, address: str, own: Sequence[KernelEvent]) -> Iterator[Verdict]:
    recovered = _last(own, "amd-reset-ok") > _last(own, "amd-reset-failed", "amd-reset-begin", "amd-kfd-wedged")
    for kind, weight in (_MEMORY | _STATE).items():
        alike = [event for event in own if event.kind == kind]
        if alike:
            blocks = listed([event.code for event in alike if event.code and kind.startswith("amd-ras")])
            words = f"GPU {address}: {weight.meaning}{f' in {blocks}' if blocks else ''}{times(alike)}"
            if recovered and kind == "amd-kfd-wedged":
                weight, words = Weight(INFO, "follow_root"), f"{words}, before it was reset"
            yield verdict(case, alike, weight, words, vendor="amd", root=kind)
    records = [event for event in own if event.kind in _ACA]
    if records:
        states = [event for event in records if event.kind == "amd-aca-status"]
        weight = worst([_record(event) for event in states or records])
        words = f"GPU {address}: {weight.meaning}{times([e for e in records if e.kind == 'amd-aca'])}"
        yield verdict(case, records, weight, words, vendor="amd", root="amd-aca")
    resets = [event for event in own if event.kind in _RESET]
    if resets:
        weight = _outcome(resets)
        yield verdict(case, resets, weight, f"GPU {address}: {weight.meaning}", vendor="amd", root="amd-reset")


def _record(event: KernelEvent) -> Weight:
    """An error record, by its status: AMD's machine check architecture, bits 63, 61, 57, 44 and 43."""
    status = int(event.code, 16) if event.kind == "amd-aca-status" and event.code else 0
    if status & _VALID and status & (_UNCORRECTED | _CORRUPT):
        return Weight(FAIL, "reset_gpu", f"an error record (ACA) of an uncorrected error, status {event.code}")
    if status & _VALID:
        sort = "deferred" if status & _DEFERRED else "poison" if status & _POISON else "corrected"
        return Weight(WARN, "watch", f"an error record (ACA) of a {sort} error, status {event.code}")
    return Weight(WARN, "watch", "an error record (ACA)")


def _outcome(resets: Sequence[KernelEvent]) -> Weight:
    """How the last reset ended."""
    begun, ok, failed = (_last(resets, kind) for kind in ("amd-reset-begin", "amd-reset-ok", "amd-reset-failed"))
    if failed > ok:
        return Weight(FAIL, "reboot_node", "it hung, and its reset failed")
    if ok:
        return Weight(WARN, "restart_app", "it hung and was reset: the job on it is gone")
    if begun:
        return Weight(WARN, "drain", "it hung; a reset began, and the log does not say how it ended")
    return Weight(INFO, "check_app", "a ring timed out, and no reset followed: the job's own fault")


def _last(own: Sequence[KernelEvent], *kinds: str) -> int:
    return max((event.ends for event in own if event.kind in kinds), default=0)
