"""The PCI tree of an hwloc XML document.

hwloc leaves out functions that it thinks unimportant, and `lstopo` may have left out bridges; what is there is read.
The speed of a link (`pci_link_speed`, GB/s) is not: it is rate times width, and 15.75 is PCIe 3 x16 as well as 4 x8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from raxl.intake.hwloc_objects import HwlocObject, Topology
from raxl.model.component import PciFunction, Switch
from raxl.model.identity import nvswitch_id, pci_address
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.sources import pci

FORM = "hwloc-xml"
_HEX = "([0-9a-fA-F]{4})"
_PCI_TYPE = re.compile(rf"{_HEX} \[{_HEX}:{_HEX}\] \[{_HEX}:{_HEX}\](?: [0-9a-fA-F]{{2}})?(?: ([0-9a-fA-F]{{2}}))?")
"""Class, ids, ids of the board, revision and, since v3, the interface."""
_BUSES = re.compile(r"([0-9a-fA-F]{4,8}):\[([0-9a-fA-F]{2})-[0-9a-fA-F]{2}\]")
_NOBODY = ("0000", "ffff")
_NVIDIA = "10de"
_DEVICES = ("02", "03", "12")
"""Base classes of network adapters, display controllers and processing accelerators."""


class PciTree(NamedTuple):
    """The functions of a document, by address and by the object that each was read from."""

    functions: Mapping[str, PciFunction]
    by_object: Mapping[HwlocObject, PciFunction]

    def above(self, thing: HwlocObject) -> PciFunction | None:
        """The function that an object is or hangs below."""
        return self.by_object.get(thing.pci) if thing.pci else None


def pci_tree(topology: Topology) -> tuple[PciTree, tuple[Problem, ...]]:
    """Every function. Two with one address are a problem, and the first counts, unless only the second is a device."""
    by_object = dict(_functions(topology))
    found: dict[str, PciFunction] = {}
    problems = []
    for function in by_object.values():
        first = found.setdefault(function.address, function)
        if first != function:
            message = f"two different PCI functions have the address {function.address}"
            problems.append(Problem("pci_tree", DISAGREEMENT, message, (FORM,)))
            if _is_device(function) and not _is_device(first):
                found[function.address] = function
    return PciTree(found, by_object), tuple(problems)


def _functions(topology: Topology) -> Iterator[tuple[HwlocObject, PciFunction]]:
    for thing in topology.objects:
        if thing.type in ("PCIDev", "Bridge"):
            address = pci_address(thing.element.get("pci_busid"))
            if address is not None:
                yield thing, _function(address, thing)


def _is_device(function: PciFunction) -> bool:
    return (function.class_id or "").startswith(_DEVICES)


def _function(address: str, thing: HwlocObject) -> PciFunction:
    text = thing.element.get("pci_type", "").strip()
    found = _PCI_TYPE.fullmatch(text)
    kind, vendor, device, board_vendor, board, interface = found.groups() if found else (None,) * 6
    known = vendor is not None and vendor not in _NOBODY
    nodes = thing.numa_nodes
    host_bridge, chain = _position(thing)
    said = thing.infos
    return PciFunction(
        address=address,
        class_id=pci.hex_digits(f"{kind}{interface or '00'}", 6) if kind and known else None,
        host_bridge=host_bridge,
        chain=chain,
        vendor_id=pci.hex_digits(vendor, 4) if known else None,
        device_id=pci.hex_digits(device, 4) if known else None,
        subsystem_id=pci.subsystem(board_vendor, board) if board_vendor not in _NOBODY else None,
        numa_node=nodes[0] if len(nodes) == 1 else None,
        local_numa_nodes=nodes,
        name=" ".join(said[part] for part in ("PCIVendor", "PCIDevice") if part in said) or None,
        evidence=FORM,
    )


def _position(thing: HwlocObject) -> tuple[str | None, tuple[str, ...]]:
    """Host bridge and bridges above, the outermost first. hwloc gives a host bridge no name but the buses below it."""
    chain: list[str] = []
    for above in list(thing.lineage)[1:]:
        if above.type != "Bridge":
            continue
        address = pci_address(above.element.get("pci_busid"))
        if address is not None:
            chain.insert(0, address)
            continue
        buses = _BUSES.fullmatch(above.element.get("bridge_pci", ""))
        return (f"pci{int(buses[1], 16):04x}:{buses[2]}".lower() if buses else None), tuple(chain)
    return None, tuple(chain)


def nvswitches(topology: Topology, tree: PciTree) -> tuple[Switch, ...]:
    """The NVSwitches. hwloc marks the far ends of NVLinks, so one whose configuration space was unreadable counts."""
    marked = {thing.address for thing in topology.of_type("PCIDev") if thing.element.get("subtype") == "NVSwitch"}
    return tuple(
        Switch(
            id=nvswitch_id(address),
            kind="nvswitch",
            pci=function.identity,
            pcie_root=function.host_bridge,
            numa_node=function.numa_node,
        )
        for address, function in tree.functions.items()
        if address in marked or _is_nvswitch(function)
    )


def _is_nvswitch(function: PciFunction) -> bool:
    return function.vendor_id == _NVIDIA and (function.class_id or "").startswith("0680")
