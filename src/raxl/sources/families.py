"""What families of accelerators have in common on the bus: which functions are theirs, and what the bus says of them.

Standard library, Python 3.8: plug-ins run on bare nodes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.host import Host, stripped
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.presence import Presence
from raxl.model.problem import NOT_APPLICABLE, NOT_INSTALLED, NOT_PRESENT
from raxl.model.report import Claim, Silence
from raxl.sources import pci, presence

_CLASSES = ("03", "12")
"""Display controllers and processing accelerators."""
_MOST = 256
"""More than any machine has."""
HANDED_ON = ("vfio-pci", "pci-stub", "uio_pci_generic")
"""Drivers that give a device to another: to a virtual machine, or to a program."""
OF_DRIVER = ("uuid", "serial", "memory_bytes", "index", "state")
"""What the bus alone never tells."""


class Family(NamedTuple):
    """A family's names and numbers."""

    vendor: str
    """The first half of its ids: `gaudi`."""
    name: str
    """For a person: `Intel Gaudi`."""
    kind: str
    """gpu | tpu | npu | lpu | neuron | hpu | ipu | xpu"""
    vendor_id: str
    """PCI vendor, four hex digits."""
    models: Mapping[str, str]
    """By PCI device id, the model's name where no driver or tool tells one."""
    resource: Optional[str]
    """Ray's resource; None where Ray does not know the family."""
    visible_env: Optional[str]
    """The variable that hides devices from a process."""
    drivers: Tuple[str, ...]
    """The kernel modules that drive it."""
    classes: Tuple[str, ...] = _CLASSES
    """Beginnings of PCI classes that an unknown device id of the vendor must have to count."""
    ray_types: Mapping[str, str] = {}
    """By PCI device id, Ray's `ray.io/accelerator-type` where Ray takes it from there."""


def holds(family: Family, function: PciFunction) -> bool:
    """Whether a PCI function is a device of the family. A virtual function counts where its owner is not here."""
    if function.vendor_id != family.vendor_id:
        return False
    known = function.device_id in family.models
    return known or (function.class_id or "").startswith(family.classes)


def on_bus(family: Family, functions: Sequence[PciFunction]) -> list[PciFunction]:
    """The family's devices; a virtual function is left out where the function that it belongs to is seen too."""
    own = [function for function in functions if holds(family, function)]
    seen = {function.address for function in own}
    return [function for function in own if function.physical_function not in seen]


def pairs(addresses: Sequence[str]) -> Iterator[Tuple[str, str]]:
    """Every pair of devices; of more than any machine has, those of the first: a text may name thousands."""
    return combinations(addresses[:_MOST], 2)


def probe(family: Family, host: Host, places: Sequence[str] = ()) -> Presence:
    """A cheap look for the family: on the bus, then at `places` that only its driver makes."""

    def counts(device: str, of_class: str) -> bool:
        return device in family.models or of_class.startswith(family.classes)

    return presence.look(host, family.vendor_id, counts, places)


def is_on_bus(family: Family, host: Host) -> Optional[bool]:
    """Whether a device of the family is listed; None where the bus could not be read."""
    listing = host.names(pci.FOLDER)
    if not listing.known:
        return False if listing.reason == NOT_PRESENT else None
    for name in listing.value:
        folder = f"{pci.FOLDER}/{name}"
        if stripped(host.text(f"{folder}/vendor")) == "0x" + family.vendor_id:
            device = (stripped(host.text(f"{folder}/device")) or "")[2:]
            pci_class = (stripped(host.text(f"{folder}/class")) or "")[2:]
            if device in family.models or pci_class.startswith(family.classes):
                return True
    return False


def is_handed_on(claim: Claim) -> bool:
    """Whether the bus says that the device is another's to use: what its driver left behind, or a tool that lists it
    all the same, tells no state of it. A TPU's own driver is one of these, and says nothing of the kind."""
    why = claim.silent.get("state")
    return claim.attributes.get("driver") in HANDED_ON and why is not None and why.reason == NOT_APPLICABLE


def claim(family: Family, function: PciFunction, silence: Optional[Silence]) -> Claim:
    """What the bus says of a device. `silence`: why nobody says what the driver would; None where somebody does."""
    model = family.models.get(function.device_id or "") or function.name
    silent = dict.fromkeys(OF_DRIVER if model else (*OF_DRIVER, "model"), silence) if silence else {}
    if function.driver not in (None, *family.drivers):
        words = f"the device is bound to {function.driver}, not to {' or '.join(family.drivers) or 'a driver'}"
        silent = dict.fromkeys(silent or OF_DRIVER, Silence(NOT_APPLICABLE, words, function.evidence))
    elif function.driver is None and function.evidence == "sysfs" and silence is not None:
        silent = dict.fromkeys(silent, Silence(NOT_INSTALLED, "no driver is bound to the device", "sysfs"))
    place = placed(family.vendor, family.kind, function)
    return replace(
        place,
        model_by_id=model,
        ray=RayView(resource=family.resource, type=family.ray_types.get(function.device_id or "")),
        visible_env=family.visible_env,
        silent={**{field: why for field, why in silent.items() if why is not None}, **place.silent},
    )


def placed(vendor: str, kind: str, function: PciFunction) -> Claim:
    """What every device on the bus tells of itself: where it sits, its ids and its link."""
    homeless = function.evidence == "sysfs" and function.numa_node is None
    return Claim(
        vendor=vendor,
        kind=kind,
        evidence=function.evidence,
        address=function.address,
        vendor_id=function.vendor_id,
        device_id=function.device_id,
        subsystem_id=function.subsystem_id,
        link=function.link,
        host_bridge=function.host_bridge,
        numa_node=function.numa_node,
        local_numa_nodes=function.local_numa_nodes,
        state="lost" if function.is_lost else None,
        attributes=function.beside,
        silent={"numa_node": Silence(NOT_PRESENT, "the firmware names no NUMA node", "sysfs")} if homeless else {},
    )
