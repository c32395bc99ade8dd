"""Devices on the bus: whether they answer, and whether those that drive them know them."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, Case, Verdict, check, evidence, fail, ok, skip, unknown, warn
from raxl.checks.pcie_hops import devices, is_dead, no_accelerator, nothing, reading, unread_together
from raxl.checks.words import counted, listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import Reading
from raxl.model.finding import QUICK, Evidence
from raxl.model.problem import NOT_APPLICABLE, NOT_ASKED

_BUS = ("sysfs", "lspci", "lspci-tree")
_HANDED_ON = ("vfio-pci", "pci-stub", "uio_pci_generic")
_OWN_VFIO = ("tpu",)
"""Families whose own driver VFIO is."""
_BIND = (
    "lspci -ks {0} shows what drives it; where no virtual machine needs it, free it (driverctl unset-override {0}, or "
    "echo it into /sys/bus/pci/drivers/{1}/unbind) and load the vendor's driver"
)
_LOAD = "lspci -ks {0} shows what may drive it; load the vendor's driver (modprobe), and read dmesg for why it refused"
_GONE = (
    "look for the address in dmesg (fallen off the bus, failed to initialize); drain the node and reboot it, and if "
    "it is missing again power-cycle it cold (30 s off), then have the device replaced"
)
_DEAD = (
    "setpci -s {0} VENDOR_ID.w gives ffff while it is dead; drain the node and reboot it; if that does not bring it "
    "back power-cycle it cold (30 s off); the second time have it replaced"
)


@check("pcie.present", "Every accelerator on the bus has its driver and is known to its library", P0, QUICK, "reboot")
def present(case: Case) -> Iterator[Verdict]:
    """The kernel lists what is plugged in; the vendor's library lists what works.

    Read: `/sys/bus/pci/devices` with the drivers bound there, and which devices the libraries and tools of each
    vendor list. It fails for a device that its own driver holds and that a library leaves out which lists others of
    the same vendor; it warns where a device is bound to vfio-pci or to no driver.

    Not to be confused: a device that is handed on to a virtual machine on purpose (suppress it), a container that is
    given some devices of the host and sees them all on the bus, and TPUs, whose own driver vfio-pci is. Where a check
    of the vendor's driver tells the same, this is skipped.
    """
    if (verdict := no_accelerator(case)) is not None:
        yield verdict
        return
    found, handed, silent = 0, 0, {}
    on_bus = [one for one in case.node.accelerators if one.pci and one.pci.address in case.facts.pcie]
    for device in on_bus:
        driver = reading(case, device.pci.address if device.pci else "", "driver")
        lacking = _not_listed(case, device, on_bus)
        if not driver.known:
            silent[device.id] = driver
        elif (verdict := _unbound(device, driver)) is not None:
            handed += 1
            yield verdict
        elif lacking and case.node.os.container in (None, "none"):
            where = listed(lacking)
            words = f"{device.id} ({device.pci.address if device.pci else ''}) is on the bus, and not listed by {where}"
            shown = Evidence(where, f"lists {len(on_bus) - 1} or fewer of {len(on_bus)}")
            yield fail(device.id, words, shown, remedy=_GONE, remedy_class="reboot")
            handed += 1
        elif lacking:
            silent[device.id] = Reading(
                None, lacking[0], NOT_APPLICABLE, "the container sees it on the bus, and was not given it"
            )
        else:
            found += 1
    if found and not handed:
        yield ok("node", f"{counted(found, 'accelerator')} on the bus, each with its driver{_by(on_bus)}")
    elif found:
        yield ok("node", f"{counted(found, 'other accelerator')} with a driver{_by(on_bus)}")
    yield from unread_together(case, silent, "the driver")
    if not on_bus:
        yield unknown("node", NOT_ASKED, "the PCI tree is not in what was read")


def _unbound(device: Accelerator, driver: Reading) -> Verdict | None:
    """A device that somebody numbers has a driver, whatever the kernel calls it."""
    address = device.pci.address if device.pci else ""
    if driver.value is None and device.index is None:
        words = f"{device.id} ({address}) has no driver"
        shown, remedy = Evidence(driver.source, "none"), _LOAD.format(address)
        under = (f"{device.vendor}.driver", "node" if device.vendor == "nvidia" else device.id)
        return warn(device.id, words, shown, remedy=remedy, remedy_class="config", under=under)
    if driver.value in _HANDED_ON and device.vendor not in _OWN_VFIO:
        words = f"{device.id} ({address}) is bound to {driver.value}: no job can use it here"
        remedy = _BIND.format(address, driver.value)
        return warn(device.id, words, evidence(driver), remedy=remedy, remedy_class="config")
    return None


def _not_listed(case: Case, device: Accelerator, on_bus: list[Accelerator]) -> list[str]:
    """The libraries and tools that list others of its vendor and not it; of a machine that raxl itself asked."""
    if case.node.recorded_by is None:
        return []
    others = [one for one in on_bus if one.vendor == device.vendor and one.id != device.id]
    named = {source for one in others for source in one.evidence if source not in _BUS}
    return sorted(named - set(device.evidence))


def _by(on_bus: list[Accelerator]) -> str:
    named = sorted({source for one in on_bus for source in one.evidence if source not in _BUS})
    return f", listed by {listed(named)}" if named else ""


@check("pcie.config-dead", "Every device on the bus answers", P0, QUICK, "reboot")
def config_dead(case: Case) -> Iterator[Verdict]:
    """A device that fell off the bus reads all ones; every other question to it may hang, or be answered from memory.

    Read: the first 64 bytes of `config` of accelerators, adapters and the bridges above them. It fails where all
    of them are ones. It works without a library, and where every tool hangs. OCI looks at the same (`rev ff`). Where
    nvidia.lost or amd.lost tells the same of the device, this is skipped.

    Not to be confused: a device in D3cold reads all ones and is well, so that one that is suspended is not read:
    reading would wake it. Of an SR-IOV virtual function vendor and device read ffff, and nothing else does. The files
    `vendor` and `device` are what the kernel remembers, and still show the old ids.
    """
    if (verdict := nothing(case)) is not None:
        yield verdict
        return
    names = {device.address: device.id for device in devices(case)}
    vendors = {one.id: one.vendor for one in case.node.accelerators}
    dead = {address for address in case.facts.pcie if is_dead(reading(case, address, "header"))}
    alive, silent = 0, {}
    for address in case.facts.pcie:
        header = reading(case, address, "header")
        subject = names.get(address, address)
        if address in dead:
            if not dead.intersection(reading(case, address, "chain").value or ()):
                yield _off_the_bus(case, address, subject, names, vendors.get(subject))
        elif header.known:
            alive += 1
        else:
            silent[subject] = header
    if alive and not dead:
        yield ok(
            "node",
            f"{counted(alive, 'function')} on the bus answered: accelerators, adapters and the bridges above them",
        )
    yield from unread_together(case, silent, "whether it answers")
    if not alive and not silent and not dead:
        yield skip("node", "no function to be read")


def _off_the_bus(case: Case, address: str, subject: str, names: dict[str, str], vendor: str | None) -> Verdict:
    header = reading(case, address, "header")
    below = [id for one, id in names.items() if address in (reading(case, one, "chain").value or ())]
    what = f"{subject} ({address})" if subject != address else f"the bridge {address}"
    words = f"{what} is off the bus: its configuration space reads all ones"
    words += f"; below it {listed(below)}" if below else ""
    shown = Evidence(header.source, f"{str(header.value)[:8]}…")
    under = (f"{vendor}.lost", subject) if vendor else None
    return fail(subject, words, shown, remedy=_DEAD.format(address), remedy_class="reboot", under=under)
