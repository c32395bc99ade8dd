"""Nodes that were not read, and whether what they may hold could make a job fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.model.cluster import DEAD, RayNode
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.place import NODE, Nearest, Unread, Wanted
from raxl.topology.expectation import Expectation
from raxl.topology.place_stands import Stands
from raxl.topology.reasons import unread as refused
from raxl.topology.working import fleet

_WHOLE = ("node", "pci_tree", "accelerators")
_NOT_DEVICES = ("CPU", "memory", "object_store_memory")


def unread(inventory: Inventory, known: Stands, wanted: Wanted) -> tuple[Unread, ...]:
    """The nodes of which it was not read what they hold, in the order of their names."""
    ray = {one.node_id: one for one in inventory.cluster.nodes} if inventory.cluster else {}
    is_registered = all(one.kind.resource is not None for one in known.found)
    return tuple(
        one
        for node in sorted(inventory.nodes, key=lambda one: (one.name, one.source))
        for one in _of_node(node, ray.get(node.ray_node_id or ""), wanted.type, is_registered)
    )


def _of_node(node: Node, view: RayNode | None, wanted: str | None, is_registered: bool) -> Iterator[Unread]:
    why = refused(node, *_WHOLE)
    if why is not None and not node.accelerators:
        yield Unread(node.name, why.reason, why.message, _most(view) if is_registered or _is_dead(view) else None)
        return
    found = fleet(node)
    fitting = [one for one in found.open if wanted is None or Expectation(1, wanted).fits(one)]
    if fitting and found.why_open is not None:
        most = 0 if _is_dead(view) else len(fitting)
        yield Unread(node.name, found.why_open.reason, found.why_open.message, most)


def _is_dead(view: RayNode | None) -> bool:
    return view is not None and view.state == DEAD


def _most(view: RayNode | None) -> int | None:
    """As many accelerators as a job could get there by what Ray registered; None: nobody knows."""
    if view is None or (not view.resources and not _is_dead(view)):
        return None
    if _is_dead(view):
        return 0
    devices = {name: count for name, count in view.resources.items() if name not in _NOT_DEVICES and ":" not in name}
    return int(max(devices.values(), default=0))


def could_fit(found: Sequence[Unread], nearest: Nearest | None, wanted: Wanted) -> bool:
    """Whether a job that nothing fits might fit had those nodes been read; False is for certain."""
    most = [one.most for one in found]
    if wanted.within == NODE:
        return any(one is None or one >= wanted.accelerators for one in most)
    held = nearest.accelerators if nearest else 0
    return any(one is None for one in most) or (
        any(most) and held + sum(one or 0 for one in most) >= wanted.accelerators
    )
