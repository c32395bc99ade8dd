"""Errors of AMD GPUs that their driver counts (RAS), and pages of their memory that went bad."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, P1, Case, Verdict, absent, check, evidence, fail, ok, unread, warn
from raxl.checks.amd_gpus import dated, driven, events, named, own, read_of
from raxl.checks.pcie_hops import unread_together
from raxl.checks.words import counted, listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.finding import QUICK, Evidence

_RAS = "https://docs.kernel.org/gpu/amdgpu/ras.html"
_RESET = (
    "amd-smi metric -e shows the block; drain the GPU, reset it (amd-smi reset -G -g N) or reboot the node, and have "
    "it replaced where the count rises again"
)
_WHEN_IDLE = "reset the GPU once nothing runs on it (amd-smi reset -G -g N): the pages are then retired"
_REPLACE = "amd-smi bad-pages lists them; drain the node, and have the GPU replaced"
_ATTRIBUTES = {"ue": "ecc_uncorrectable", "ce": "ecc_correctable", "de": "ecc_deferred"}


def _counts(case: Case, device: Accelerator, kind: str) -> Reading:
    """By block, the errors of a kind that are more than none; of AMD SMI all blocks together."""
    ras = read_of(case, device, "ras")
    if ras.known:
        told = {block: counts[kind] for block, counts in ras.value.items() if counts.get(kind)}
        return Reading(told, ras.source)
    total = device.attributes.get(_ATTRIBUTES[kind])
    if isinstance(total, int):
        return Reading({"all blocks": total} if total else {}, "amdsmi")
    return ras


def _of(device: Accelerator, step: str) -> str:
    """The step with the number that amd-smi has the device by, where that is known."""
    return step if device.index is None else step.replace("-g N", f"-g {device.index}")


def _said(counts: Reading) -> str:
    return listed([f"{count} in {block}" for block, count in counts.value.items()])


@check("amd.ras-ue", "No AMD GPU has uncorrectable errors", P0, QUICK, "reset", reference=_RAS)
def uncorrectable(case: Case) -> Iterator[Verdict]:
    """An error that could not be corrected costs the job, and leaves the GPU unfit until it is reset.

    Read: `ue` of `ras/<block>_err_count`, counted since the driver was loaded, else AMD SMI's totals, and the
    kernel's log. It fails at the first one, in any block.

    Not to be confused: counts of a suspended GPU are wrong (multiples of 1048560), so that it is not read. A virtual
    function has no `ras` folder. The log's `no uncorrectable hardware errors` is no error. One driver release
    reported fatal records on GPUs that were well (ROCm/device-metrics-exporter 506); these counts are not those
    records.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    told = {
        named(case, event): event for event in events(case, "amd-ras-ue", "amd-ras-errevent", "amd-poison-consumed")
    }
    well, silent = 0, {}
    for device in driven(case):
        counts = _counts(case, device, "ue")
        event = told.get(device.id)
        if counts.known and counts.value:
            told.pop(device.id, None)
            words = f"{device.id} has uncorrectable errors: {_said(counts)}"
            yield fail(device.id, words, evidence(counts), remedy=_of(device, _RESET), remedy_class="reset")
        elif event is None and counts.known:
            well += 1
        elif event is None:
            silent[device.id] = counts
    for subject, event in told.items():
        words = f"{subject}: {event.text[:200]}"
        shown = Evidence("kernel log", event.text[:300])
        yield fail(subject, words, shown, remedy=_RESET, remedy_class="reset", **dated(event))
    if well:
        yield ok("node", f"no uncorrectable error on {counted(well, 'AMD GPU')}")
    yield from unread_together(case, silent, "uncorrectable errors")
    yield from _of_none(case)


@check("amd.ras-ce", "No AMD GPU has errors that wait to strike", P0, QUICK, "drain", reference=_RAS)
def corrected(case: Case, link_errors: float = 1) -> Iterator[Verdict]:
    """Corrected errors harm nothing; deferred ones are data already spoilt that nobody has read yet.

    Read: `ce` and `de` of `ras/<block>_err_count`, else AMD SMI's totals, counted since the driver was loaded. It warns
    at a deferred error, and at `link_errors` corrected ones of XGMI (block `xgmi_wafl`). Others are told: one reading
    gives no rate.

    Not to be confused: totals repeat in every line of the kernel's log; counts of a suspended GPU are wrong.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    well, noted, silent = 0, [], {}
    for device in driven(case):
        counts, deferred = _counts(case, device, "ce"), _counts(case, device, "de")
        if not counts.known or not deferred.known:
            silent[device.id] = counts if not counts.known else deferred
        elif deferred.value:
            words = f"{device.id} has deferred errors: {_said(deferred)}"
            yield warn(device.id, words, evidence(deferred), remedy=_of(device, _WHEN_IDLE), remedy_class="reset")
        elif counts.value.get("xgmi_wafl", 0) >= link_errors:
            words = f"{device.id} has corrected errors of XGMI: {_said(counts)}"
            yield warn(device.id, words, evidence(counts), remedy=_of(device, _RESET), remedy_class="drain")
        else:
            well += 1
            noted += [f"{device.id} {_said(counts)}"] if counts.value else []
    if noted:
        yield ok("node", f"corrected errors since the driver was loaded: {listed(noted)}; one reading gives no rate")
    elif well:
        yield ok("node", f"no corrected error on {counted(well, 'AMD GPU')}")
    yield from unread_together(case, silent, "corrected errors")
    yield from _of_none(case)


@check("amd.bad-pages", "No AMD GPU is running out of good memory", P1, QUICK, "rma", reference=_RAS)
def bad_pages(case: Case, near_percent: float = 90) -> Iterator[Verdict]:
    """amdgpu retires pages of memory that had uncorrectable errors, up to a limit.

    Read: `ras/gpu_vram_bad_pages` (R retired, P pending, F could not be retired), the driver's limit below debugfs
    (root), and the kernel's log. It fails at a page that could not be retired and at the limit, and warns at a page
    that waits for the next reset and at `near_percent` of the limit, where amdgpu itself begins to warn.

    Not to be confused: retired pages below the limit are the mechanism at work.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    told = {named(case, event): event for event in events(case, "amd-bad-page-near", "amd-bad-page-over")}
    well, noted, silent = 0, [], {}
    for device in driven(case):
        pages = _pages(case, device)
        event = told.pop(device.id, None)
        if pages.known and (verdict := _bad(device, pages, read_of(case, device, "bad_page_threshold"), near_percent)):
            yield verdict
        elif event is not None:
            yield _logged(device.id, event.kind, event.text, dated(event))
        elif not pages.known:
            silent[device.id] = pages
        else:
            well += 1
            noted += [f"{device.id} {pages.value['R']}"] if pages.value["R"] else []
    for subject, event in told.items():
        yield _logged(subject, event.kind, event.text, dated(event))
    if well:
        yield ok("node", f"retired pages: {listed(noted)}" if noted else f"no bad page on {counted(well, 'AMD GPU')}")
    yield from unread_together(case, silent, "bad pages")
    yield from _of_none(case)


def _pages(case: Case, device: Accelerator) -> Reading:
    pages = read_of(case, device, "bad_pages")
    names = {"R": "bad_pages", "P": "bad_pages_pending", "F": "bad_pages_unreservable"}
    counts = {kind: device.attributes.get(name) for kind, name in names.items()}
    if pages.known or not all(isinstance(count, int) for count in counts.values()):
        return pages
    return Reading(counts, "amdsmi")


def _bad(device: Accelerator, pages: Reading, threshold: Reading, near_percent: float) -> Verdict | None:
    count, most = sum(pages.value.values()), threshold.value if threshold.known else None
    if pages.value["F"]:
        words = f"{pages.value['F']} bad pages of {device.id} could not be retired"
        return fail(device.id, words, evidence(pages), remedy=_REPLACE, remedy_class="rma")
    if most and count >= most:
        words = f"{device.id} has {count} bad pages, its driver bears {most}"
        return fail(device.id, words, evidence(pages), evidence(threshold), remedy=_REPLACE, remedy_class="rma")
    if pages.value["P"]:
        words = f"{pages.value['P']} bad pages of {device.id} wait for a reset to be retired"
        return warn(device.id, words, evidence(pages), remedy=_of(device, _WHEN_IDLE), remedy_class="reset")
    if most and 100 * count >= near_percent * most:
        words = f"{device.id} has {count} bad pages of the {most} that its driver bears"
        return warn(device.id, words, evidence(pages), evidence(threshold), remedy=_REPLACE, remedy_class="rma")
    return None


def _logged(subject: str, kind: str, text: str, when: dict[str, object]) -> Verdict:
    shown = Evidence("kernel log", text[:300])
    words = f"{subject}: {text[:200]}"
    if kind == "amd-bad-page-over":
        return fail(subject, words, shown, remedy=_REPLACE, remedy_class="rma", **when)
    return warn(subject, words, shown, remedy=_REPLACE, remedy_class="rma", **when)


def _of_none(case: Case) -> Iterator[Verdict]:
    """Where no device is amdgpu's to read."""
    if not driven(case):
        bound = own(case)[0].attributes.get("driver")
        yield unread(
            "node", f"errors of {own(case)[0].id}", Reading(None, "sysfs", "not-applicable", f"it is bound to {bound}")
        )
