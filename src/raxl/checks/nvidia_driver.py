"""NVIDIA's driver: is it there, does it fit, does it answer, and does it list all GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, Case, Verdict, absent, check, evidence, fail, ok, pcie_hops, skip, unknown, unread, warn
from raxl.checks.devices import counted, name, of_vendor, uncounted
from raxl.checks.nvidia import NVML, VENDOR, refusals
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK, STANDARD, WARN, Evidence
from raxl.model.problem import DISAGREEMENT, NOT_ASKED, NOT_PRESENT, TIMED_OUT, Problem

_OTHERS = ("nouveau", "nova_core", "nova")
"""The kernel's own drivers, with which CUDA does not work."""
_NOT_LOADED = ("NVML error 9:", "couldn't communicate with the NVIDIA driver", "Driver Not Loaded")
_MISMATCH = ("NVML error 18:", "Driver/library version mismatch")
_INSTALL = "check `dkms status` and `dmesg | grep NVRM`, rebuild the driver for the running kernel, `modprobe nvidia`"
_WAITED = ("no answer within", "did not answer within", "did not end within")
"""How a reading says that it was waited for in vain; others ran out of the node's time before their turn."""


def _driver(case: Case, key: str) -> Reading:
    return case.facts.drivers.get(f"nvidia.{key}", NOT_READ)


def _bound(case: Case) -> dict[str, list[Accelerator]]:
    """The devices by the kernel driver that holds them; of none of them where the bus was not read."""
    found: dict[str, list[Accelerator]] = {}
    for device in of_vendor(case, VENDOR):
        if "sysfs" in device.evidence:
            found.setdefault(str(device.attributes.get("driver") or ""), []).append(device)
    return found


@check("nvidia.driver", "NVIDIA's driver holds the GPUs", P0, QUICK, "config", reference=NVML)
def driver(case: Case) -> Iterator[Verdict]:
    """Whether the kernel module is loaded and holds the GPUs that are on the bus.

    Read: `/sys/module/nvidia/version`, the driver each GPU is bound to, and at level standard how NVML began. It fails
    where a GPU is on the bus and the module is not loaded, or nouveau holds it, or NVML says that the driver is not
    loaded (error 9).

    Not to be confused: a library that is missing in a slim image says nothing of the driver, and is unknown; Ray then
    counts no GPU and says nothing. A GPU that vfio-pci holds was given to a virtual machine.
    """
    module, words = _driver(case, "module"), refusals(case, *_NOT_LOADED)
    if words:
        told = Evidence("nvml", words)
        yield fail("node", f"the NVIDIA driver is not loaded: {words}", told, remedy=_INSTALL, remedy_class="config")
        return
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    bound = _bound(case)
    wrong = [one for other in _OTHERS for one in bound.get(other, ())]
    given = [one for other, held in bound.items() if other.startswith("vfio") for one in held]
    if wrong:
        told = Evidence("sysfs", f"driver {wrong[0].attributes.get('driver')}")
        message = f"nouveau, not NVIDIA's driver, holds {listed([name(one) for one in wrong])}: CUDA cannot use it"
        remedy = "blacklist nouveau, rebuild the initramfs, install NVIDIA's driver, reboot"
        yield fail("node", message, told, remedy=remedy, remedy_class="config")
    if given:
        yield skip("node", f"{listed([name(one) for one in given])}: given to a virtual machine (vfio-pci)")
    rest = [one for one in of_vendor(case, VENDOR) if one not in wrong and one not in given]
    if rest:
        yield _module(case, module, rest)


def _module(case: Case, module: Reading, devices: list[Accelerator]) -> Verdict:
    start = _driver(case, "start")
    if module.known:
        unbound = [one for one in devices if one in _bound(case).get("", ())]
        if unbound:
            message = (
                f"no driver holds {listed([name(one) for one in unbound])}, though NVIDIA's {module.value} is loaded"
            )
            remedy = "read `dmesg | grep NVRM` for why the driver refused it, then reload the driver or reboot"
            return fail("node", message, evidence(module), remedy=remedy, remedy_class="reboot")
        return ok("node", f"{counted(devices)}, driver {module.value}", evidence(module))
    if start.known or any("nvidia-smi" in one for device in devices for one in device.evidence):
        version = next((one for one in case.node.software if one.name == "nvidia"), None)
        return ok("node", f"{counted(devices)}, driver {version.version if version else 'of unknown version'}")
    if module.reason == NOT_PRESENT:
        message = f"{counted(devices)} on the bus, and the nvidia kernel module is not loaded"
        return fail("node", message, evidence(module, "not present"), remedy=_INSTALL, remedy_class="config")
    return unread("node", "the version of NVIDIA's kernel module", module)


@check(
    "nvidia.library-mismatch",
    "Kernel module and user library are of one version",
    P0,
    STANDARD,
    "reboot",
    reference="https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceEnumvs.html",
)
def library_mismatch(case: Case) -> Iterator[Verdict]:
    """Whether the driver that runs and the libraries that programs load are of one version.

    Read: how NVML began (error 18 is this mismatch), the version of the loaded module, the name that
    `libnvidia-ml.so.1` leads to, and the versions that DKMS has built. It fails where NVML refuses for it, or the two
    versions differ; it warns where another version than the running one is built, which the next reboot brings.

    Not to be confused: a container loads the host's library. Where NVML works, the two fit, whatever other copies of
    the library there are.
    """
    words, module, library = refusals(case, *_MISMATCH), _driver(case, "module"), _driver(case, "library")
    remedy = "drain the node, then reload the module (`rmmod nvidia_uvm nvidia` …) or reboot; restart containers"
    if words:
        message = f"the loaded kernel module and the user library are of two versions: {words}"
        told = [evidence(one) for one in (module, library) if one.known] or [Evidence("nvml", words)]
        yield fail("node", message, *told, remedy=remedy, remedy_class="reboot")
        return
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    start = _driver(case, "start")
    if start.known or (module.known and library.known and module.value == library.value):
        yield _pending(case)
    elif module.known and library.known:
        message = f"kernel module {module.value}, user library {library.value}: no program can open a GPU"
        told = [evidence(module), evidence(library)]
        yield fail("node", message, *told, remedy=remedy, remedy_class="reboot")
    elif any("nvidia-smi" in one for device in of_vendor(case, VENDOR) for one in device.evidence):
        yield ok("node", "nvidia-smi lists the GPUs, which it does with a library that fits alone")
    else:
        missing = module if not module.known else library
        yield unread("node", "the versions of NVIDIA's kernel module and library", missing)


def _pending(case: Case) -> Verdict:
    module, built = _driver(case, "module"), _driver(case, "built")
    if module.known and built.known and built.value and module.value not in built.value:
        message = (
            f"driver {module.value} runs, and {listed(list(built.value))} is installed: the next reboot changes it"
        )
        remedy = "drain the node and reboot it at a time of your choice"
        return warn("node", message, evidence(module), evidence(built), remedy=remedy, remedy_class="reboot")
    version = module if module.known else _driver(case, "driver")
    if not version.known:
        return unread("node", "the driver's version", version)
    return ok("node", f"module and library are both {version.value}", evidence(version))


@check(
    "nvidia.hang",
    "NVIDIA's driver answers in time",
    P0,
    STANDARD,
    "reboot",
    reference="https://github.com/NVIDIA/open-gpu-kernel-modules/issues/1333",
)
def hang(case: Case, warn_seconds: float = 3.0) -> Iterator[Verdict]:
    """Whether calls of the driver come back.

    Read: how long NVML took to begin and to count its devices, and which calls did not come back (10 s for the first
    one, 2 s for others; `nvidia-smi -q -x` 10 s). It fails for each device, or for the driver, that did not answer. It
    warns where the first answer took more than `warn_seconds` (raxl's own figure): without persistence mode each GPU
    takes 1–5 s to wake, and what waits for `nvidia-smi` at its start, such as Ray, gives up.

    Not to be confused: a call that was never made since the node's time was over (`--timeout`) is no hang, and unknown.
    DCGM or a profiler may hold the driver's lock for a while.
    """
    start, tool, seconds = _driver(case, "start"), _driver(case, "tool"), _driver(case, "start_seconds")
    stuck = [one for one in (start, tool) if one.reason == TIMED_OUT and _waited(one.message)]
    for one in stuck[:1]:
        yield fail(
            "node", f"NVIDIA's driver does not answer: {one.message}", Evidence(one.source, one.message), **_STUCK
        )
    if stuck:
        return
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    found, silent = False, None
    for device in of_vendor(case, VENDOR):
        calls = case.facts.devices.get(device.id, {}).get("unanswered", NOT_READ)
        waited = [one for one in calls.value or () if _waited(one)]
        if waited:
            found = True
            told = Evidence(calls.source, "; ".join(waited[:3]))
            yield fail(device.id, f"{name(device)} does not answer: {waited[0]}", told, **_STUCK)
        elif start.known and not calls.known:
            silent = calls
    speed = _speed(start, seconds, warn_seconds)
    if not found and (silent is None or speed.status == WARN):
        yield speed
    if silent is not None:
        yield unread("node", "whether all calls came back", silent)


_STUCK = {
    "remedy": "look for processes in state D (`ps -eo pid,stat,wchan,comm | grep ' D'`), keep `dmesg` and "
    "`nvidia-bug-report.sh`, drain the node, reboot it: such processes cannot be killed",
    "remedy_class": "reboot",
}


def _waited(message: str) -> bool:
    return any(one in message for one in _WAITED)


def _speed(start: Reading, seconds: Reading, warn_seconds: float) -> Verdict:
    if not start.known:
        return unread("node", "how long NVML takes", start)
    if seconds.known and seconds.value is not None and seconds.value > warn_seconds:
        message = f"NVML's first answer took {seconds.value:.1f} s (limit {warn_seconds:g} s)"
        remedy = (
            "turn persistence mode on (`systemctl enable --now nvidia-persistenced`); ask again: if it stays slow, "
        )
        remedy += "look for what holds the driver's lock (DCGM, a profiler)"
        return warn("node", message, evidence(seconds), remedy=remedy, remedy_class="config")
    if not seconds.known:
        return unread("node", "how long NVML's first answer took", seconds)
    if seconds.value is None:
        return unknown("node", NOT_ASKED, "how long NVML's first answer took: its first process ended")
    return ok("node", f"NVML's first answer took {seconds.value:.1f} s", evidence(seconds))


@check("nvidia.count", "The driver lists all GPUs", P0, STANDARD, "reboot", reference=NVML)
def count(case: Case) -> Iterator[Verdict]:
    """Whether the driver lists all GPUs that the bus has.

    Read: the GPUs on the bus that NVIDIA's driver holds, those that NVML lists, and how many `nvidia-smi` states as
    attached. It fails where NVML lists fewer than the bus has. Where `nvidia-smi` states another number than it lists,
    or its output was cut off, the number is unknown. How many there are to be is `accelerator.count`'s: raxl has no
    table of what a product has.

    Not to be confused: inside a container NVML lists the GPUs that were given to it. `CUDA_VISIBLE_DEVICES` hides
    nothing from NVML, and a GPU in MIG mode is one. Where pcie.present names the missing one, this is skipped.
    """
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    devices, start = of_vendor(case, VENDOR), _driver(case, "start")
    on_bus = [one for one in devices if "sysfs" in one.evidence and one.attributes.get("driver") == VENDOR]
    who, lists = ("NVML", start) if start.known else ("nvidia-smi", _driver(case, "tool"))
    unlisted = [one for one in on_bus if not {"nvml", "nvidia-smi -q -x"} & set(one.evidence)]
    if lists.known and unlisted and case.node.os.container in (None, "none"):
        gone = listed([name(one) for one in unlisted])
        message = f"{len(on_bus)} GPUs are on the bus, {who} lists {lists.value}: {gone} is missing"
        remedy = (
            "read `dmesg | grep -e NVRM -e Xid` for the missing one, drain the node, reboot; the second time power it "
        )
        remedy += "off for 30 s, then have it replaced"
        under = ("pcie.present", unlisted[0].id)
        yield fail("node", message, evidence(lists), remedy=remedy, remedy_class="reboot", under=under)
        return
    if on_bus and not lists.known:
        yield unread("node", f"which of {len(on_bus)} GPUs on the bus NVIDIA's driver lists", start)
        return
    if (doubt := uncounted(case, "nvidia-smi")) is not None:
        yield unknown("node", DISAGREEMENT, f"how many GPUs there are: {doubt}", Evidence("nvidia-smi", doubt))
        return
    yield ok("node", f"{counted(devices)}{f', {who} lists {lists.value}' if lists.known else ''}")


@check(
    "nvidia.lost",
    "No GPU has fallen off the bus",
    P0,
    QUICK,
    "reboot",
    reference="https://docs.nvidia.com/deploy/xid-errors/",
)
def lost(case: Case) -> Iterator[Verdict]:
    """Whether each GPU still answers on the bus.

    Read: NVML's errors 15 (lost) and 16 (needs a reset) of each device, `nvidia-smi`'s lines in place of a device, a
    configuration space that reads all ones, and of the kernel's log Xid 79 and the driver's three lines `fallen off the
    bus` at its start, which have no Xid. One finding a device, by whatever it was seen: pcie.config-dead and nvidia.xid
    leave it to this one. It warns where the log of this boot tells of it and the device answers again.

    Not to be confused: one lost GPU can keep the whole library from beginning; then the kernel's log names it.
    """
    told: dict[str, list[Evidence]] = {}
    for device in of_vendor(case, VENDOR):
        own = case.facts.devices.get(device.id, {}).get("refused", NOT_READ).value or ()
        lost_words = [one for one in own if one.startswith(_CODES)]
        if device.state == "lost" or lost_words:
            words = lost_words[0] if lost_words else _said(case, device)
            told.setdefault(device.id, []).append(Evidence(", ".join(device.evidence) or "nvml", words))
        header = pcie_hops.reading(case, device.pci.address if device.pci else None, "header")
        if pcie_hops.is_dead(header):
            words = "its configuration space reads all ones"
            told.setdefault(device.id, []).append(Evidence(header.source, words))
    for event in case.facts.kernel_log.events:
        is_loss = event.kind == "fallen-off-bus" or (event.kind == "xid" and event.code == "79")
        if is_loss and event.boot == 0:
            words = Evidence("kernel log", event.text[:200])
            told.setdefault(_subject(case, event.device), []).append(words)
    if told:
        by_id = {one.id: one for one in of_vendor(case, VENDOR)}
        for subject, seen_by in told.items():
            yield _gone(by_id.get(subject), subject, seen_by)
        return
    if (nothing := absent(case, VENDOR)) is not None:
        yield nothing
        return
    open_ = [one for one in of_vendor(case, VENDOR) if one.state == "unknown"]
    if open_:
        reasons = {one.subject: one for one in case.node.problems}
        why = next((reasons[f"{one.id}.state"] for one in open_ if f"{one.id}.state" in reasons), None)
        why = why or reasons.get("accelerators.state")
        yield _open(case, open_, why)
    rest = [one for one in of_vendor(case, VENDOR) if one not in open_]
    if rest:
        yield ok("node", f"{counted(rest)} answer", Evidence(", ".join(rest[0].evidence), "its memory was read"))


_CODES = ("NVML error 15:", "NVML error 16:")


def _open(case: Case, devices: list[Accelerator], why: Problem | None) -> Verdict:
    """Of devices that nobody asked whether they answer, what the log says."""
    log, reason = case.facts.kernel_log.read, why.reason if why else NOT_ASKED
    if reason == NOT_ASKED and log.known:
        return ok("node", f"the kernel's log tells of no GPU that fell off the bus ({counted(devices)})", evidence(log))
    words = f"whether {listed([name(one) for one in devices])} answers"
    return unread("node", words, Reading(None, "its state", reason, why.message if why else "nobody asked"))


def _said(case: Case, device: Accelerator) -> str:
    """With which words the device's basics were refused."""
    fields = (f"{device.id}.{field}" for field in ("state", "memory_bytes", "uuid"))
    told = {one.subject: one.message for one in case.node.problems}
    return next((told[field] for field in fields if field in told), "it is there and does not answer")


def _subject(case: Case, address: str | None) -> str:
    """The device that a line of the log names: Xids tell no function of it."""
    if address is None:
        return "node"
    whole = address if "." in address else f"{address}.0"
    held = next((one.id for one in of_vendor(case, VENDOR) if one.pci and one.pci.address == whole), None)
    return held or whole


def _gone(device: Accelerator | None, subject: str, told: list[Evidence]) -> Verdict:
    who = name(device) if device else subject if subject != "node" else "a GPU that the log does not name"
    sources = {one.source for one in told}
    if any(one.value.startswith("NVML error 16:") for one in told) and sources != {"kernel log"}:
        remedy = f"drain the node, `nvidia-smi --gpu-reset` for {who} (on NVSwitch boards all GPUs), else reboot"
        return fail(subject, f"{who} needs a reset before it answers", *told, remedy=remedy, remedy_class="reset")
    remedy = (
        "drain the node, keep `nvidia-bug-report.sh`, reboot; the second time power it off for 30 s, then have the "
    )
    remedy += "GPU and its riser replaced"
    if device is not None and device.state == "ok" and sources == {"kernel log"}:
        message = f"{who} fell off the bus in this boot and answers again"
        return warn(subject, message, *told, remedy=remedy, remedy_class="reboot", root="lost")
    message = f"{who} has fallen off the bus (state: lost): {told[0].value}"
    return fail(subject, message, *told, remedy=remedy, remedy_class="reboot", root="lost")
