"""How NVIDIA's GPUs are set and what holds them: the driver's advice, persistence, compute mode, MIG, memory."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, P1, Case, Verdict, absent, check, evidence, fail, ok, skip, unknown, unread, warn
from raxl.checks.devices import concluded, counted, name, of_vendor, reading, seen, together
from raxl.checks.nvidia import NVML, VENDOR, is_for_servers, is_guest
from raxl.checks.words import size
from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.finding import FAIL, HOST, STANDARD, WARN
from raxl.model.problem import NOT_ASKED, NOT_PERMITTED

_ACTIONS = {
    "reset gpu": (FAIL, "reset", "a reset of the GPU"),
    "gpu reset": (FAIL, "reset", "a reset of the GPU"),
    "reboot node": (FAIL, "reboot", "a reboot of the node"),
    "node reboot": (FAIL, "reboot", "a reboot of the node"),
    "drain p2p": (WARN, "drain", "that peer traffic is drained"),
    "drain and reset": (FAIL, "drain", "that the node is drained and the GPU reset"),
    "recover imex domain": (FAIL, "vendor", "a recovery of its IMEX domain"),
    "reset bus": (FAIL, "reset", "a reset of its bus"),
    "bus reset": (FAIL, "reset", "a reset of its bus"),
    "reboot system": (FAIL, "reboot", "a reboot of the system"),
    "system reboot": (FAIL, "reboot", "a reboot of the system"),
}
"""By the action's name, as NVML's numbers and `nvidia-smi` have it: verdict, class, and what the driver asks for."""


@check(
    "nvidia.recovery-action",
    "The driver asks for no recovery",
    P0,
    STANDARD,
    "reset",
    reference="https://github.com/NVIDIA/DCGM/issues/263",
)
def recovery_action(case: Case) -> Iterator[Verdict]:
    """Whether the driver itself says that a GPU needs a reset or a reboot: the best single sign that it can be used.

    Read: the recovery action of each GPU, which drivers from 570 on tell (older ones: skip). It fails for whatever
    action but `none` the driver asks for, also for one that raxl does not know, and warns for `drain P2P`.

    Not to be confused: an Xid in the log is a guess beside it; DCGM has called a GPU healthy whose driver asked for
    more.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults = seen(case, VENDOR, "recovery_action", "the recovery action"), []
    for device, own in found.where(lambda _, own: own.value != "none"):
        status, of_class, wish = _ACTIONS.get(own.value, (FAIL, "vendor", f"“{own.value}”, which raxl does not know"))
        verify = "`nvidia-smi --query-gpu=index,gpu_recovery_action --format=csv`"
        remedy = (
            f"drain the node, do what the driver asks for, then ask again with {verify}; the second time within a day "
        )
        remedy += "take the next step (reset, reboot, power off, replace)"
        made = fail if status == FAIL else warn
        message = f"{name(device)}: the driver asks for {wish}"
        faults.append(made(device.id, message, evidence(own), remedy=remedy, remedy_class=of_class, root=own.value))
    yield from concluded(found, faults, "the driver asks for no recovery")


@check("nvidia.persistence", "The driver stays loaded while nobody uses it", P1, STANDARD, "config", reference=NVML)
def persistence(case: Case) -> Iterator[Verdict]:
    """Whether GPUs keep their state when the last program leaves.

    Read: persistence mode, which the service nvidia-persistenced turns on too. It warns where a data-centre part has it
    off: each first call then wakes the GPU (1–5 s each; Ray's start may give up), and settings and counts are lost.

    Not to be confused: a display holds the driver as well; workstations and laptops need no persistence. A vGPU's host
    decides.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found = seen(case, VENDOR, "persistence_mode", "persistence mode")
    off = found.where(lambda device, own: not own.value and _needs_persistence(case, device))
    remedy = "`systemctl enable --now nvidia-persistenced` (or `nvidia-smi -pm 1` until the next reboot)"
    faults = []
    if off:
        message = f"persistence mode is off on {together([one for one, _ in off])}: the first call after an idle time "
        message += "is slow, and settings are lost"
        subject = off[0][0].id if len(off) == 1 else "node"
        faults.append(warn(subject, message, evidence(off[0][1], "off"), remedy=remedy, remedy_class="config"))
    nameless = [pair for pair in found.known if not pair[1].value and pair[0].model is None]
    words = "persistence mode is off, and whether it is needed: the model is not known"
    faults += [unknown(one.id, NOT_ASKED, f"{name(one)}: {words}") for one, _ in nameless]
    rest = found._replace(known=[pair for pair in found.known if pair not in (*off, *nameless)])
    words = "persistence mode is on" if all(own.value for _, own in rest.known) else "persistence mode is not needed"
    yield from concluded(rest, faults, words, lambda own: "on" if own.value else "off")


def _needs_persistence(case: Case, device: Accelerator) -> bool:
    if is_guest(reading(case, device, "virtualization").value) or reading(case, device, "display_active").value:
        return False
    return is_for_servers(device)


@check("nvidia.compute-mode", "Programs may use the GPUs", P1, STANDARD, "config", reference=NVML)
def compute_mode(case: Case) -> Iterator[Verdict]:
    """Whether the compute mode lets Ray's workers open a GPU.

    Read: the compute mode. It fails for `prohibited`: no program can open the GPU. `exclusive process` lets one process
    in at a time: it warns where Ray's node runs, since tasks with a fraction of a GPU, and a second worker, fail with
    “all CUDA-capable devices are busy or unavailable”; without Ray it is told alone.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults = seen(case, VENDOR, "compute_mode", "the compute mode"), []
    for device, own in found.where(lambda _, own: own.value != "default"):
        remedy = f"`nvidia-smi -i {device.index} -c DEFAULT`"
        if own.value == "prohibited":
            message = f"{name(device)}: its compute mode is prohibited, no program can open it"
            faults.append(fail(device.id, message, evidence(own), remedy=remedy, remedy_class="config"))
        elif case.ray is not None and not case.ray.has_left:
            message = f"{name(device)}: its compute mode is {own.value}, a second Ray worker on it fails"
            remedy += ", or let no task take a fraction of a GPU"
            faults.append(warn(device.id, message, evidence(own), remedy=remedy, remedy_class="config"))
    modes = sorted({str(own.value) for _, own in found.known})
    yield from concluded(found, faults, f"compute mode {' and '.join(modes)}")


@check(
    "nvidia.mig",
    "MIG is as it is set, and Ray counts what there is",
    P1,
    STANDARD,
    "config",
    reference="https://github.com/ray-project/ray/issues/12413",
)
def mig(case: Case) -> Iterator[Verdict]:
    """Whether GPUs that are cut into MIG devices can be used.

    Read: the MIG mode now and after a reset, the MIG devices, and Ray's count of GPUs. It fails where MIG is on and no
    MIG device was made: no program finds a GPU. It warns where the next reset changes the mode, and where Ray offers as
    many GPUs as there are cards: Ray counts physical devices, so the slices are invisible to it.

    Not to be confused: MIG itself is no fault. Without Ray's view of the node the number that Ray would offer is told
    alone, since `--num-gpus` may be set. Peer access between slices of one GPU does not exist.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, faults = seen(case, VENDOR, "mig_mode", "the MIG mode"), []
    for device, own in found.known:
        now, later = own.value
        instances = reading(case, device, "mig_instances")
        if now and instances.known and not instances.value and not device.partitions:
            message = f"{name(device)}: MIG is on and no MIG device was made, so no program finds a GPU"
            remedy = f"make some (`nvidia-smi mig -i {device.index} -cgi … -C`), or turn MIG off and reset the GPU"
            faults.append(fail(device.id, message, evidence(own, "on"), remedy=remedy, remedy_class="config"))
        elif now and not instances.known and not device.partitions:
            faults.append(unread(device.id, f"the MIG devices of {name(device)}", instances))
        elif now != later:
            message = f"{name(device)}: MIG is {_on(now)}, and {_on(later)} after the next reset"
            told = evidence(own, f"now {_on(now)}, pending {_on(later)}")
            remedy = f"drain the node, `nvidia-smi --gpu-reset -i {device.index}`"
            faults.append(warn(device.id, message, told, remedy=remedy, remedy_class="reset"))
    cut = [one for one in of_vendor(case, VENDOR) if one.partitions]
    slices = sum(len(one.partitions) for one in cut)
    offered = case.ray.resources.get("GPU") if case.ray is not None and not case.ray.has_left else None
    if cut and offered is not None and offered == len(of_vendor(case, VENDOR)) != slices:
        message = f"{slices} MIG devices, Ray offers {offered:g} GPU: it counts cards"
        remedy = "start Ray with `--num-gpus` and `CUDA_VISIBLE_DEVICES=MIG-…,MIG-…` of this node's slices"
        faults.append(warn("node", message, remedy=remedy, remedy_class="config", root="ray"))
    elif cut and not found.known:
        yield ok("node", f"{_slices(cut)}; Ray offers {len(of_vendor(case, VENDOR))} GPU unless it is told otherwise")
        return
    words = f"{_slices(cut)}; Ray counts cards" if cut else "MIG is off"
    yield from concluded(found, faults, words, lambda own: _on(own.value[0]))


def _slices(cut: list[Accelerator]) -> str:
    return f"{sum(len(one.partitions) for one in cut)} MIG devices on {counted(cut)}"


def _on(is_on: bool) -> str:
    return "on" if is_on else "off"


@check(
    "nvidia.memory-held",
    "No memory is held that no process owns",
    P0,
    STANDARD,
    "app",
    vantage=HOST,
    reference="https://github.com/ray-project/ray/issues/31451",
)
def memory_held(case: Case, most_bytes: float = 300 << 20, most_share: float = 0.005) -> Iterator[Verdict]:
    """Whether a GPU's memory is taken by something that is not there any more.

    Read: the memory that is used without what the driver reserves, and the processes that have a context on the GPU. It
    warns where more than `most_bytes` and more than the share `most_share` of the memory is used and no process is
    listed (raxl's figures; GCM takes 15 MiB): a context of a dead process, or one that the driver holds after a crash.

    Not to be confused: from inside a container NVML lists the processes of that container alone, so nothing can be said
    there. Drivers before 510 count their own reserve as used. A display uses memory. On Grace the kernel itself uses
    the GPU's memory (skip).
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, told = seen(case, VENDOR, "memory_bytes", "how much memory is used"), []
    shared = {one.accelerator for one in case.node.numa_nodes if one.accelerator}
    well = []
    for device, own in found.known:
        used, total = own.value["used"], own.value["total"] or 1
        holders = reading(case, device, "holders")
        if device.id in shared:
            told.append(skip(device.id, f"{name(device)}: its memory is the kernel's too"))
        elif holders.value or used <= max(most_bytes, most_share * total) or _draws(case, device):
            well.append((device, own))
        else:
            told.append(_unowned(case, device, own, holders))
    rest = found._replace(known=well)
    most = max((own.value["used"] for _, own in well), default=0)
    yield from concluded(rest, told, f"memory is held by processes that are there, at most {size(most)}")


def _draws(case: Case, device: Accelerator) -> bool:
    return bool(reading(case, device, "display_active").value)


def _unowned(case: Case, device: Accelerator, own: Reading, holders: Reading) -> Verdict:
    used, words = own.value["used"], f"{name(device)}: {size(own.value['used'])} are used"
    if not holders.known:
        reason = holders.reason or NOT_PERMITTED
        return unknown(device.id, reason, f"{words}, by whom: {holders.message or reason} ({holders.source})")
    if not case.facts.vantage.sees_host_processes.value:
        return unknown(device.id, NOT_PERMITTED, f"{words}, by nobody who can be seen from here")
    remedy = f"`fuser -v /dev/nvidia{device.attributes.get('minor', device.index)}`, end who holds it; if nobody does, "
    remedy += "drain the node and reset the GPU"
    told = (evidence(own, f"used {used}"), evidence(holders, "none"))
    return warn(device.id, f"{words} and no process owns it", *told, remedy=remedy, remedy_class="app")
