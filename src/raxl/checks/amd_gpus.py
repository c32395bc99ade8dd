"""What checks of AMD GPUs have in common: which GPUs, and what their driver and the kernel's log say of them."""

from __future__ import annotations

from raxl.checks import Case
from raxl.checks.pcie_hops import reading
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, KernelEvent, Reading

DRIVER = "amdgpu"


def own(case: Case) -> list[Accelerator]:
    """AMD's devices."""
    return [one for one in case.node.accelerators if one.vendor == "amd"]


def driven(case: Case) -> list[Accelerator]:
    """Those of them that no other driver holds."""
    return [one for one in own(case) if bound_to(case, one).value in (None, DRIVER)]


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


def address(device: Accelerator) -> str | None:
    """Where it sits on the bus."""
    return device.pci.address if device.pci else None


def bound_to(case: Case, device: Accelerator) -> Reading:
    """The driver that holds it; None where none does."""
    return reading(case, address(device), "driver")
