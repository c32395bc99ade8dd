"""The PCI tree of an NCCL or RCCL topology file, and what hangs on it.

The format is that of NCCL's `src/graph/xml.cc`; what a level of it means is in `src/graph/topo.cc` and `paths.cc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from raxl.model.component import PciFunction, PciLink
from raxl.model.identity import pci_address
from raxl.sources import pci

FORM = "nccl-xml"


class Place(NamedTuple):
    """One `cpu` element: what NCCL takes for a processor with its root complex."""

    element: Element
    host_bridge: str
    """A name made up for it: the file names no host bridge."""
    numa_node: int | None


class Device(NamedTuple):
    """One `pci` element with an address."""

    element: Element
    function: PciFunction


class Net(NamedTuple):
    """One `net` element, and the function above it; None where the file hangs it on the processor."""

    element: Element
    function: PciFunction | None
    numa_node: int | None


def places(system: Element) -> tuple[tuple[Place, ...], int]:
    """The `cpu` elements of one machine, and how many belong to others.

    A file of a multi-node NVLink domain holds several machines, told apart by `host_hash`: the first one counts.
    """
    every = system.findall("cpu")
    own = [cpu for cpu in every if cpu.get("host_hash") == every[0].get("host_hash")]
    found = (Place(cpu, f"cpu{at}", number(cpu.get("numaid"))) for at, cpu in enumerate(own))
    return tuple(found), len(every) - len(own)


def walk(place: Place) -> Iterator[Device | Net]:
    """Everything below a processor, depth first."""
    return _below(place.element, place, None, ())


def _below(element: Element, place: Place, above: PciFunction | None, way: tuple[str, ...]) -> Iterator[Device | Net]:
    """What is below an element; `way` is the chain down to that switch, the switch itself included.

    NCCL names a whole switch by its upstream port and leaves root ports and downstream ports out. They are put back
    under made-up names, so that each switch counts as one: siblings are PIX, any path over two switches is PXB.
    """
    for at, child in enumerate(element):
        if child.tag == "pci":
            address = pci_address(child.get("busid"))
            name = address or f"{way[-1] if way else place.host_bridge} / {at}"
            slot = name.rsplit(".", 1)[0]
            chain = (*way, f"port above {slot}") if way else ()
            function = _function(address, child, place, chain) if address else None
            if function is not None:
                yield Device(child, function)
            yield from _below(child, place, function, (*(chain or (f"port above {slot}",)), name))
        elif child.tag == "nic":
            for net in child.iter("net"):
                yield Net(net, above, place.numa_node)


def _function(address: str, element: Element, place: Place, chain: tuple[str, ...]) -> PciFunction:
    # NCCL writes the lesser of the device's and the port's *maximum* (`ncclTopoGetXmlFromSys`), not the current state.
    link = PciLink(max_speed_gts=pci.gts(element.get("link_speed")), max_width=pci.lanes(element.get("link_width")))
    return PciFunction(
        address=address,
        class_id=pci.hex_digits(element.get("class"), 6),
        host_bridge=place.host_bridge,
        chain=chain,
        vendor_id=pci.hex_digits(element.get("vendor"), 4),
        device_id=pci.hex_digits(element.get("device"), 4),
        subsystem_id=pci.subsystem(element.get("subsystem_vendor"), element.get("subsystem_device")),
        numa_node=place.numa_node,
        link=link if link != PciLink() else None,
        evidence=FORM,
    )


def number(text: str | None, most: int = 1 << 16) -> int | None:
    """A decimal number from 0 to `most`; None for anything else, such as `-1`: not known."""
    text = (text or "").strip()
    return int(text) if re.fullmatch("[0-9]{1,18}", text) and int(text) <= most else None
