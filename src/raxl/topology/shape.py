"""The shape of a node: equal for nodes that are built alike, whatever their devices are called.

What enters: of each working accelerator its vendor, its PCI device id and the profiles it is cut into; of each NIC its
PCI vendor and device id (its kind where it is not on PCI); of each pair its link class.
What does not: names, UUIDs, serials, PCI addresses, numbers, the order of anything, memory (it varies with ECC and
driver), speeds and states of network links (a cable changes them), processors, versions. Where a hypervisor made the
PCI tree up, its classes do not enter either. A node whose PCI tree was not read has no shape: what was read of it might
lack devices.

Devices are told apart by what they are and how they are joined to all others, as far as refining colours does it:
https://en.wikipedia.org/wiki/Colour_refinement_algorithm
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.problem import NOT_ASKED
from raxl.topology.reasons import UNASKED_FABRIC, Why, unread, why
from raxl.topology.working import Fleet, absent

_SCHEME = "raxl shape 1"
"""Enters every hash: a change of what a shape is made of gives it another number."""
_LENGTH = 16


def shape(node: Node, fleet: Fleet) -> str | Why:
    """Sixteen hex digits; why there is none where something that enters is not known."""
    if fleet.why_open is not None:
        return fleet.why_open
    if not fleet.working:
        return absent(node, fleet)
    unlisted = unread(node, "pci_tree", "accelerators")
    if unlisted is not None or node.looked_for.pci_functions is None:
        return unlisted or why(node, "pci_tree", otherwise="the PCI tree is not in what was given")
    devices: tuple[Accelerator | Nic, ...] = (*fleet.working, *node.nics)
    colours: dict[str, str] = {}
    for device in devices:
        built = _accelerator(device) if isinstance(device, Accelerator) else _nic(device)
        if built is None:
            return why(node, *_subjects(device), otherwise=f"what {device.id} is is not known")
        colours[device.id] = built
    edges = _edges(node, colours)
    if isinstance(edges, Why):
        return edges
    return _digest(_SCHEME, str(node.path_trust == "virtual"), *sorted(_refined(colours, edges).values()))[:_LENGTH]


def _subjects(device: Accelerator | Nic) -> tuple[str, ...]:
    family = "accelerators" if isinstance(device, Accelerator) else "nics"
    return tuple(f"{owner}.{field}" for field in ("pci.device_id", "pci", "kind") for owner in (device.id, family))


def _accelerator(device: Accelerator) -> str | None:
    known = device.pci.device_id if device.pci else None
    profiles = [partition.profile for partition in device.partitions]
    if known is None or None in profiles:
        return None
    return _digest("accelerator", device.vendor, known, *sorted(filter(None, profiles)))


def _nic(device: Nic) -> str | None:
    if device.pci is not None and device.pci.device_id is not None:
        return _digest("nic", device.pci.vendor_id or "", device.pci.device_id)
    return _digest("nic", device.kind) if device.kind else None


def _edges(node: Node, ids: Mapping[str, str]) -> dict[str, list[tuple[str, str]]] | Why:
    """By device, the link class to each other one."""
    found: dict[str, list[tuple[str, str]]] = {id: [] for id in ids}
    nics = {nic.id for nic in node.nics}
    if any(problem.subject == UNASKED_FABRIC for problem in node.problems):
        return why(node, UNASKED_FABRIC, otherwise="")
    for link in node.links:
        if link.a not in ids or link.b not in ids:
            continue
        if node.path_trust == "virtual" and (link.kind == "pcie" or link.b in nics):
            continue
        if link.link_class is None:
            between = f"how {link.a} and {link.b} are joined is not known"
            told = why(node, "links", "links.count", "links.link_class", otherwise=between)
            return told if told.reason != NOT_ASKED else Why(NOT_ASKED, between)
        found[link.a].append((link.link_class, link.b))
        found[link.b].append((link.link_class, link.a))
    return found


def _refined(colours: dict[str, str], edges: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """The colours after each has taken in those of its neighbours, until no more devices are told apart."""
    count = 0
    while len(set(colours.values())) > count:
        count = len(set(colours.values()))
        colours = {
            id: _digest(colour, *sorted(f"{link}:{colours[other]}" for link, other in edges[id]))
            for id, colour in colours.items()
        }
    return colours


def _digest(*words: str) -> str:
    # Each word's length stands before it, so that no two lists of words read the same.
    text = "".join(f"{len(word)}:{word}" for word in words)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
