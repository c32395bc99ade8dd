"""`raxl discover`: the accelerators of each node as a table, and its NICs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

from raxl.model.cluster import DEAD, RayNode
from raxl.model.inventory import Inventory
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render import cells
from raxl.render.columns import Column, Row, lay_out
from raxl.render.device_errors import error_facts
from raxl.render.device_rows import (
    ACCELERATOR_COLUMNS,
    ACCELERATOR_FIELDS,
    NIC_COLUMNS,
    NIC_FIELDS,
    Ray,
    accelerator_rows,
    nic_rows,
)
from raxl.render.naming import Names
from raxl.render.sentence import advised, of_all, unread
from raxl.render.text import Line, Page, parted
from raxl.render.unknown import ACCELERATORS, NICS, REMARK, Gap, Unknowns, explained, ray_advice

_NODE_FIELDS = frozenset(field.name for field in fields(Node))


def discover(
    inventory: Inventory,
    width: int,
    *,
    expand: bool = False,
    nics: bool = False,
    unicode: bool = True,
) -> list[Line]:
    """A row for each device, alike ones once unless `expand`; then what is not known, and a sentence."""
    page = Page(width, unicode)
    unknowns = [Unknowns(node, Names(node)) for node in inventory.nodes]
    found = [accelerator for node in inventory.nodes for accelerator in node.accelerators]
    numbered = len({(device.vendor, device.kind) for device in found}) == 1
    partitioned = any(device.partitions for device in found)
    blocks: list[list[Line]] = []
    cluster = inventory.cluster
    views = {one.node_id: one for one in cluster.nodes if one.state != DEAD} if cluster else None
    if found:
        rows = [
            accelerator_rows(node, unknown, numbered, partitioned, expand, _ray(views, node))
            for node, unknown in zip(inventory.nodes, unknowns, strict=True)
        ]
        columns = (ACCELERATOR_COLUMNS[0]._replace(right=numbered), *ACCELERATOR_COLUMNS[1:])
        blocks.append(_table(page, columns, inventory.nodes, rows, _no_accelerators))
    if nics and any(node.nics for node in inventory.nodes):
        rows = [nic_rows(node, unknown, expand) for node, unknown in zip(inventory.nodes, unknowns, strict=True)]
        blocks.append(_table(page, NIC_COLUMNS, inventory.nodes, rows, lambda node: "no NICs"))
    blocks.append([*_reasons(page, inventory.nodes, unknowns, nics, expand), *_remarks(page, inventory.nodes)])
    blocks.append([line for words in advised(of_all(inventory.nodes), inventory.nodes) for line in page.fold(words)])
    return parted(blocks)


def _no_accelerators(node: Node) -> str:
    return "no accelerators" if node.has_none else "accelerators not known"


def _ray(views: Mapping[str, RayNode] | None, node: Node) -> Ray:
    """What stands in the column RAY: on a node of a cluster what Ray has registered there, else what it would."""
    if views is None:
        return cells.ray
    view = views.get(node.ray_node_id or "")
    return lambda device: cells.registered(view, device.ray.resource)


def _table(
    page: Page, columns: Sequence[Column], nodes: Sequence[Node], rows: Sequence[list[Row]], none: Callable[[Node], str]
) -> list[Line]:
    """One heading over all; with several nodes, each node's name over its rows."""
    titles, *laid = lay_out(page, columns, [row for of_node in rows for row in of_node])
    if len(nodes) == 1:
        return [titles, *laid]
    lines = [titles]
    for node, of_node in zip(nodes, rows, strict=True):
        name: Line = [(page.spell(node.name), "bold")]
        word = "not read" if unread(node) else none(node)
        lines.append(page.cut(name if of_node else [*name, (f"  {word}", "dim")]))
        lines += laid[: len(of_node)]
        laid = laid[len(of_node) :]
    return lines


def is_shown(family: str, field: str, *, nics: bool, expand: bool) -> bool:
    """Whether a value stands in the tables; of what stands in none it is not told why it is unknown."""
    asked = {
        ACCELERATORS: (*ACCELERATOR_FIELDS, *(["uuid"] if expand else [])),
        NICS: NIC_FIELDS if nics else (),
    }
    if family not in asked:
        return family not in _NODE_FIELDS
    # A reading of its own that failed is told though it has no column.
    return field.partition(".")[0] in asked[family] or (family == ACCELERATORS and field.startswith("attributes."))


def _reasons(page: Page, nodes: Sequence[Node], unknowns: Sequence[Unknowns], nics: bool, expand: bool) -> list[Line]:
    """Why values of these tables are not known; what stands in neither is left out."""

    def chosen(family: str, field: str) -> bool:
        return is_shown(family, field, nics=nics, expand=expand)

    gaps: list[Gap] = []
    for node, unknown in zip(nodes, unknowns, strict=True):
        where = f"{node.name}: " if len(nodes) > 1 else ""
        if refused := unread(node):
            # Of a single node the sentence says it.
            gaps += [Gap(f"{clean(node.name)}: not read", (), refused.reason, clean(refused.message), False)] * bool(
                where
            )
            continue
        gaps += [gap._replace(what=where + gap.what) for gap in unknown.gaps(chosen)]
    return explained(page, gaps)


def _remarks(page: Page, nodes: Sequence[Node]) -> list[Line]:
    """Errors that devices counted; of several nodes also what Ray would make of each, which one node says elsewhere."""
    remarks = []
    for node in nodes:
        where = f"{node.name}: " if len(nodes) > 1 else ""
        remarks += [f"{where}{devices}: {words}" for devices, words in error_facts(node, Names(node))]
        remarks += [where + words for words in ray_advice(node)] if where else []
    return [line for words in remarks for line in page.fold(words, hang=3, lead=(f"{REMARK}  ", "warn"))]
