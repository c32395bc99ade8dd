"""The columns of `raxl discover`, and one row for each device."""

from __future__ import annotations

from collections.abc import Callable

from raxl.model.accelerator import Accelerator
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render import cells
from raxl.render.cells import Cells
from raxl.render.columns import Column, Row
from raxl.render.naming import Names
from raxl.render.quantity import number_ranges
from raxl.render.text import Span
from raxl.render.unknown import UNKNOWN, Unknowns

ACCELERATOR_COLUMNS = (
    Column(),
    Column("MODEL", least=20),
    Column("MEMORY", rank=3, right=True),
    Column("PARTITIONS", rank=4, least=12),
    Column("PCI", rank=6),
    Column("NUMA", rank=5, right=True),
    Column("LINK", rank=7),
    Column("STATE"),
    Column("RAY", rank=2, least=20),
    Column("UUID", rank=8),
)
ACCELERATOR_FIELDS = ("", "index", "model", "memory_bytes", "partitions", "pci", "numa_node", "state", "ray")
NIC_COLUMNS = (
    Column("NIC"),
    Column("KIND", rank=1),
    Column("SPEED", right=True),
    Column("PCI", rank=5),
    Column("NUMA", rank=3, right=True),
    Column("LINK", rank=6),
    Column("STATE"),
    Column("ROLE", rank=2),
    Column("NETDEV", rank=7),
)
NIC_FIELDS = ("", "kind", "speed_bits_per_second", "pci", "numa_node", "state", "role", "netdev")

_OWN = ("", "PCI", "NUMA", "UUID", "NIC", "NETDEV")
"""Columns in which alike devices differ."""
_MOST_ALIKE = 3
_LEFT_OUT: Span = ("", "")
Ray = Callable[[Accelerator], Span]


def accelerator_rows(
    node: Node, unknowns: Unknowns, numbered: bool, partitioned: bool, expand: bool, ray: Ray = cells.ray
) -> list[Row]:
    """A row for each accelerator: by its number alone where `numbered`; partitions and UUIDs only where asked for.

    `ray` gives the cell of its column.
    """
    names, of = Names(node), Cells(unknowns)
    rows: list[Row] = []
    for device in node.accelerators:
        number = UNKNOWN if device.index is None else str(device.index)
        rows.append(
            (
                (number if numbered else names.of(device.id), ""),
                of.model(device),
                of.memory(device),
                cells.partitions(device) if partitioned else _LEFT_OUT,
                of.address(device),
                of.numa(device),
                of.link(device),
                cells.state(device),
                ray(device),
                of.uuid(device) if expand else _LEFT_OUT,
            )
        )
    return rows if expand else _once(ACCELERATOR_COLUMNS, rows)


def nic_rows(node: Node, unknowns: Unknowns, expand: bool) -> list[Row]:
    """A row for each NIC."""
    of = Cells(unknowns)
    rows: list[Row] = [
        (
            (clean(nic.id), ""),
            of.kind(nic),
            of.speed(nic),
            of.address(nic),
            of.numa(nic),
            of.link(nic),
            cells.state(nic),
            of.role(nic),
            of.netdev(nic),
        )
        for nic in node.nics
    ]
    return rows if expand else _once(NIC_COLUMNS, rows)


def _once(columns: tuple[Column, ...], rows: list[Row]) -> list[Row]:
    """Alike devices together: two of them, and how many more there are."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        texts = (
            str(text == UNKNOWN) if column.title in _OWN else text
            for column, (text, _) in zip(columns, row, strict=True)
        )
        groups.setdefault(tuple(texts), []).append(row)
    shown: list[Row] = []
    for group in groups.values():
        shown += group if len(group) <= _MOST_ALIKE else [*group[:2], _more(columns, group[2:])]
    return shown


def _more(columns: tuple[Column, ...], rows: list[Row]) -> Row:
    cells: dict[str, Span] = {"STATE": rows[0][[column.title for column in columns].index("STATE")]}
    cells[columns[0].title] = ("…", "dim")
    cells[columns[1].title] = (f"{len(rows)} more like these", "dim")
    numa = [column.title for column in columns].index("NUMA")
    places = list(dict.fromkeys(row[numa][0] for row in rows))
    if all(place.isdecimal() for place in places):
        cells["NUMA"] = (number_ranges(map(int, places)), "dim")
    return [cells.get(column.title, _LEFT_OUT) for column in columns]
