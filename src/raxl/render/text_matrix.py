"""`raxl topo --matrix`: how every pair is joined, as `nvidia-smi topo -m` shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.inventory import Inventory
from raxl.model.link import FABRIC_NAMES, FABRIC_PREFIXES, LEGEND, Link
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render.cells import Cells
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import Names, kind_name
from raxl.render.node_heading import VIRTUAL
from raxl.render.sentence import devices_known, none_found
from raxl.render.text import Line, Page, Span, display_width, parted
from raxl.render.unknown import INAPPLICABLE, LINKS, UNKNOWN, Unknowns, explained

_SELF = "X"
_LONGEST_NAME = 7
_FABRICS = {prefix: FABRIC_NAMES[kind] for kind, prefix in FABRIC_PREFIXES.items()}


def matrix(inventory: Inventory, width: int, *, unicode: bool = True) -> list[Line]:
    """For each node a row and a column for each device, in as many blocks of columns as the width needs; then a legend.

    The last line is a sentence.
    """
    page = Page(width, unicode)
    blocks: list[list[Line]] = []
    for node in inventory.nodes:
        if len(inventory.nodes) > 1:
            blocks.append([page.cut([(page.spell(node.name), "bold")])])
        blocks += _node(page, node)
    if not inventory.nodes:
        blocks.append(page.fold(none_found(())))
    return parted(blocks)


def _node(page: Page, node: Node) -> list[list[Line]]:
    names = Names(node)
    unknowns = Unknowns(node, names)
    devices: list[Accelerator | Nic] = [*node.accelerators, *node.nics]
    if not node.accelerators:
        return [page.fold(none_found([node]))]
    short = _short_names(node)
    joined = _symbols(node.links)
    body = [[_cell(row, column, joined) for column in devices] for row in devices]
    numa = [Cells(unknowns).numa(device) for device in devices]
    titles = [*(short[device.id] for device in devices), "NUMA"]
    rows = [[*cells, near] for cells, near in zip(body, numa, strict=True)]
    gaps, unasked = unknowns.gaps(), unknowns.unasked()
    used = {text for cells in body for text, _ in cells} | ({UNKNOWN} & {text for text, _ in numa})
    return [
        page.fold(VIRTUAL, style="warn") if node.path_trust == "virtual" else [],
        *_blocks(page, [short[device.id] for device in devices], titles, rows),
        _legend(page, used, node.links),
        _abbreviated(page, short, names),
        explained(page, unknowns.gaps(_is_of_links) if len(gaps) > 1 else []),
        page.fold(devices_known(node, gaps, unasked)),
    ]


def _symbols(links: Iterable[Link]) -> dict[frozenset[str], str]:
    symbols = {}
    for link in links:
        prefix = "PCIe" if link.kind == "pcie" else FABRIC_PREFIXES.get(link.kind or "", "")
        symbols[frozenset((link.a, link.b))] = clean(link.link_class or "") or f"{prefix}{UNKNOWN}"
    return symbols


def _cell(row: Accelerator | Nic, column: Accelerator | Nic, joined: Mapping[frozenset[str], str]) -> Span:
    if row.id == column.id:
        return _SELF, "dim"
    if isinstance(row, Nic) and isinstance(column, Nic):
        return INAPPLICABLE, "dim"
    symbol = joined.get(frozenset((row.id, column.id)), UNKNOWN)
    return symbol, "dim" if UNKNOWN in symbol else ""


def _short_names(node: Node) -> dict[str, str]:
    """`GPU0` and the NIC's own name; where one is long, numbers in the order of the rows."""
    numbered = {device.index for device in node.accelerators}
    plain = None not in numbered and len(numbered) == len(node.accelerators)
    short = {
        device.id: f"{kind_name(device)}{device.index}" if plain else f"A{place}"
        for place, device in enumerate(node.accelerators)
    }
    fits = all(display_width(clean(nic.id)) <= _LONGEST_NAME for nic in node.nics)
    return short | {nic.id: clean(nic.id) if fits else f"NIC{place}" for place, nic in enumerate(node.nics)}


def _blocks(page: Page, names: Sequence[str], titles: Sequence[str], rows: Sequence[Row]) -> list[list[Line]]:
    """The columns in blocks that fit the page, each with the names of the rows before it."""
    widths = [max(map(display_width, (title, *(row[place][0] for row in rows)))) for place, title in enumerate(titles)]
    room = page.width - max(map(display_width, names))
    blocks: list[list[int]] = [[]]
    taken = 0
    for place, width in enumerate(widths):
        if blocks[-1] and taken + width + 2 > room:
            blocks.append([])
            taken = 0
        blocks[-1].append(place)
        taken += width + 2
    return [_block(page, names, [titles[place] for place in block], rows, block) for block in blocks]


def _block(
    page: Page, names: Sequence[str], titles: Sequence[str], rows: Sequence[Row], places: Sequence[int]
) -> list[Line]:
    columns = [Column(), *(Column(title, right=title == "NUMA") for title in titles)]
    made: list[Row] = [[(name, ""), *(row[place] for place in places)] for name, row in zip(names, rows, strict=True)]
    return lay_out(page, columns, made)


def _legend(page: Page, used: set[str], links: Iterable[Link]) -> list[Line]:
    """Only the symbols that stand above."""
    meanings = {_SELF: "the device itself"} if _SELF in used else {}
    kinds = {clean(link.link_class or ""): clean(link.kind or "") for link in links}
    for symbol in sorted(used - {*LEGEND, _SELF, UNKNOWN, INAPPLICABLE}):
        prefix = re.sub(r"([0-9]+|\?)$", "", symbol)
        name = _FABRICS.get(prefix, "")
        if symbol == "PCIe?":
            meanings[symbol] = "a PCIe path, its class is not known"
        elif symbol == f"{prefix}?":
            meanings[symbol] = f"{name} links, their number is not known"
        elif symbol == prefix and name:
            meanings[symbol] = f"joined by {name}, whose links nobody counts"
        elif name:
            meanings[f"{prefix}n"] = f"n bonded {name} links" if prefix != "NV" else "n bonded NVLinks"
        else:
            meanings[symbol] = f"{kinds.get(symbol) or 'fabric'} links"
    meanings |= {symbol: text for symbol, text in LEGEND.items() if symbol in used}
    meanings |= {UNKNOWN: "not known"} if UNKNOWN in used else {}
    meanings |= {INAPPLICABLE: "pairs of NICs are not listed"} if INAPPLICABLE in used else {}
    return lay_out(
        page, (Column(), Column()), [[(symbol, ""), (text, "dim")] for symbol, text in meanings.items()], False
    )


def _abbreviated(page: Page, short: Mapping[str, str], names: Names) -> list[Line]:
    """The devices whose names are shortened to a number."""
    rows: list[Row] = [
        [(name, ""), (names.of(id), "")]
        for id, name in short.items()
        if name not in (names.of(id), names.of(id).replace(" ", ""))
    ]
    return lay_out(page, (Column(), Column()), rows, titled=False)


def _is_of_links(family: str, field: str) -> bool:
    return family == LINKS or field in ("", "links", "numa_node")
