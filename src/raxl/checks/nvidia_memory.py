"""Errors of the memory of NVIDIA's GPUs: ECC counts, rows that were remapped, and the board's own records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from raxl.checks import P0, P1, P2, Case, Verdict, absent, check, evidence, fail, unknown, unread, warn
from raxl.checks.devices import Seen, by_model, concluded, name, reading, seen, together
from raxl.checks.nvidia import MEMORY_GUIDE, NVML, VENDOR, is_for_servers, is_guest
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.finding import ROOT, STANDARD, Evidence
from raxl.model.problem import NOT_ASKED, NOT_SUPPORTED

_RESET = (
    "`nvidia-smi --gpu-reset -i {index}` once nothing runs on it (on NVSwitch boards all GPUs at once), else reboot"
)


def _reset(device: Accelerator) -> str:
    index = device.pci.address if device.pci else device.index
    return f"drain the node; {_RESET.format(index=index)}; the same fault again within a day: have the GPU replaced"


def _has_event(case: Case, device: Accelerator, codes: tuple[str, ...]) -> str | None:
    """The line of this boot's log in which the driver tells one of these Xids of the device."""
    address = device.pci.address if device.pci else None
    for event in case.facts.kernel_log.events:
        is_own = address is not None and event.device is not None and address.startswith(event.device)
        if is_own and event.boot == 0 and event.kind == "xid" and event.code in codes:
            return event.text[:200]
    return None


@check("nvidia.ecc-mode", "ECC is on, on all GPUs alike", P1, STANDARD, "config", reference=NVML)
def ecc_mode(case: Case) -> Iterator[Verdict]:
    """Whether the GPUs' memory is protected, now and after the next reset.

    Read: the current and the pending ECC mode. It warns where a data-centre part has ECC off, and where the next reset
    changes the mode; it fails where GPUs of one model in one node differ, since their memories then differ in size.

    Not to be confused: consumer cards have no ECC (skip), workstation cards have it off as they come (no warning; a
    part is taken for a data-centre part by its name), parts with HBM cannot turn it off. A vGPU's host decides.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults = seen(case, VENDOR, "ecc_mode", "the ECC mode"), []
    for group in by_model([device for device, _ in found.known]).values():
        modes = {one.id: reading(case, one, "ecc_mode") for one in group}
        if len({mode.value[0] for mode in modes.values()}) > 1:
            off = [one for one in group if not modes[one.id].value[0]]
            message = f"ECC is off on {listed([name(one) for one in off])} and on on the node's others of that model"
            remedy = "drain the node, `nvidia-smi -e 1`, reset the GPUs"
            told = evidence(modes[off[0].id], "off")
            faults.append(fail(off[0].id, message, told, remedy=remedy, remedy_class="config", root="mixed"))
    for device, mode in found.known:
        now, later = mode.value
        if now != later:
            message = f"{name(device)}: ECC is {_on(now)}, and {_on(later)} after the next reset"
            told, remedy = evidence(mode, f"now {_on(now)}, pending {_on(later)}"), _reset(device)
            faults.append(warn(device.id, message, told, remedy=remedy, remedy_class="reset", root="pending"))
        elif not now and device.model is None:
            faults.append(
                unknown(device.id, NOT_ASKED, f"{name(device)}: ECC is off, and whether it has to be on: {_NO_MODEL}")
            )
        elif not now and _is_to_have_ecc(case, device) and device.id not in {one.subject for one in faults}:
            message = f"{name(device)} is a {device.model} with ECC off: memory errors are not seen"
            remedy = "drain the node, `nvidia-smi -e 1`, reset the GPU; or suppress this with the reason"
            faults.append(warn(device.id, message, evidence(mode, "off"), remedy=remedy, remedy_class="config"))
    yield from concluded(found, faults, _modes(found), lambda one: _on(one.value[0]))


def _is_to_have_ecc(case: Case, device: Accelerator) -> bool:
    return is_for_servers(device) and not is_guest(reading(case, device, "virtualization").value)


_NO_MODEL = "its model is not known"


def _modes(found: Seen) -> str:
    states = {_on(mode.value[0]) for _, mode in found.known}
    return f"ECC is {' or '.join(sorted(states))}"


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


@check("nvidia.ecc-uncorrected", "No uncorrected memory errors", P0, STANDARD, "reset", reference=MEMORY_GUIDE)
def ecc_uncorrected(case: Case) -> Iterator[Verdict]:
    """Whether memory was read wrong, beyond what ECC repairs.

    Read: uncorrected errors since the driver was loaded (volatile) and for ever (aggregate), of SRAM and DRAM. It fails
    for any volatile error (DCGM and GCM allow 0): the GPU is not to be used until it was reset, which
    remaps the row. The aggregate count alone is told and gives no verdict: it never goes back.

    Not to be confused: the volatile count starts anew when the driver is loaded again, so 0 after a reboot proves
    little. GPUs without ECC and MIG devices have no such count (skip).
    """
    yield from _counted(case, "uncorrected", "uncorrected")


@check(
    "nvidia.ecc-corrected",
    "Corrected memory errors are few",
    P1,
    STANDARD,
    "drain",
    vantage=ROOT,
    reference=MEMORY_GUIDE,
)
def ecc_corrected(case: Case) -> Iterator[Verdict]:
    """Whether ECC repairs more than it should.

    Read: corrected errors since the driver was loaded, and Xid 92 (their rate is high) of this boot in the kernel's
    log. It warns for Xid 92, and fails where uncorrected rows were remapped on the same GPU as well. A count alone is
    told without a verdict: a rate takes two readings under load. HBM that fails has logged thousands a second and
    nothing while it was idle, and fixed totals (2e7, 5e7) miss it.
    """
    yield from _counted(case, "corrected", "corrected")
    if absent(case, VENDOR) is None and not case.facts.kernel_log.read.known:
        yield unread("kernel log", "Xid 92 in the kernel's log", case.facts.kernel_log.read)


def _counted(case: Case, kind: str, word: str) -> Iterator[Verdict]:
    """Both checks of counts: what is a fault of a device differs, what cannot be read does not."""
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found = _with(seen(case, VENDOR, "ecc_errors", f"the count of {word} memory errors"), f"{kind}_volatile", word)
    is_fault = _uncorrected if kind == "uncorrected" else _rate
    faults = [told for device, own in found.known if (told := is_fault(case, device, own)) is not None]
    words = f"{_total(found, f'{kind}_volatile')} {word} memory errors since the driver was loaded"
    ever = _total(found, f"{kind}_aggregate")
    words += f", {ever} in all" if ever else ""
    yield from concluded(found, faults, words, lambda one: _shown(one, kind))


def _with(found: Seen, counter: str, word: str) -> Seen:
    """Those of which this counter was told; an output may hold the others alone."""
    without = found.where(lambda _, own: counter not in own.value)
    missing = []
    if without:
        devices, subject = [one for one, _ in without], without[0][0].id if len(without) == 1 else "node"
        words = f"the count of {word} memory errors on {together(devices)}: {without[0][1].source} does not hold it"
        missing.append(unknown(subject, NOT_ASKED, words))
    return Seen([pair for pair in found.known if pair not in without], [*found.missing, *missing])


def _total(found: Seen, counter: str) -> int:
    return sum(own.value.get(counter, 0) for _, own in found.known)


def _shown(own: Reading, kind: str) -> str:
    counts: Mapping[str, int] = own.value
    return ", ".join(f"{name} {count}" for name, count in counts.items() if name.startswith(f"{kind}_")) or "none"


def _uncorrected(case: Case, device: Accelerator, own: Reading) -> Verdict | None:
    count = own.value.get("uncorrected_volatile") or 0
    if not count:
        return None
    parts = [
        f"{memory.upper()} {n}" for memory in ("sram", "dram") if (n := own.value.get(f"uncorrected_volatile_{memory}"))
    ]
    message = f"{name(device)}: {count} uncorrected memory error{'s' if count > 1 else ''} since the driver was loaded"
    message += f" ({', '.join(parts)})" if parts else ""
    told = evidence(own, _shown(own, "uncorrected"))
    return fail(device.id, message, told, remedy=_reset(device), remedy_class="reset")


def _rate(case: Case, device: Accelerator, own: Reading) -> Verdict | None:
    line = _has_event(case, device, ("92",))
    if line is None:
        return None
    rows = reading(case, device, "remapped_rows").value
    count = own.value.get("corrected_volatile", 0)
    message = (
        f"{name(device)}: the driver calls its rate of corrected errors high (Xid 92), {count} since it was loaded"
    )
    told = (Evidence("kernel log", line), evidence(own, _shown(own, "corrected")))
    remedy = (
        "drain the node at the next chance, read `nvidia-smi -q -d ECC,ROW_REMAPPER` twice under load; have the GPU "
    )
    remedy += "replaced if rows are remapped as well"
    if rows and rows[1]:
        words = f"{message}, and {rows[1]} rows were remapped for uncorrected ones"
        return fail(device.id, words, *told, remedy=remedy, remedy_class="rma")
    return warn(device.id, message, *told, remedy=remedy, remedy_class="drain")


@check("nvidia.remap-pending", "No row remap waits for a reset", P0, STANDARD, "reset", reference=MEMORY_GUIDE)
def remap_pending(case: Case) -> Iterator[Verdict]:
    """Whether a row of memory is to be replaced at the next reset.

    Read: the pending flag of the row remapper. It warns where the flag is set: the GPU can be used, since the driver
    keeps the bad page from programs, and is to be reset at its next idle time. It fails where the kernel's log has Xid
    95 (an error that was not contained) of the same GPU in this boot.

    Not to be confused: this is no reason to end what runs. MIG with live instances does not tell it (skip); consumer
    cards answer with zeros.
    """

    def fault(device: Accelerator, own: Reading) -> Verdict:
        line = _has_event(case, device, ("95",))
        asked = reading(case, device, "recovery_action")
        due = "usable, to be reset at its next idle time"
        if asked.known and asked.value != "none":
            due = "what the driver asks for puts it into effect"
        message = f"{name(device)} has a row remap pending: {due}"
        if line is None:
            return warn(device.id, message, evidence(own, "pending"), remedy=_reset(device), remedy_class="reset")
        told = (evidence(own, "pending"), Evidence("kernel log", line))
        words = f"{name(device)} has a row remap pending after an error that was not contained (Xid 95)"
        return fail(device.id, words, *told, remedy=_reset(device), remedy_class="reset")

    yield from _flag(case, "remap_pending", "whether a row remap is pending", fault, "no row remap is pending")


@check("nvidia.remap-failed", "No row remap has failed", P0, STANDARD, "rma", reference=MEMORY_GUIDE)
def remap_failed(case: Case) -> Iterator[Verdict]:
    """Whether a bad row of memory could not be replaced.

    Read: the failure flag of the row remapper. It fails where the flag is set: that bank has no spare row left, and the
    vendor replaces the GPU.
    """

    def fault(device: Accelerator, own: Reading) -> Verdict:
        message = f"{name(device)}: a row of memory could not be remapped"
        remedy = "drain the node and have the GPU replaced; a reset does not repair it"
        return fail(device.id, message, evidence(own, "failed"), remedy=remedy, remedy_class="rma")

    yield from _flag(case, "remap_failure", "whether a row remap failed", fault, "no row remap has failed")


@check("nvidia.sram-threshold", "SRAM errors are below the vendor's limit", P1, STANDARD, "rma", reference=MEMORY_GUIDE)
def sram_threshold(case: Case) -> Iterator[Verdict]:
    """Whether a GPU has had more uncorrected SRAM errors than its vendor accepts.

    Read: the flag `SRAM Threshold Exceeded`, which parts from Hopper on keep. It fails where the flag is set: the
    vendor replaces such a GPU after its field diagnostic. Earlier parts have no such flag (skip).
    """

    def fault(device: Accelerator, own: Reading) -> Verdict:
        message = f"{name(device)} has passed the vendor's limit of uncorrected SRAM errors"
        remedy = "drain the node, run the vendor's field diagnostic, have the GPU replaced"
        return fail(device.id, message, evidence(own, "exceeded"), remedy=remedy, remedy_class="rma")

    yield from _flag(case, "sram_threshold_exceeded", "the SRAM threshold flag", fault, "SRAM errors below the limit")


def _flag(
    case: Case, question: str, what: str, fault: Callable[[Accelerator, Reading], Verdict], words: str
) -> Iterator[Verdict]:
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found = seen(case, VENDOR, question, what)
    faults = [fault(device, own) for device, own in found.where(lambda _, own: bool(own.value))]
    yield from concluded(found, faults, words, lambda _: "no")


@check("nvidia.remap-exhaust", "Spare rows of memory are left", P1, STANDARD, "rma", reference=MEMORY_GUIDE)
def remap_exhaust(case: Case, fail_rows: float = 512) -> Iterator[Verdict]:
    """Whether memory can still be repaired.

    Read: how many banks have no spare row left (the last column, `none`, of the remapper's histogram), and how many
    rows were remapped for uncorrected errors. It warns for a bank without spare rows, and fails where a remap is
    pending as well, or `fail_rows` rows were remapped (512: DCGM, Azure and OCI replace then).

    Not to be confused: rows that were remapped for corrected errors do not count here.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found = seen(case, VENDOR, "remapped_rows", "how many rows were remapped")
    faults, blind = [], []
    for device, own in found.known:
        banks, rows = reading(case, device, "remap_histogram"), own.value[1]
        spent = banks.value[4] if banks.known else 0
        if not banks.known and banks.reason != NOT_SUPPORTED:
            blind.append((device, banks))
        is_pending = bool(reading(case, device, "remap_pending").value)
        told = [evidence(own, f"{rows} rows for uncorrected errors")]
        told += [evidence(banks, f"{spent} banks without spare rows")] if banks.known else []
        remedy = "plan to replace the GPU; drain the node before its next uncorrected error"
        if rows >= fail_rows or (spent and is_pending):
            message = f"{name(device)}: {rows} rows were remapped, {spent} banks have no spare row left"
            faults.append(fail(device.id, message, *told, remedy=remedy, remedy_class="rma"))
        elif spent:
            message = f"{name(device)}: {spent} banks have no spare row left"
            faults.append(warn(device.id, message, *told, remedy=remedy, remedy_class="rma"))
    words = f"{sum(own.value[1] for _, own in found.known)} rows remapped for uncorrected errors"
    told_of = {one.subject for one in faults}
    unread_ = [unread(one.id, f"the spare rows of {name(one)}", own) for one, own in blind if one.id not in told_of]
    hidden = {one.subject for one in unread_}
    known = [pair for pair in found.known if pair[0].id not in hidden]
    yield from concluded(Seen(known, [*found.missing, *unread_]), faults, words)


@check("nvidia.inforom", "The boards' own records are sound", P2, STANDARD, "vendor", reference=NVML)
def inforom(case: Case) -> Iterator[Verdict]:
    """Whether the infoROM, in which a board keeps its serial number and its error history, can be trusted.

    Read: NVML's validation of its checksums (error 14 says that it is corrupted), or the warning that `nvidia-smi`
    prints beside its output. It fails where the records are corrupted: ECC history and page retirement are not to be
    believed.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults = seen(case, VENDOR, "inforom", "the state of the infoROM"), []
    for device, own in found.where(lambda _, own: own.value != "valid"):
        message = f"{name(device)}: its infoROM is {own.value}"
        remedy = (
            "reset the GPU and ask again (`nvidia-smi --query-gpu=inforom.checksum_validation --format=csv`); if it "
        )
        remedy += "stays so, have the vendor restore or replace the board"
        faults.append(fail(device.id, message, evidence(own), remedy=remedy, remedy_class="vendor"))
    yield from concluded(found, faults, "infoROM valid")
