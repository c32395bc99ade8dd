"""The rows of the topo tree: every branch with the lines before it, every device with its cells."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from raxl.model.accelerator import Accelerator
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render import cells
from raxl.render.cells import Cells
from raxl.render.columns import Column, Row
from raxl.render.naming import Names
from raxl.render.proximity import NEAR, OTHER_ROLES, Nearest, nearest_accelerators
from raxl.render.text import Span
from raxl.render.tree_shape import Branch
from raxl.render.unknown import Unknowns

COLUMNS = (
    Column(),
    Column(least=16),
    Column(rank=2, gap=3),
    Column(rank=3, gap=3),
    Column(rank=4, gap=3),
    Column(gap=3),
)
"""Name, model or speed, PCI link, address, identity, note."""


class Leaf(NamedTuple):
    """What stands behind a device's name, and what makes two devices alike."""

    cells: tuple[Span, ...]
    alike: Hashable


def leaves(node: Node, names: Names, unknowns: Unknowns, expand: bool) -> dict[str, Leaf]:
    """By id; identities only with `expand`."""
    of, near = Cells(unknowns), nearest_accelerators(node)
    found: dict[str, Leaf] = {}
    for accelerator in node.accelerators:
        identity = of.uuid(accelerator) if expand else ("", "")
        found[accelerator.id] = _leaf(of, accelerator, of.model(accelerator), _accelerator_note(accelerator), identity)
    for nic in node.nics:
        near_to = near.get(nic.id)
        note = _nic_note(nic, near_to, names)
        leaf = _leaf(of, nic, of.kind_and_speed(nic), note, of.netdev(nic) if expand else ("", ""))
        found[nic.id] = Leaf(leaf.cells, (leaf.alike, near_to and near_to.link_class))
    return found


def rows(branches: Sequence[Branch], found: Mapping[str, Leaf], names: Names, before: str = "") -> list[Row]:
    """A row for each branch and, below it, for those that hang from it."""
    made: list[Row] = []
    for branch in branches:
        last = branch is branches[-1]
        name = before + ("└─ " if last else "├─ ") + _title(branch, names)
        made.append([(name, ""), *found[branch.id].cells] if branch.kind == "device" else [(name, "")])
        made += rows(branch.children, found, names, before + ("   " if last else "│  "))
    return made


def _leaf(of: Cells, device: Accelerator | Nic, detail: Span, note: Span, identity: Span) -> Leaf:
    link, address = of.link(device), of.address(device)
    kept = note[0] if isinstance(device, Accelerator) else device.role
    alike = (detail[0], link[0], device.pci is None, kept, device.state, isinstance(device, Nic))
    return Leaf((detail, link, address, identity, note), alike)


def _accelerator_note(accelerator: Accelerator) -> Span:
    told, style = cells.state(accelerator)
    words = [told] if accelerator.state not in ("ok", "unknown") else []
    if accelerator.partitions:
        words.append(cells.partitions(accelerator)[0])
    return ", ".join(words), style


def _nic_note(nic: Nic, near: Nearest | None, names: Names) -> Span:
    told, style = cells.state(nic)
    words = [told] if nic.state not in ("ok", "unknown") else []
    if nic.role in OTHER_ROLES:
        words.append(clean(nic.role or ""))
    elif near and near.link_class in NEAR:
        words.append(f"nearest to {names.all(near.ids)}")
    return ", ".join(words), style or "dim"


def _title(branch: Branch, names: Names) -> str:
    if branch.kind == "note":
        return branch.id
    return f"host bridge {clean(branch.id)}" if branch.kind == "host bridge" else names.of(branch.id)
