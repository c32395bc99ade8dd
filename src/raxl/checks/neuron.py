"""AWS Neuron devices: their driver, how many there are, and their memory's errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from raxl.checks import P0, P1, Case, Verdict, absent, check, evidence, expected, fail, ok, unknown, unread, warn
from raxl.checks.pcie_hops import reading, unread_together
from raxl.checks.words import counted, listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK, SKIP, Evidence
from raxl.model.problem import FAILED, NOT_ASKED

_SETUP = "https://awsdocs-neuron.readthedocs-hosted.com"
_MODULE = "neuron"
_LOAD = (
    "modprobe neuron; after a change of kernel install its headers and rebuild the driver (dkms autoinstall), then "
    "retry"
)
_REBOOT = (
    "drain the instance and reboot it; where a device is missing again stop and start it, so that it gets other "
    "hardware"
)
_REPLACE = (
    "drain the instance, stop and start it so that it gets other hardware, and tell AWS the device's serial number"
)
_REPAIR = "drain the instance and reboot it: the memory is repaired when the driver starts; the second time replace it"
_MISREAD = "sysfs failed to read ECC"
_UNCORRECTED = ("sram_ecc_uncorrected", "mem_ecc_uncorrected")
_REPAIRABLE = "mem_ecc_repairable_uncorrected"


def _own(case: Case) -> list[Accelerator]:
    return [one for one in case.node.accelerators if one.vendor == "neuron"]


def _on_bus(case: Case) -> list[Accelerator]:
    return [one for one in _own(case) if one.pci and one.pci.address in case.facts.pcie]


def _driver_of(case: Case, device: Accelerator) -> Reading:
    return reading(case, device.pci.address if device.pci else None, "driver")


@check("neuron.driver", "The Neuron driver is loaded and has its devices", P0, QUICK, "config", reference=_SETUP)
def driver(case: Case) -> Iterator[Verdict]:
    """Without the module `neuron` there is no `/dev/neuron*`, and Ray counts no cores.

    Read: `/sys/module`, the module's version, and the driver that is bound to each device on the bus. It fails where
    devices are on the bus and the module is not loaded, or none is bound.

    Not to be confused: the usual cause is no fault of the device: DKMS did not build the module for a new kernel.
    """
    if (verdict := absent(case, "neuron")) is not None:
        yield verdict
        return
    version, loaded = case.facts.drivers.get(_MODULE, NOT_READ), case.facts.modules
    if loaded.known and _MODULE not in loaded.value:
        words = f"{counted(len(_own(case)), 'Neuron device')} without their driver: the module neuron is not loaded"
        yield fail("node", words, Evidence(loaded.source, "no neuron"), remedy=_LOAD, remedy_class="config")
        return
    unbound = [one.id for one in _on_bus(case) if _driver_of(case, one).known and _driver_of(case, one).value is None]
    for id in unbound:
        words = f"{id} has no driver, though neuron is loaded"
        yield fail(id, words, Evidence("sysfs", "no driver"), remedy=_LOAD, remedy_class="config")
    if version.known and not unbound:
        yield ok("node", f"{counted(len(_own(case)), 'Neuron device')}, driver {version.value}", evidence(version))
    elif loaded.known and not unbound:
        yield ok(
            "node",
            f"{counted(len(_own(case)), 'Neuron device')}, and the module neuron is loaded",
            evidence(loaded, _MODULE),
        )
    elif not unbound:
        yield unread("node", "whether the module neuron is loaded", loaded)


@check("neuron.count", "Every Neuron device on the bus has been made by the driver", P0, QUICK, "reboot")
def count(case: Case) -> Iterator[Verdict]:
    """A device that the driver gave up is on the bus and nowhere else.

    Read: the devices on the bus that have the driver, those of `/sys/class/neuron_device`, the nodes `/dev/neuron*`,
    and the cores of each. It fails where there are fewer than on the bus, or than the policy expects
    (`neuron_devices`), and warns where devices of one model have different numbers of cores.

    Not to be confused: in a container `/dev` holds the devices that it was given. With a logical core size of 2, two
    cores count as one, for all devices alike.
    """
    policy = expected.count(case, "neuron_devices")
    if (verdict := absent(case, "neuron")) is not None:
        yield verdict if verdict.status != SKIP or not policy else _none_of(policy, verdict.message)
        return
    driven = len([one for one in _on_bus(case) if _driver_of(case, one).value == _MODULE])
    made, nodes = (case.facts.drivers.get(name, NOT_READ) for name in ("neuron_devices", "neuron_nodes"))
    in_container = case.node.os.container not in (None, "none")
    wanted, source = (driven, "the bus") if policy is None else (policy, "the policy")
    told = False
    counts: list[tuple[str, Reading]] = [("the driver has made", made)]
    if not in_container:
        counts.append(("/dev has nodes of", nodes))
    for what, one in counts:
        if one.known and one.value < wanted:
            told = True
            words = f"{wanted} Neuron devices by {source}, {what} {one.value}"
            held = f"{wanted}: {source}"
            yield fail("node", words, evidence(one), remedy=_REBOOT, remedy_class="reboot", expected=held, root=what)
    cores = {one.id: n for one in _own(case) if (n := _cores(one)) is not None}
    usual = Counter(cores.values()).most_common(1)
    odd = [f"{id} has {n}" for id, n in cores.items() if n != usual[0][0]]
    if odd:
        told = True
        words = f"{listed(odd)} cores, the other devices {usual[0][0]}"
        yield warn("node", words, Evidence("core_count", listed(odd)), remedy=_REBOOT, remedy_class="reboot")
    if made.known and not told:
        beside = f", {usual[0][0]} cores each" if usual else ""
        yield ok("node", f"{counted(made.value, 'Neuron device')}{beside}", evidence(made))
    elif not told:
        yield unread("node", "how many devices the driver has made", made)


def _none_of(wanted: int, why: str) -> Verdict:
    words, held = f"{counted(wanted, 'Neuron device')} by the policy: {why}", f"{wanted}: the policy"
    return fail(
        "node",
        words,
        Evidence("policy", str(wanted)),
        remedy=_REBOOT,
        remedy_class="reboot",
        expected=held,
        root="none",
    )


def _cores(device: Accelerator) -> int | None:
    told = (device.attributes.get(name) for name in ("neuron_cores", "physical_neuron_cores"))
    return next((int(one) for one in told if isinstance(one, int)), None)


@check("neuron.ecc", "No Neuron device has uncorrected memory errors", P1, QUICK, "rma", reference=_SETUP)
def ecc(case: Case) -> Iterator[Verdict]:
    """An uncorrected error of on-chip or device memory costs the job, and comes again.

    Read: `stats/hardware/{sram,mem}_ecc_uncorrected` and `mem_ecc_repairable_uncorrected` of each device, or what
    neuron-monitor counts. It fails at the first one; repairable ones are repaired at the next reboot.

    Not to be confused: the driver prints 0 where its own read failed, and says so in the kernel's log alone: beside
    such a line 0 is unknown. The count of SRAM has 16 bits, so that 65535 means at least as many. Newer drivers moved
    files: one that is missing is unknown.
    """
    if (verdict := absent(case, "neuron")) is not None:
        yield verdict
        return
    misread = any(_MISREAD in event.text for event in case.facts.kernel_log.events)
    well, silent = 0, {}
    told = _counters(case)
    for subject, counters in told.items():
        broken = {name: one.value for name, one in counters.items() if one.known and one.value}
        missing = next((one for one in counters.values() if not one.known), None)
        if broken:
            yield _broken(subject, broken, counters)
        elif missing is not None:
            silent[subject] = missing
        elif misread:
            words = "the kernel's log says that the driver failed to read it, and prints 0"
            silent[subject] = Reading(None, "kernel log", FAILED, words)
        else:
            well += 1
    if well:
        yield ok("node", f"no uncorrected memory error on {counted(well, 'Neuron device')}")
    yield from unread_together(case, silent, "uncorrected memory errors")
    if not told:
        yield unknown("node", NOT_ASKED, "uncorrected memory errors: neither the driver nor neuron-monitor told them")


def _counters(case: Case) -> dict[str, Mapping[str, Reading]]:
    """By device, of the driver's files, else of neuron-monitor."""
    own = {id: one for id, one in case.facts.devices.items() if id.startswith("neuron:") and one}
    for device in _own(case):
        names = (*_UNCORRECTED, _REPAIRABLE)
        counts = {name: n for name in names if isinstance(n := device.attributes.get(name), int)}
        if counts and device.id not in own:
            own[device.id] = {name: Reading(n, listed(list(device.evidence))) for name, n in counts.items()}
    return own


def _broken(subject: str, broken: Mapping[str, int], counters: Mapping[str, Reading]) -> Verdict:
    words = f"{subject} has uncorrected memory errors: {listed([f'{n} {name}' for name, n in broken.items()])}"
    shown = [Evidence(counters[name].source, str(n)) for name, n in broken.items()]
    if set(broken) == {_REPAIRABLE}:
        return fail(subject, words, *shown, remedy=_REPAIR, remedy_class="reboot")
    return fail(subject, words, *shown, remedy=_REPLACE, remedy_class="rma")
