"""What differs between two readings of a node itself, and which of its devices are gone or new."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from raxl.model import difference as kinds
from raxl.model.accelerator import Accelerator
from raxl.model.component import Switch
from raxl.model.difference import CHANGE, FAULT, NEW, Subject, Value
from raxl.model.nic import Nic
from raxl.model.node import Node, NumaNode
from raxl.model.placement import Placement
from raxl.model.problem import UNREAD
from raxl.topology import lasting, matching
from raxl.topology.differing import Pair, Thing

_KERNEL_LIST = "/sys/"
"""Software that the kernel lists: what is not listed there is not loaded."""
_RESERVED = 0.01
"""As much of a NUMA node's memory a kernel keeps more or less than another, from boot to boot."""


def unread(node: Node) -> tuple[str, str] | None:
    """Why nothing of the node was read; None where it was."""
    told = (one for one in node.problems if one.subject == "node" and one.reason in UNREAD)
    return next(((one.reason, one.message) for one in told), None)


def itself(pair: Pair) -> None:
    """Notes what differs of name, system, processors, NUMA nodes, placement and software."""
    before, after = pair.before, pair.after
    recorded = before.recorded_by is not None and after.recorded_by is not None
    if before.name != after.name and recorded and pair.names:
        pair.note(kinds.RENUMBERED, CHANGE, ("name",), Subject(after.name, was=before.name))
    thing = Thing(pair, pair.node_subject())
    for name in ("kernel", "distribution"):
        thing.value(f"os.{name}", getattr(before.os, name), getattr(after.os, name), kinds.VERSION)
    for name in ("architecture", "virtualization", "container"):
        thing.value(f"os.{name}", getattr(before.os, name), getattr(after.os, name))
    for name in ("model", "packages", "cores", "threads"):
        thing.value(f"cpu.{name}", getattr(before.cpu, name), getattr(after.cpu, name))
    thing.value("path_trust", before.path_trust, after.path_trust)
    if pair.everything:
        thing.value("boot_id", before.boot_id, after.boot_id)
        thing.value("recorded_by", before.recorded_by, after.recorded_by)
    _numa(pair, thing, before.numa_nodes, after.numa_nodes)
    for name in (field.name for field in fields(Placement) if field.name != "evidence"):
        if pair.names or not lasting.is_place(name):
            mine, theirs = getattr(before.placement, name), getattr(after.placement, name)
            thing.value(f"placement.{name}", mine, theirs, kinds.PLACEMENT)
    thing.done()
    _software(pair)


def listed(pair: Pair, found: matching.Match[Accelerator], adapters: matching.Match[Nic]) -> None:
    """Notes devices that are gone and new; where one side could not list them, that it is not known."""
    for lost, come in ((found.gone, found.new), (adapters.gone, adapters.new)):
        for device in lost:
            _alone(pair, device, pair.why_after, kinds.GONE, FAULT, kinds.UNKNOWN)
        for device in come:
            _alone(pair, device, pair.why_before, kinds.APPEARED, NEW, kinds.KNOWN)


def switches(pair: Pair) -> None:
    """Notes switches that are gone and new, and their links; as to shape, how many there are of a kind."""
    before, after = pair.before.switches, pair.after.switches
    if before == after:
        return
    if pair.by_shape:
        _counted(pair)
        return
    found = matching.matched(before, after, (lambda one: one.id,))
    for lost in found.gone:
        _switch(pair, lost, pair.after, kinds.GONE, FAULT)
    for come in found.new:
        _switch(pair, come, pair.before, kinds.APPEARED, NEW)
    for one, other in found.pairs:
        a, b = one.pci and one.pci.link, other.pci and other.pci.link
        if a and b and a != b:
            thing = Thing(pair, Subject(pair.after.name, other.id), "switches", one.id, other.id)
            for name in ("width", "max_width", "max_speed_gts"):
                mine, theirs = getattr(a, name), getattr(b, name)
                if mine is not None and theirs is not None:
                    thing.amount(f"pci.link.{name}", mine, theirs)


def _counted(pair: Pair) -> None:
    thing = Thing(pair, pair.node_subject(), "switches")
    if pair.before.recorded_by is None or pair.after.recorded_by is None:
        return
    a, b = (Counter(one.kind for one in node.switches) for node in (pair.before, pair.after))
    for kind in sorted({*a, *b}):
        if a[kind] != b[kind]:
            thing.sized(f"switches.{kind}", a[kind], b[kind], b[kind] < a[kind])


def _switch(pair: Pair, one: Switch, where: Node, kind: str, severity: str) -> None:
    """A switch that a foreign text, or an unreadable PCI tree, does not show may be there for all that."""
    hidden = any(problem.subject == "pci_tree" and problem.reason in UNREAD for problem in where.problems)
    if where.recorded_by is not None and not hidden:
        pair.note(kind, severity, ("switches",), Subject(pair.after.name, one.id))


def _alone(pair: Pair, device: Accelerator | Nic, reasons: object, kind: str, severity: str, otherwise: str) -> None:
    family = "accelerators" if isinstance(device, Accelerator) else "nics"
    asked = pair.why_after if reasons is pair.why_after else pair.why_before
    cause = asked.unlisted(family, getattr(device, "vendor", None))
    subject = Subject(pair.after.name, device.id)
    if cause is not None:
        pair.unknown(otherwise, (family,), subject, cause)
        return
    value: tuple[Value, Value] = (device.model, None) if kind == kinds.GONE else (None, device.model)
    pair.note(kind, severity, (family,), subject, *value)


def _numa(pair: Pair, thing: Thing, before: tuple[NumaNode, ...], after: tuple[NumaNode, ...]) -> None:
    if before == after:
        return
    if not before or not after:
        thing.value("numa_nodes", len(before) or None, len(after) or None)
        return
    a, b = ({one.id: one for one in side} for side in (before, after))
    if len(a) != len(b):
        thing.value("numa_nodes", len(a), len(b))
    for number in sorted(a.keys() & b.keys()):
        thing.value(f"numa_nodes.{number}.cpus", a[number].cpus, b[number].cpus)
        mine, theirs = a[number].memory_bytes, b[number].memory_bytes
        near = mine is not None and theirs is not None and abs(mine - theirs) <= _RESERVED * max(mine, theirs)
        if pair.everything or not near:
            thing.amount(f"numa_nodes.{number}.memory_bytes", mine, theirs)


def _software(pair: Pair) -> None:
    """By name. What only a tool said, and does not say now, is not known; what the kernel listed is gone."""
    if pair.before.software == pair.after.software:
        return
    thing = Thing(pair, pair.node_subject())
    a, b = _versions(pair.before), _versions(pair.after)
    for name in sorted({*a, *b}):
        mine, theirs = a.get(name), b.get(name)
        if mine is not None and theirs is None and _is_unloaded(pair.before, name, pair.after):
            pair.note(kinds.VERSION, CHANGE, (f"software.{name}",), pair.node_subject(), mine, None)
        elif mine is None and theirs is not None and _is_unloaded(pair.after, name, pair.before):
            pair.note(kinds.VERSION, CHANGE, (f"software.{name}",), pair.node_subject(), None, theirs)
        else:
            thing.value(f"software.{name}", mine, theirs, kinds.VERSION)
    thing.done()


def _versions(node: Node) -> dict[str, str]:
    told: dict[str, set[str]] = {}
    for one in node.software:
        told.setdefault(one.name, set()).add(one.version)
    return {name: ", ".join(sorted(versions)) for name, versions in told.items()}


def _is_unloaded(where: Node, name: str, other: Node) -> bool:
    """Whether the kernel of one side lists it, and that of the other was asked and does not."""
    listed = any(one.name == name and one.evidence.startswith(_KERNEL_LIST) for one in where.software)
    return listed and other.recorded_by is not None
