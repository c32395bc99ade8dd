"""The objects of an hwloc XML document, whatever its version.

hwloc's documentation, "Importing and exporting topologies from/to XML files"; hwloc.dtd (v1) and hwloc2.dtd (v2, v3).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from raxl.model.identity import pci_address
from raxl.sources import kernel_list

_ENUMERATED = {"2": "network", "3": "openfabrics"}
"""`hwloc_obj_osdev_type_t` of v1 and v2, as far as it is asked for."""
_MASKED = {1 << 4: "network", 1 << 5: "openfabrics"}
"""The same of v3, where a device may have several types: an RDMA device is both."""


@dataclass(frozen=True, eq=False)
class HwlocObject:
    """One `object` element and the one above it."""

    element: Element
    parent: HwlocObject | None

    @property
    def type(self) -> str:
        """`PCIDev`, `OSDev`, `NUMANode` …"""
        return self.element.get("type", "")

    @property
    def name(self) -> str:
        """An OS device's name; empty for most others."""
        return self.element.get("name", "")

    @property
    def infos(self) -> dict[str, str]:
        """Its `info` elements that have a value."""
        return infos(self.element)

    @property
    def lineage(self) -> Iterator[HwlocObject]:
        """The object itself and all above it, the nearest first."""
        at: HwlocObject | None = self
        while at is not None:
            yield at
            at = at.parent

    @property
    def pci(self) -> HwlocObject | None:
        """The PCI device that it is or that it hangs below; None for what hangs below a bridge or the machine."""
        return next((at for at in self.lineage if at.type == "PCIDev"), None)

    @property
    def address(self) -> str | None:
        """The PCI address of `pci`."""
        return pci_address(self.pci.element.get("pci_busid")) if self.pci else None

    @property
    def numa_nodes(self) -> tuple[int, ...]:
        """The NUMA nodes of the nearest object above that names any; I/O objects name none themselves."""
        for at in self.lineage:
            nodes = bitmap(at.element.get("nodeset"))
            if nodes is not None:
                return tuple(sorted(nodes))
        return ()


@dataclass(frozen=True)
class Topology:
    """A document: its objects in their order, depth first, and what stands beside them."""

    element: Element
    version: int
    objects: tuple[HwlocObject, ...]
    by_type: dict[str, list[HwlocObject]] = field(default_factory=dict)

    def of_type(self, *types: str) -> list[HwlocObject]:
        """The objects of these types."""
        return [thing for kind in types for thing in self.by_type.get(kind, ())]

    @property
    def infos(self) -> dict[str, str]:
        """What is said of the machine: on the topology itself since v3, on the machine object before."""
        machines = self.of_type("Machine", "System")
        return {**(machines[0].infos if machines else {}), **infos(self.element)}

    def osdev_types(self, osdev: HwlocObject) -> set[str]:
        """`network`, `openfabrics` or both; empty for every other OS device."""
        text = osdev.element.get("osdev_type", "")
        if not text.isdecimal():
            return set(re.findall("network|openfabrics", text.lower()))
        if self.version < 3:
            return {_ENUMERATED[text]} if text in _ENUMERATED else set()
        mask = number(text) or 0
        return {name for bit, name in _MASKED.items() if mask & bit}


def topology(root: Element) -> Topology | None:
    """The topology at or below an element; None when there is none."""
    element = root if root.tag == "topology" else root.find(".//topology")
    if element is None:
        return None
    version = re.match(r"\d+", element.get("version", "1"))
    found = Topology(element, int(version[0][:4]) if version else 1, tuple(_walk(element)))
    for thing in found.objects:
        found.by_type.setdefault(thing.type, []).append(thing)
    return found


def _walk(element: Element) -> Iterator[HwlocObject]:
    waiting = [HwlocObject(child, None) for child in reversed(element.findall("object"))]
    while waiting:
        thing = waiting.pop()
        yield thing
        waiting += [HwlocObject(child, thing) for child in reversed(thing.element.findall("object"))]


def infos(element: Element) -> dict[str, str]:
    """The `info` elements directly below an element, by name; those without a value are left out."""
    pairs = ((info.get("name", ""), info.get("value", "").strip()) for info in element.findall("info"))
    return {name: value for name, value in pairs if value}


def number(text: str | None) -> int | None:
    """A decimal number of at most 18 digits; None for anything else."""
    text = (text or "").strip()
    return int(text) if re.fullmatch("[0-9]{1,18}", text) else None


def bitmap(text: str | None) -> frozenset[int] | None:
    """The numbers of an hwloc bitmap; None for none and for one without end (`0xf...f`).

    Words of 32 bits, the highest first, as `hwloc_bitmap_asprintf` prints them: `0xffff0000,,0x000ffff0,0x0`. An empty
    word is zero and a word may be short, which a kernel's mask never has.
    """
    if text is None:
        return None
    words = [word.strip().removeprefix("0x") for word in text.split(",")]
    if not text.strip() or max(map(len, words)) > 8:
        return None
    return kernel_list.parse_mask(",".join(word.zfill(8) for word in words))
