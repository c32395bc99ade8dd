"""How the accelerators of a node are joined to each other, in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from raxl.model.link import FABRIC_NAMES, PCIE_CLASSES, Link
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render.naming import Names, counted, kind_name
from raxl.render.quantity import byte_rate, listed

Fact = tuple[str, str]
"""What it is about, and what is so."""

_UP = (None, "ok", "up", "active")


def fabric_facts(node: Node, names: Names) -> list[Fact]:
    """One fact a line, exceptions first; none for a node with a single accelerator."""
    accelerators = {accelerator.id: accelerator for accelerator in node.accelerators}
    links = [link for link in node.links if link.a in accelerators and link.b in accelerators]
    fabrics = sorted({link.kind for link in links if link.kind not in (None, "pcie")} - {None}, key=str)
    facts: list[Fact] = []
    for kind in fabrics:
        joined = [link for link in links if link.kind == kind]
        label = FABRIC_NAMES.get(str(kind), clean(str(kind)))
        told = [*_alone(node, names, links, joined), *_joined(node, names, joined)]
        facts += [(label, text) for text in told]
    if links and not fabrics:
        facts.append(_pcie_only(node, links))
    return facts


def _alone(node: Node, names: Names, links: Sequence[Link], joined: Sequence[Link]) -> list[str]:
    """Accelerators like the joined ones that are known to reach every one of them over PCIe only."""
    members = _ends(joined)
    models = {(device.vendor, device.model) for device in node.accelerators if device.id in members}
    told: dict[str, list[str]] = {}
    for device in node.accelerators:
        if device.id in members or (device.vendor, device.model) not in models:
            continue
        if device.index is None or device.state == "lost":  # whoever told of the links did not see it
            continue
        ways = {link.link_class for link in links if device.id in (link.a, link.b) and members & {link.a, link.b}}
        if ways and ways <= set(PCIE_CLASSES):
            classes = " or ".join(name for name in PCIE_CLASSES if name in ways)
            told.setdefault(f"no link up ({classes} to all others)", []).append(device.id)
    return [f"{names.all(ids)} {'has' if len(ids) == 1 else 'have'} {text}" for text, ids in told.items()]


def _joined(node: Node, names: Names, joined: Sequence[Link]) -> list[str]:
    """What the pairs of one fabric share; pairs that form islands are told by island."""
    switches = sum(switch.kind == "nvswitch" for switch in node.switches)
    through = f" through {counted(switches, 'NVSwitch')}" if switches and joined[0].kind == "nvlink" else ""
    groups: dict[str, list[list[str]]] = {}
    for island in _islands(node, joined):
        links = [link for link in joined if link.a in island]
        groups.setdefault(_pairs(len(island), links, through), []).append(island)
    return [
        f"{names.all(islands[0])}, {text}"
        if len(islands) == 1
        else f"within each of {listed([names.all(island) for island in islands])}: {text}"
        for text, islands in groups.items()
    ]


def _pairs(members: int, links: Sequence[Link], through: str) -> str:
    every = members * (members - 1) // 2
    classes = Counter(clean(link.link_class or "") or "by an unknown number of links" for link in links)
    rates = {link.bandwidth_bytes_per_second for link in links}
    rate = next(iter(rates)) if len(rates) == 1 else None
    down = sum(link.state not in _UP for link in links)
    if len(classes) == 1 and len(links) == every:
        text = f"every pair {next(iter(classes))}{through}"
    else:
        words = [
            f"{counted(count, 'pair')} {name}" for name, count in sorted(classes.items(), key=lambda item: -item[1])
        ]
        text = f"{listed(words)} of {every}{through}"
    ill = f", {counted(down, 'pair')} not up" if down else ""
    return f"{text}, {byte_rate(rate)} each way{ill}" if rate else text + ill


def _islands(node: Node, joined: Sequence[Link]) -> list[list[str]]:
    """The accelerators that reach each other over the fabric, in the node's order."""
    leader = {id: id for id in _ends(joined)}

    def find(id: str) -> str:
        while leader[id] != id:
            id = leader[id]
        return id

    for link in joined:
        leader[find(link.b)] = find(link.a)
    islands: dict[str, list[str]] = {}
    for accelerator in node.accelerators:
        if accelerator.id in leader:
            islands.setdefault(find(accelerator.id), []).append(accelerator.id)
    return list(islands.values())


def _pcie_only(node: Node, links: Sequence[Link]) -> Fact:
    kinds = {kind_name(accelerator) for accelerator in node.accelerators}
    name = next(iter(kinds)) if len(kinds) == 1 else "devices"
    by_path = "over PCIe by an unknown path"
    classes = Counter(link.link_class or (by_path if link.kind == "pcie" else None) for link in links)
    order = [*PCIE_CLASSES, by_path, None]
    known = sorted(classes, key=lambda name: order.index(name) if name in order else 0)
    if len(known) == 1:
        return f"{name} ↔ {name}", f"every pair {known[0]}" if known[0] else "not known"
    words = [f"{counted(classes[found], 'pair')} {found or 'not known'}" for found in known]
    return f"{name} ↔ {name}", ", ".join(words)


def _ends(links: Iterable[Link]) -> set[str]:
    return {id for link in links for id in (link.a, link.b)}
