"""The way between two devices of a node: every hop with its speed, the narrowest, what forbids a faster one."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import Mapping, NamedTuple, Sequence

from raxl.model import nominal
from raxl.model.accelerator import Accelerator
from raxl.model.component import PciFunction
from raxl.model.link import FABRIC_NAMES, PCIE_CLASSES, Link
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.path import Component, Hop, Path
from raxl.model.peering import Peering
from raxl.model.problem import NOT_ASKED, NOT_SUPPORTED, Problem
from raxl.topology import conditions, pcie, uses, ways
from raxl.topology.ways import Tree, Way

_OTHER_ROLES = ("management", "storage")
_CPU_LINKS = (
    (re.compile(r"Xeon.*(Platinum|Gold|Silver|Bronze|Max |\b6[0-9]{3}[A-Z+]*)", re.IGNORECASE), "UPI"),
    (re.compile(r"EPYC", re.IGNORECASE), "xGMI"),
)
"""By the processor's model, what its maker calls the link from processor to processor."""


class Machine(NamedTuple):
    """A node, and what it does not publish: its PCI functions, the processor of each NUMA node, what joins peers."""

    node: Node
    functions: Mapping[str, PciFunction]
    packages: Mapping[int, int]
    peering: Peering


def between(machine: Machine, a: str, b: str) -> Path:
    """The path from device `a` to device `b`, by their ids."""
    node = machine.node
    ends = device(node, a), device(node, b)
    functions = _function(ends[0], machine), _function(ends[1], machine)
    link = _link(node, ends, functions)
    if link.kind not in (None, "pcie"):
        way, problems = _scale_up(node, link, ends)
    else:
        way, problems = _over_pcie(machine, ends, functions)
    path = Path(
        a=a,
        b=b,
        link_class=link.link_class,
        kind=link.kind,
        path_trust=node.path_trust,
        components=way.components,
        hops=way.hops,
        problems=problems or _unrated(way.hops),
        evidence=link.evidence,
    )
    path = measured(_with_nearest(node, path, ends))
    told = conditions.of(conditions.Pair(node, machine.peering, ends, functions, path))
    return replace(path, obstacles=told, uses=uses.of(ends, path, told))


def device(node: Node, id: str) -> Accelerator | Nic:
    """The device of that id."""
    devices: tuple[Accelerator | Nic, ...] = (*node.accelerators, *node.nics)
    return next(one for one in devices if one.id == id)


def _function(device: Accelerator | Nic, machine: Machine) -> PciFunction | None:
    return machine.functions.get(device.pci.address) if device.pci else None


def _link(
    node: Node, ends: tuple[Accelerator | Nic, Accelerator | Nic], functions: tuple[PciFunction | None, ...]
) -> Link:
    """The published link; pairs of NICs are not published, and theirs is computed."""
    a, b = ends
    known = next((link for link in node.links if {link.a, link.b} == {a.id, b.id}), None)
    if known is not None:
        return known
    mine, other = functions
    name = pcie.path_class(mine, other, len(node.numa_nodes)) if mine and other else None
    return Link(a.id, b.id, name, "pcie" if name else None, evidence=(mine.evidence,) if mine and name else ())


def _component(device: Accelerator | Nic) -> Component:
    if isinstance(device, Nic):
        return Component(device.id, "nic", device.numa_node, speed_bits_per_second=device.speed_bits_per_second)
    return Component(device.id, "accelerator", device.numa_node)


def _scale_up(
    node: Node, link: Link, ends: tuple[Accelerator | Nic, Accelerator | Nic]
) -> tuple[Way, tuple[Problem, ...]]:
    """One hop from end to end, or one to the switch and one from it."""
    kind = str(link.kind)
    name = fabric_name(kind, ends[0])
    components = [_component(device) for device in ends]
    if kind == "nvlink" and is_switched(node, link):
        components.insert(1, Component("nvswitch", "nvswitch"))
    hops = tuple(
        Hop(
            kind=kind,
            a=one.id,
            b=other.id,
            name=name,
            count=link.count,
            bandwidth_bytes_per_second=link.bandwidth_bytes_per_second,
            bandwidth_source=link.bandwidth_source,
            evidence=link.evidence,
        )
        for one, other in pairwise(components)
    )
    return Way(tuple(components), hops), ()


def fabric_name(kind: str, device: Accelerator | Nic) -> str:
    """`NVLink 4`: the fabric as people call it, by its generation where the device tells that."""
    own = device.pci.device_id if device.pci else None
    generation = nominal.nvlink_generation(own) if kind == "nvlink" else None
    return FABRIC_NAMES.get(kind, kind.upper()) + (f" {generation}" if generation else "")


def is_switched(node: Node, link: Link) -> bool:
    """Whether an NVSwitch joins the two: one is on the bus, the fabric is managed, or one device shares more links with
    its peers than it has."""
    if any(switch.kind == "nvswitch" for switch in node.switches):
        return True
    end = next((one for one in node.accelerators if one.id == link.a), None)
    if end is not None and end.fabric is not None and end.fabric.state == "completed":
        return True
    most = nominal.nvlinks(end.pci.device_id if end and end.pci else None)
    counts = [one.count or 0 for one in node.links if one.kind == "nvlink" and link.a in (one.a, one.b)]
    return most is not None and sum(counts) > most


def _over_pcie(
    machine: Machine,
    ends: tuple[Accelerator | Nic, Accelerator | Nic],
    functions: tuple[PciFunction | None, PciFunction | None],
) -> tuple[Way, tuple[Problem, ...]]:
    mine, other = functions
    first, last = (_component(device) for device in ends)
    if mine is None or other is None or mine.host_bridge is None or other.host_bridge is None:
        lacking = next(
            device for device, one in zip(ends, functions, strict=True) if one is None or not one.host_bridge
        )
        return Way((first, last), (Hop("pcie", first.id, last.id),)), (_no_chain(machine.node, lacking),)
    if ways.is_one_card(mine, other):
        return Way((first, last), (Hop("card", first.id, last.id, evidence=(mine.evidence,)),)), ()
    tree = Tree(machine.functions, machine.packages)
    return _joined(machine, ways.up(first, mine, tree), ways.up(last, other, tree)), ()


def _joined(machine: Machine, mine: Way, other: Way) -> Way:
    """Two ways up, cut where they meet; through both processors where they do not."""
    theirs = {component.id for component in other.components}
    meets = next((component.id for component in mine.components if component.id in theirs), None)
    if meets is not None:
        mine, back = mine.until(meets), other.until(meets).reversed
        return Way((*mine.components, *back.components[1:]), (*mine.hops, *back.hops))
    back = other.reversed
    crossing = _crossing(machine.node, mine.components[-1], back.components[0])
    return Way((*mine.components, *back.components), (*mine.hops, crossing, *back.hops))


def _crossing(node: Node, a: Component, b: Component) -> Hop:
    """From one NUMA node's processor to another's, which may be the same."""
    if (a.package is not None and a.package == b.package) or node.cpu.packages == 1:
        return Hop("cpu-internal", a.id, b.id)
    if a.numa_node is None or b.numa_node is None:
        return Hop("unknown", a.id, b.id)
    model = node.cpu.model or ""
    name = next((name for pattern, name in _CPU_LINKS if pattern.search(model)), None)
    return Hop("cpu-interconnect", a.id, b.id, name)


def _no_chain(node: Node, device: Accelerator | Nic) -> Problem:
    """Why the way above a device is not known, in the words of whoever did not say where it sits."""
    family = "nics" if isinstance(device, Nic) else "accelerators"
    subjects = (f"{device.id}.pci", f"{family}.pci", device.id, "pci_tree")
    for subject in subjects:
        told = next((one for one in node.problems if one.subject == subject), None)
        if told is not None:
            return Problem("hops", told.reason, f"where {device.id} sits: {told.message}", told.evidence)
    return Problem("hops", NOT_ASKED, f"the PCI tree above {device.id} is not in what was read")


def _unrated(hops: Sequence[Hop]) -> tuple[Problem, ...]:
    """Why the speed of a hop is not known."""
    words = {
        "cpu-interconnect": (NOT_SUPPORTED, "nothing that raxl reads says how fast the processors are joined"),
        "cpu-internal": (NOT_SUPPORTED, "nothing that raxl reads says what a processor carries inside"),
        "unknown": (NOT_SUPPORTED, "which processor each end hangs on is not known"),
        "card": (NOT_SUPPORTED, "nothing that raxl reads says what a card carries inside"),
    }
    found = []
    for place, hop in enumerate(hops):
        if hop.bandwidth_bytes_per_second is not None:
            continue
        reason, message = words.get(hop.kind, (NOT_SUPPORTED, "what one of its links carries is not known"))
        if hop.kind == "pcie" and hop.evidence == ("sysfs",):
            reason, message = NOT_SUPPORTED, "the kernel gives no speed or no width for this link"
        elif hop.kind == "pcie":
            reason, message = NOT_ASKED, f"{hop.evidence[0] if hop.evidence else 'what was read'} does not say it"
        found.append(Problem(f"hops.{place}.bandwidth_bytes_per_second", reason, message, hop.evidence))
    return tuple(found)


def measured(path: Path) -> Path:
    """The path with its narrowest hop."""
    rates = [hop.bandwidth_bytes_per_second for hop in path.hops]
    known = [rate for rate in rates if rate is not None]
    least = min(known, default=None) if path.kind is not None else None
    through_cpu = any(component.kind == "cpu" for component in path.components)
    return replace(
        path,
        bandwidth_bytes_per_second=least,
        is_bound=least is not None and (through_cpu or len(known) < len(rates)),
        narrowest=None if least is None else rates.index(least),
    )


def _with_nearest(node: Node, path: Path, ends: tuple[Accelerator | Nic, Accelerator | Nic]) -> Path:
    """Between an accelerator and a NIC: which NICs, of those that jobs may use, are nearest to the accelerator."""
    accelerator = next((end.id for end in ends if isinstance(end, Accelerator)), None)
    if accelerator is None or not any(isinstance(end, Nic) for end in ends):
        return path
    best, nics = nearest_nics(node, accelerator)
    return replace(path, nearest_nics=nics, nearest_class=best) if best else path


def nearest_nics(node: Node, accelerator: str) -> tuple[str | None, tuple[str, ...]]:
    """The class of the way from an accelerator to its nearest NICs of those that jobs may use, and these NICs."""
    usable = [nic.id for nic in node.nics if nic.role not in _OTHER_ROLES and nic.state != "down"]
    found: dict[str, list[str]] = {}
    for link in node.links:
        if link.a == accelerator and link.b in usable and link.link_class in PCIE_CLASSES:
            found.setdefault(str(link.link_class), []).append(link.b)
    best = next((name for name in PCIE_CLASSES if name in found), None)
    return best, tuple(found.get(best or "", ()))
