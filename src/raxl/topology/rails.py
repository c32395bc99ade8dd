"""Rails: the compute NIC that stands beside the same accelerator on every node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from raxl.model.link import PCIE_CLASSES
from raxl.model.node import Node

_NEAR = PCIE_CLASSES[:2]


class Rails(NamedTuple):
    """The rails of nodes that have the same ones."""

    nics: tuple[tuple[int, str], ...]
    """By the index of the accelerator that they stand beside: the NIC, or several joined by a plus."""
    nodes: tuple[str, ...]


def rails(nodes: Sequence[Node]) -> list[Rails]:
    """The rails by their place in the node, most nodes first; nodes in which a NIC serves several accelerators have
    none, nor have those whose PCI tree a hypervisor made up. Which leaf switch is behind a NIC no node says."""
    found: dict[tuple[tuple[int, str], ...], list[str]] = {}
    for node in nodes:
        if node.path_trust == "virtual":
            continue
        own = tuple((index, "+".join(nics)) for index, nics in sorted(_own(node).items()))
        if len(own) > 1:
            found.setdefault(own, []).append(node.name)
    return [Rails(nics, tuple(names)) for nics, names in sorted(found.items(), key=lambda one: -len(one[1]))]


def _own(node: Node) -> dict[int, list[str]]:
    """By accelerator index, the compute NICs that stand as near to it alone as a NIC can."""
    compute = {nic.id for nic in node.nics if nic.role == "compute"}
    indexes = {device.id: device.index for device in node.accelerators if device.index is not None}
    near: dict[str, list[tuple[int, int]]] = {}
    for link in node.links:
        for device, nic in ((link.a, link.b), (link.b, link.a)):
            index = indexes.get(device)
            if index is not None and nic in compute and link.link_class in _NEAR:
                near.setdefault(nic, []).append((_NEAR.index(link.link_class), index))
    own: dict[int, list[str]] = {}
    for nic, places in near.items():
        best = [index for rank, index in places if rank == min(places)[0]]
        if len(best) != 1:
            return {}
        own.setdefault(best[0], []).append(nic)
    return own
