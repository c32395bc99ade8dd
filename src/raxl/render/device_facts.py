"""What is to be said of accelerators beside their place: NICs, partitions, and what is wrong."""

from __future__ import annotations

from raxl.model.accelerator import Accelerator
from raxl.model.link import PCIE_CLASSES
from raxl.model.node import Node
from raxl.model.printable import clean
from raxl.render import cells
from raxl.render.device_errors import error_facts
from raxl.render.fabric_facts import Fact
from raxl.render.naming import Names, counted, kind_name
from raxl.render.proximity import Nearest, nearest_nics
from raxl.render.text import Style
from raxl.render.unknown import UNKNOWN, Unknowns, ray_advice

_OFF_THE_CPU = PCIE_CLASSES[:3]
"""Classes within one host bridge: a NIC that near is an accelerator's own, or one that it shares."""


def nic_facts(node: Node, names: Names) -> list[Fact]:
    """`each GPU has its own NIC at PIX`; what differs is told by accelerator."""
    near = nearest_nics(node)
    if not near:
        return []
    kinds = {kind_name(accelerator) for accelerator in node.accelerators}
    name = next(iter(kinds)) if len(kinds) == 1 else "device"
    uses: dict[str, int] = {}
    for found in near.values():
        for id in found.ids if found.link_class in _OFF_THE_CPU else ():
            uses[id] = uses.get(id, 0) + 1
    told: dict[str, list[str]] = {}
    for accelerator in node.accelerators:
        text = _nearest(near.get(accelerator.id), uses)
        told.setdefault(text, []).append(accelerator.id)
    label = f"{name} ↔ NIC"
    if len(told) == 1 and len(node.accelerators) > 1:
        text = next(iter(told))
        return [(label, f"no {name} has a{text[2:]}" if text.startswith("no ") else f"each {name} has {text}")]
    return [(label, f"{names.all(ids)}: {text}") for text, ids in sorted(told.items(), key=lambda item: len(item[1]))]


def partition_facts(node: Node, names: Names) -> list[Fact]:
    """`GPU 0–7`, `8 partitions each (8 × CPX)`."""
    told: dict[str, list[Accelerator]] = {}
    for accelerator in node.accelerators:
        if accelerator.partitions:
            told.setdefault(cells.partitions(accelerator)[0], []).append(accelerator)
    facts = []
    for profiles, group in told.items():
        count = counted(len(group[0].partitions), "partition")
        profile = profiles if "," in profiles else profiles.partition(" × ")[2]
        each = " each" if len(group) > 1 else ""
        known = f"({profile})" if profile != UNKNOWN else "of a profile that is not known"
        facts.append((names.all(accelerator.id for accelerator in group), f"{count}{each} {known}"))
    return facts


def faults(node: Node, names: Names, unknowns: Unknowns) -> list[tuple[Fact, Style]]:
    """Each accelerator that is lost or degraded, the lost ones first; then those with uncorrected errors."""
    ill = [accelerator for accelerator in node.accelerators if accelerator.state in ("lost", "degraded")]
    told: list[tuple[Fact, Style]] = []
    for accelerator in sorted(ill, key=lambda accelerator: accelerator.state != "lost"):
        state, style = cells.state(accelerator)
        where = f", at {clean(accelerator.pci.address)}" if accelerator.pci else ""
        said = unknowns.refusal(accelerator.id) if accelerator.state == "lost" else None
        told.append(((names.of(accelerator.id), f"{state}{where}{f' ({said})' if said else ''}"), style))
    return [*told, *((fact, "warn") for fact in error_facts(node, names))]


def ray_facts(node: Node) -> list[tuple[Fact, Style]]:
    """`Ray   would register 8 GPU (…): start it with --num-gpus 7`: where its view is not what is there."""
    return [(("Ray", advice.removeprefix("Ray ")), "warn") for advice in ray_advice(node)]


def _nearest(near: Nearest | None, uses: dict[str, int]) -> str:
    if near is None:
        return "no NIC at a known distance"
    if near.link_class not in _OFF_THE_CPU:
        return f"no NIC nearer than {near.link_class}"
    count = len(near.ids)
    if any(uses[id] > 1 for id in near.ids):
        return f"a shared NIC at {near.link_class}" if count == 1 else f"{count} shared NICs at {near.link_class}"
    return f"its own NIC at {near.link_class}" if count == 1 else f"{count} NICs of its own at {near.link_class}"
