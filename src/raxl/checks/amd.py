"""AMD GPUs: their driver, whether they answer, resets, XGMI and partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import mode

from raxl.checks import P0, P1, Case, Verdict, absent, check, evidence, fail, ok, skip, unknown, unread, warn
from raxl.checks.pcie_hops import is_dead, reading, unread_together
from raxl.checks.words import counted, listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, KernelEvent, Reading
from raxl.model.finding import QUICK, ROOT, STANDARD, Evidence
from raxl.model.problem import NOT_APPLICABLE, UNREAD

_DRIVER = "amdgpu"
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
_XGMI = (
    "amd-smi xgmi -l shows each link; drain the node, power-cycle it cold (30 s off), and have the module reseated or "
    "replaced where the link stays down"
)
_PARTITION = (
    "amd-smi set -g all --compute-partition MODE (and --memory-partition) while nothing runs: the driver restarts"
)


def own(case: Case) -> list[Accelerator]:
    """AMD's devices."""
    return [one for one in case.node.accelerators if one.vendor == "amd"]


def driven(case: Case) -> list[Accelerator]:
    """Those of them that no other driver holds."""
    return [one for one in own(case) if _bound(case, one).value in (None, _DRIVER)]


def read_of(case: Case, device: Accelerator, name: str) -> Reading:
    """What amdgpu's files say of a device."""
    return case.facts.devices.get(device.id, {}).get(name, NOT_READ)


def events(case: Case, *kinds: str) -> list[KernelEvent]:
    """What the kernel's log tells of this boot."""
    return [one for one in case.facts.kernel_log.events if one.kind in kinds and one.boot == 0]


def named(case: Case, event: KernelEvent) -> str:
    """The accelerator that an event is about, else the address as the line gives it."""
    place = event.device or ""
    for device in own(case):
        if device.pci and place and (device.pci.address == place or device.pci.address.startswith(f"{place}.")):
            return device.id
    return place or "node"


def dated(event: KernelEvent) -> dict[str, object]:
    """When, and how often."""
    return {"first_seen": event.first, "last_seen": event.last, "count": event.count, "root": event.kind}


def _address(device: Accelerator) -> str | None:
    return device.pci.address if device.pci else None


def _bound(case: Case, device: Accelerator) -> Reading:
    return reading(case, _address(device), "driver")


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
    version = case.facts.drivers.get(_DRIVER, NOT_READ).value
    kfd = case.facts.drivers.get("kfd", NOT_READ)
    well, silent, handed = 0, {}, []
    for device in own(case):
        bound = _bound(case, device)
        if not bound.known:
            silent[device.id] = bound
        elif bound.value is None:
            words = f"{device.id} ({_address(device)}) has no driver: amdgpu is not loaded, or refused it"
            yield fail(device.id, words, Evidence(bound.source, "none"), remedy=_LOAD, remedy_class="config")
        elif bound.value != _DRIVER:
            handed.append(f"{device.id} is bound to {bound.value}")
        elif not kfd.known:
            silent[device.id] = kfd
        elif _address(device) in kfd.value:
            well += 1
        else:
            yield _left_out(case, device, kfd)
    if well:
        yield ok("node", f"{counted(well, 'AMD GPU')} known to KFD, amdgpu {version or 'of the kernel'}")
    if handed:
        yield skip("node", listed(handed))
    yield from unread_together(case, silent, "whether amdgpu and KFD have the GPU")


def _left_out(case: Case, device: Accelerator, kfd: Reading) -> Verdict:
    words = f"{device.id} ({_address(device)}) has amdgpu, and KFD does not list it: ROCm cannot use it"
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
        header = reading(case, _address(device), "header")
        event = told.pop(device.id, None)
        if is_dead(header) or device.state == "lost":
            words = f"{device.id} ({_address(device)}) is off the bus: its configuration space reads all ones"
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


@check("amd.xgmi", "Every AMD GPU of a hive has all its XGMI links", P1, STANDARD, "vendor")
def xgmi(case: Case) -> Iterator[Verdict]:
    """XGMI joins the GPUs of a hive; one link less makes collectives take a detour, or fail.

    Read: KFD's links and hives, and AMD SMI's state of each link. It fails where a GPU of a hive has fewer neighbours
    than the others of it, or a link that is down while those of others are up. `xgmi_error` is not read: reading
    clears it.

    Not to be confused: bridges between PCIe cards are optional, so that a card without any is well; links that are
    switched off, or down on all GPUs alike, are not wired.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    neighbours = Counter(id for link in case.node.links if link.kind == "xgmi" for id in (link.a, link.b))
    hives = _hives(case)
    if not hives and not neighbours:
        told = next((one for one in case.node.problems if one.subject == "links" and one.reason in UNREAD), None)
        if told is not None:
            yield unknown("node", told.reason, f"which GPUs XGMI joins: {told.message}")
        else:
            yield skip("node", "no two GPUs here are joined by XGMI")
        return
    faults = [*_fewer(hives, neighbours), *_down(own(case)), *_outside(own(case), hives)]
    yield from faults
    if not faults:
        sizes = listed([counted(len(members), "GPU") for members in hives.values()])
        yield ok("node", f"XGMI joins {sizes}, each of them with as many as the others")


def _hives(case: Case) -> dict[str, list[Accelerator]]:
    """The GPUs of each hive; where no hive is named, those that links join, however far."""
    hives: dict[str, list[Accelerator]] = {}
    for device in own(case):
        if device.fabric and device.fabric.domain:
            hives.setdefault(device.fabric.domain, []).append(device)
    if hives:
        return hives
    group = {device.id: device.id for device in own(case)}
    for link in case.node.links:
        if link.kind == "xgmi" and link.a in group and link.b in group:
            kept, gone = group[link.a], group[link.b]
            group = {id: kept if name == gone else name for id, name in group.items()}
    for device in own(case):
        hives.setdefault(group[device.id], []).append(device)
    return {name: members for name, members in hives.items() if len(members) > 1}


def _fewer(hives: dict[str, list[Accelerator]], neighbours: Counter[str]) -> Iterator[Verdict]:
    for members in hives.values():
        counts = [neighbours[one.id] for one in members]
        usual = mode(counts)
        # A lost link takes a neighbour from both of its ends.
        for device, count in zip(members, counts, strict=True):
            if count < usual:
                words = f"{device.id} has {count} XGMI neighbours, the other GPUs of its hive {usual}"
                shown = Evidence("kfd", f"{count} of {usual}")
                yield fail(device.id, words, shown, remedy=_XGMI, remedy_class="vendor", expected=f"{usual}: its hive")


def _down(devices: Sequence[Accelerator]) -> Iterator[Verdict]:
    down = {one.id: one.attributes.get("xgmi_links_down") for one in devices}
    counts = [count for count in down.values() if isinstance(count, int)]
    least = min(counts, default=0)
    for id, count in down.items():
        if isinstance(count, int) and count > least:
            words = f"{id} has {count} XGMI links down, other GPUs here {least}"
            yield fail(id, words, Evidence("amdsmi", str(count)), remedy=_XGMI, remedy_class="vendor")


def _outside(devices: Sequence[Accelerator], hives: dict[str, list[Accelerator]]) -> Iterator[Verdict]:
    """More than four are joined by a base board, which leaves none out: bridges join four cards at most."""
    largest = max(hives.values(), key=len, default=[])
    models = {one.model for one in largest}
    for device in devices:
        if len(largest) > 4 and device not in largest and device.model in models:
            words = f"{device.id} is not in the hive of the other {len(largest)} GPUs of its model"
            yield fail(device.id, words, Evidence("kfd", "no hive"), remedy=_XGMI, remedy_class="vendor")


@check("amd.partition", "All AMD GPUs of a node are partitioned alike", P1, QUICK, "config")
def partition(case: Case) -> Iterator[Verdict]:
    """Compute and memory partitions make several GPUs of one: ROCm and Ray then count each part.

    Read: `current_compute_partition`, `current_memory_partition`. It fails where GPUs of one node differ, and warns
    where they differ from what the policy expects (`compute_partition`, `memory_partition`).

    Not to be confused: cards without partitions have no such files.
    """
    if (verdict := absent(case, "amd")) is not None:
        yield verdict
        return
    modes: dict[str, str] = {}
    silent: dict[str, Reading] = {}
    for device in driven(case):
        compute, memory = (_mode(case, device, name) for name in ("compute_partition", "memory_partition"))
        if compute.known:
            modes[device.id] = f"{compute.value}/{memory.value}" if memory.known else str(compute.value)
        else:
            silent[device.id] = compute
    usual = mode(modes.values()) if modes else None
    odd = [f"{id} is {one}" for id, one in modes.items() if one != usual]
    wanted = [
        str(case.policy.expected[name])
        for name in ("compute_partition", "memory_partition")
        if name in case.policy.expected
    ]
    told = [Evidence("current_compute_partition", f"{id}: {one}") for id, one in list(modes.items())[:16]]
    if odd:
        words = f"GPUs are partitioned differently: {listed(odd)}, the others {usual}"
        yield fail("node", words, *told, remedy=_PARTITION, remedy_class="config")
    elif usual is not None and not set(wanted) <= set(usual.split("/")):
        words = f"{len(modes)} GPUs are partitioned {usual}, the policy expects {'/'.join(wanted)}"
        yield warn("node", words, *told, remedy=_PARTITION, remedy_class="config", expected="the policy")
    elif usual is not None:
        yield ok("node", f"{counted(len(modes), 'GPU')} partitioned {usual}")
    yield from unread_together(case, silent, "the partition")
    if not modes and not silent:
        yield skip("node", "no GPU here is driven by amdgpu")


def _mode(case: Case, device: Accelerator, name: str) -> Reading:
    own_reading = read_of(case, device, name)
    told = device.attributes.get(name)
    return own_reading if own_reading.known or told is None else Reading(told, listed(list(device.evidence)))
