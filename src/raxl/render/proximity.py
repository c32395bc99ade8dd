"""Which NIC stands nearest to which accelerator, as the classes of their links say."""

from __future__ import annotations

from typing import NamedTuple

from raxl.model.link import PCIE_CLASSES, Link
from raxl.model.node import Node

NEAR = PCIE_CLASSES[:2]
"""Classes of a path that no host bridge lies on."""
OTHER_ROLES = ("management", "storage")


class Nearest(NamedTuple):
    """The nearest devices of the other sort, and the class of the way there."""

    link_class: str
    ids: tuple[str, ...]


def nearest_accelerators(node: Node) -> dict[str, Nearest]:
    """By NIC; a NIC no class of whose links is known is left out."""
    return {id: _nearest(links) for id, links in _crossing(node, frozenset(nic.id for nic in node.nics)).items()}


def nearest_nics(node: Node) -> dict[str, Nearest]:
    """By accelerator, of the NICs that jobs may use: those for management or storage do not count."""
    others = {nic.id for nic in node.nics if nic.role in OTHER_ROLES}
    found = _crossing(node, frozenset(accelerator.id for accelerator in node.accelerators))
    usable = {id: {nic: name for nic, name in links.items() if nic not in others} for id, links in found.items()}
    return {id: _nearest(links) for id, links in usable.items() if links}


def _crossing(node: Node, starts: frozenset[str]) -> dict[str, dict[str, str]]:
    """The class of each link between a NIC and an accelerator, by the end that is in `starts`, then by the other."""
    nics = {nic.id for nic in node.nics}
    found: dict[str, dict[str, str]] = {}
    for link in node.links:
        for start, end in _ends(link):
            if start in starts and (start in nics) != (end in nics) and link.link_class in PCIE_CLASSES:
                found.setdefault(start, {})[end] = link.link_class
    return found


def _ends(link: Link) -> tuple[tuple[str, str], tuple[str, str]]:
    return (link.a, link.b), (link.b, link.a)


def _nearest(links: dict[str, str]) -> Nearest:
    best = min(links.values(), key=PCIE_CLASSES.index)
    return Nearest(best, tuple(id for id, name in links.items() if name == best))
