"""Rails: the compute NIC that stands beside the same accelerator on every node, and the leaf switch behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from raxl.model.link import PCIE_CLASSES
from raxl.model.node import Node

_NEAR = PCIE_CLASSES[:2]


class Rail(NamedTuple):
    """The NICs of one rail, one or more a node."""

    number: int
    """The index of the accelerator that they stand beside."""
    nics: tuple[str, ...]
    """By node, in order; NICs of several per accelerator are joined by a plus."""
    leaves: tuple[str, ...] = ()
    """The leaf switches behind them, where a fabric dump names them; none where nobody says it."""


def rails(nodes: Sequence[Node]) -> list[Rail]:
    """The rails of the nodes, by number; none where a NIC serves several accelerators, or no class is known."""
    found: dict[int, list[str]] = {}
    for node in nodes:
        for index, nics in _own(node).items():
            found.setdefault(index, []).append("+".join(nics))
    return [Rail(index, tuple(found[index])) for index in sorted(found)]


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
