"""AMD GPUs: their driver, whether they answer, and resets."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, Case, Verdict, absent, check, evidence, fail, ok, skip, unknown, unread, warn
from raxl.checks.amd_gpus import DRIVER, address, bound_to, dated, driven, events, named, own, read_of
from raxl.checks.pcie_hops import is_dead, reading, unread_together
from raxl.checks.words import counted, listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, KernelEvent, Reading
from raxl.model.finding import QUICK, ROOT, Evidence
from raxl.model.problem import NOT_APPLICABLE

_LOAD = (
    "modprobe amdgpu, then dmesg | grep -E 'amdgpu|kfd' for why it refused; after a change of kernel rebuild "
    "amdgpu-dkms"
)
_KFD = (
    "dmesg | grep -E 'kfd|amdgpu' says why the device was left out (no PCIe atomics, failed to initialise); drain, "
    "reboot"
)
_REBOOT = (
    "drain the node and reboot it; where it comes again power-cycle it cold (30 s off), then have the GPU replaced"
)
_COLLECT = (
    "copy /sys/class/devcoredump/devcd*/data (it is kept for five minutes) and dmesg, and tell the owner of the job"
)


@check("amd.driver", "amdgpu drives every AMD GPU, and ROCm sees it", P0, QUICK, "config")
def driver(case: Case) -> Iterator[Verdict]:
    """ROCm sees a GPU through KFD, amdgpu's part for computing.

    Read: the driver bound to each AMD GPU, and the GPUs among the nodes of `/sys/class/kfd/kfd/topology`. It fails
    where no driver is bound, and for a compute GPU that KFD leaves out; a display card that it leaves out warns.

    Not to be confused: KFD's nodes of processors have no compute units; each partition of a GPU is a node of its own.
    In a container KFD shows the devices that it was given. A display card beside another vendor's accelerators is no
    fault.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    version = case.facts.drivers.get(DRIVER, NOT_READ).value
    kfd = case.facts.drivers.get("kfd", NOT_READ)
    well, silent, handed = 0, {}, []
    for device in own(case):
        bound = bound_to(case, device)
        if not bound.known:
            silent[device.id] = bound
        elif bound.value is None:
            words = f"{device.id} ({address(device)}) has no driver: amdgpu is not loaded, or refused it"
            yield fail(device.id, words, Evidence(bound.source, "none"), remedy=_LOAD, remedy_class="config")
        elif bound.value != DRIVER:
            handed.append(f"{device.id} is bound to {bound.value}")
        elif not kfd.known:
            silent[device.id] = kfd
        elif address(device) in kfd.value:
            well += 1
        else:
            yield _left_out(case, device, kfd)
    if well:
        yield ok("node", f"{counted(well, 'AMD GPU')} known to KFD, amdgpu {version or 'of the kernel'}")
    if handed:
        yield skip("node", listed(handed))
    yield from unread_together(case, silent, "whether amdgpu and KFD have the GPU")


def _left_out(case: Case, device: Accelerator, kfd: Reading) -> Verdict:
    words = f"{device.id} ({address(device)}) has amdgpu, and KFD does not list it: ROCm cannot use it"
    shown = Evidence(kfd.source, f"{len(kfd.value)} GPUs")
    if case.node.os.container not in (None, "none"):
        return unknown(device.id, NOT_APPLICABLE, f"{words}; a container is given some devices of the host")
    if _is_display(case, device):
        if any(one.vendor != "amd" for one in case.node.accelerators):
            return skip(device.id, f"{device.id} is a display card beside other accelerators, and KFD does not list it")
        return warn(device.id, words, shown, remedy=_KFD, remedy_class="config")
    return fail(device.id, words, shown, remedy=_KFD, remedy_class="reboot")


def _is_display(case: Case, device: Accelerator) -> bool:
    return "radeon" in (device.model or "").lower()


@check("amd.lost", "Every AMD GPU answers", P0, QUICK, "reboot")
def lost(case: Case) -> Iterator[Verdict]:
    """A GPU that fell off the bus, or whose management processor is dead, needs a reboot.

    Read: the first bytes of its configuration space, its state, and the kernel's log for replies of the management
    processor that are all ones (`response:0xFFFFFFFF`). It fails for either.

    Not to be confused: a suspended GPU is not read; it would wake.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    told = {named(case, event): event for event in events(case, "amd-smu-dead", "amd-init-fatal", "amd-kfd-wedged")}
    well, silent = 0, {}
    for device in own(case):
        header = reading(case, address(device), "header")
        event = told.pop(device.id, None)
        if is_dead(header) or device.state == "lost":
            words = f"{device.id} ({address(device)}) is off the bus: its configuration space reads all ones"
            shown = Evidence(header.source, str(header.value)[:8])
            yield fail(device.id, words, shown, remedy=_REBOOT, remedy_class="reboot")
        elif event is not None:
            yield _dead(device.id, event)
        elif header.known:
            well += 1
        else:
            silent[device.id] = header
    for subject, event in told.items():
        yield _dead(subject, event)
    if well:
        yield ok("node", f"{counted(well, 'AMD GPU')} answered on the bus")
    yield from unread_together(case, silent, "whether it answers")


def _dead(subject: str, event: KernelEvent) -> Verdict:
    words = f"{subject} does not answer its driver: {event.text[:160]}"
    return fail(
        subject, words, Evidence("kernel log", event.text[:300]), remedy=_REBOOT, remedy_class="reboot", **dated(event)
    )


@check("amd.reset", "No AMD GPU was reset since boot", P0, QUICK, "reboot", vantage=ROOT)
def reset(case: Case) -> Iterator[Verdict]:
    """amdgpu resets a GPU that hangs; what ran on it is gone.

    Read: the kernel's log, and dumps below `/sys/class/devcoredump` that a GPU left. It fails where a reset failed,
    and warns where one succeeded, for the job on that GPU died, or a dump says that one hung in the last minutes. A
    ring that timed out and recovered by itself is the job's own fault, and information.

    Not to be confused: dumps of other devices. Where the log is not to be read, that there was no reset is not known.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    outcome: dict[str, KernelEvent] = {}
    for event in events(case, "amd-reset-begin", "amd-reset-ok", "amd-reset-failed"):
        outcome[named(case, event)] = event
    for subject, event in outcome.items():
        yield _reset(subject, event)
    dumped = [(device.id, read_of(case, device, "dumps")) for device in driven(case)]
    for subject, dumps in dumped:
        if dumps.known and dumps.value and subject not in outcome:
            words = f"{subject} hung in the last minutes: {listed(list(dumps.value))}"
            yield warn(subject, words, evidence(dumps), remedy=_COLLECT, remedy_class="app")
    log = case.facts.kernel_log
    timeouts = [named(case, event) for event in events(case, "amd-ring-timeout")]
    if outcome or any(dumps.known and dumps.value for _, dumps in dumped):
        return
    if not log.read.known:
        yield unread("node", "whether a GPU was reset", log.read)
    elif timeouts:
        yield ok("node", f"no GPU was reset; rings of {listed(sorted(set(timeouts)))} timed out and recovered")
    else:
        since = (
            "" if log.is_whole else f" since {log.covers_from}" if log.covers_from else " in what the log still holds"
        )
        yield ok("node", f"the kernel's log tells of no reset{since}")


def _reset(subject: str, event: KernelEvent) -> Verdict:
    shown = Evidence("kernel log", event.text[:300])
    if event.kind == "amd-reset-failed":
        words = f"{subject} hung, and its reset failed"
        return fail(subject, words, shown, remedy=_REBOOT, remedy_class="reboot", **dated(event))
    words = f"{subject} hung and was reset: what ran on it is gone"
    if event.kind == "amd-reset-begin":
        words = f"{subject} hung, and the log does not say whether its reset succeeded"
    return warn(subject, words, shown, remedy=_COLLECT, remedy_class="app", **dated(event))
