"""All nodes of an inventory in one picture: who was read, who is alike, their domains, and what Ray has of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from raxl.model.cluster import DEAD, DRAINING, RayNode
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.topology import domains, groups, ray_registered
from raxl.topology.domains import Domain
from raxl.topology.groups import Group
from raxl.topology.ray_registered import RayHeld

_NUMBERS = re.compile("([0-9]+)")


class Silent(NamedTuple):
    """A node that was not read, and why."""

    name: str
    why: str


class Overview(NamedTuple):
    """What is told of many nodes together."""

    ray_version: str | None
    is_cluster: bool
    """Whether Ray's own view is here."""
    total: int
    """Every node that is known of."""
    read: tuple[Node, ...]
    silent: tuple[Silent, ...]
    draining: tuple[RayNode, ...]
    left: tuple[RayNode, ...]
    """Nodes that somebody stopped or took away: they count nowhere."""
    groups: tuple[Group, ...]
    domains: tuple[Domain, ...]
    outside: tuple[Node, ...]
    """Nodes with accelerators and without any domain."""
    ray: RayHeld | None


def is_many(inventory: Inventory) -> bool:
    """Whether the inventory is shown as a cluster: it has several nodes or none, or Ray knows several."""
    return len(inventory.nodes) != 1 or (inventory.cluster is not None and len(inventory.cluster.nodes) > 1)


def of(inventory: Inventory) -> Overview:
    """The picture of an inventory, of one node too: the same in whatever order its nodes were read."""
    inventory = replace(inventory, nodes=tuple(sorted(inventory.nodes, key=lambda node: _by_number(node.name))))
    cluster = inventory.cluster
    read = tuple(node for node in inventory.nodes if groups.is_read(node))
    silent = [Silent(node.name, _why(node)) for node in inventory.nodes if not groups.is_read(node)]
    known = {node.ray_node_id for node in inventory.nodes}
    others = [one for one in cluster.nodes if one.node_id not in known and not one.has_left] if cluster else []
    others.sort(key=lambda one: _by_number(one.name or one.address or one.node_id))
    silent += [Silent(one.name or one.address or one.node_id, _why_ray(one)) for one in others]
    found = domains.domains(read)
    return Overview(
        ray_version=cluster.ray_version if cluster else None,
        is_cluster=cluster is not None,
        total=len(inventory.nodes) + len(others),
        read=read,
        silent=tuple(silent),
        draining=_ordered(one for one in cluster.nodes if one.state == DRAINING) if cluster else (),
        left=_ordered(one for one in cluster.nodes if one.has_left) if cluster else (),
        groups=tuple(groups.groups(read)),
        domains=tuple(found),
        outside=tuple(domains.outside(read)),
        ray=ray_registered.held(inventory) if cluster else None,
    )


def _ordered(nodes: Iterable[RayNode]) -> tuple[RayNode, ...]:
    return tuple(sorted(nodes, key=lambda one: _by_number(one.name or one.node_id)))


def _by_number(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """Orders `gpu-9` before `gpu-10`: a number by its length first, without the zeros before it."""
    parts = [part.lstrip("0") if place % 2 else part for place, part in enumerate(_NUMBERS.split(name))]
    return tuple((len(part) if place % 2 else 0, part) for place, part in enumerate(parts)), name


def _why(node: Node) -> str:
    """Why a node was not read, in the words of whoever refused."""
    return next((one.message for one in node.problems if one.subject == "node"), "not read").rstrip(".")


def _why_ray(node: RayNode) -> str:
    state = "dead" if node.state == DEAD else "not asked"
    return f"{state}, {node.reason}" if node.reason else state
