"""How many accelerators, adapters and switches a node has, and what they are.

A count is of those that are there: an accelerator that is lost, that its driver does not list or that is given to a
virtual machine is not, unless a filter asks for a state. That there is none is known only where somebody looked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from raxl.model.accelerator import Accelerator
from raxl.model.component import Switch
from raxl.model.facts import Reading
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED, REASONS
from raxl.model.recipe import Scalar
from raxl.recipe.fact_paths import ATTRIBUTES, COUNT, FactPath
from raxl.topology.reasons import Why, unread, why
from raxl.topology.working import fleet

ABSENT = (NOT_PRESENT, NOT_APPLICABLE)
"""Reasons that say that there is no such value, where the others say that it is not known."""
PCI_TREE = "/sys/bus/pci/devices"
_ONE = {"accelerators": "accelerator", "nics": "NIC", "switches": "switch"}
_LAYER_UNKNOWN = "rdma"
_SETTLED = (None, "completed")
"""States of a fabric in which its domain is final; AMD's has no state."""

Device = Accelerator | Nic | Switch


def read(node: Node, path: FactPath) -> Reading:
    """The count, or the distinct values of a field: one alone, several as a tuple, in which None stands for devices
    without one."""
    devices = _there(node, path)
    meant, open_ = _meant(node, path, devices)
    if open_:
        return _most_telling(open_, f"whether {len(open_)} of {len(devices)} {path.root} count: ")
    if path.field == COUNT:
        return _count(node, path, meant)
    if not meant:
        none = _count(node, path, meant)
        return Reading(None, none.source, NOT_PRESENT, _without(path)) if none.known else none
    return distinct([cell(node, path.root, one, path.field) for one in meant])


def distinct(cells: Sequence[Reading]) -> Reading:
    """Several readings as one."""
    silent = [one for one in cells if not one.known and one.reason not in ABSENT]
    if silent:
        return _most_telling(silent, f"of {len(silent)} of {len(cells)}: " if len(cells) > 1 else "")
    values = {one.value for one in cells if one.known}
    if not values:
        return cells[0]
    if any(not one.known for one in cells):
        values.add(None)
    told = sorted(values, key=_place)
    sources = dict.fromkeys(name for one in cells if one.known for name in one.source.split(", "))
    return Reading(told[0] if len(told) == 1 else tuple(told), ", ".join(sources))


def cell(node: Node, root: str, device: Device, field: str) -> Reading:
    """A field of one device, or why there is none."""
    source = ", ".join(getattr(device, "evidence", ())) or (PCI_TREE if root == "switches" else "the inventory")
    value = _value(device, field)
    if value is not None:
        return Reading(value, source)
    told = _why(node, root, device, field)
    return Reading(None, ", ".join(told.evidence) or source, told.reason, f"{device.id}: {told.message}")


def natural(text: str) -> tuple[tuple[int, int | str], ...]:
    """A key by which `mlx5_2` comes before `mlx5_10`."""
    parts = re.findall(r"\d{1,18}|\D+|\d", text)
    return tuple((0, int(part)) if part.isdigit() and part.isascii() else (1, part) for part in parts)


def _place(value: Any) -> tuple[int, Any]:
    return (0, 0) if value is None else (2, natural(value)) if isinstance(value, str) else (1, value)


def _there(node: Node, path: FactPath) -> Sequence[Device]:
    if path.root == "nics":
        return node.nics
    if path.root == "switches":
        return node.switches
    asked = any(field == "state" for field, _ in path.filters)
    return node.accelerators if asked else fleet(node).present


def _meant(node: Node, path: FactPath, devices: Sequence[Device]) -> tuple[list[Device], list[Reading]]:
    """The devices that the filters take, and why it is not known of others."""
    meant, open_ = [], []
    for one in devices:
        cells = [(cell(node, path.root, one, field), wanted) for field, wanted in path.filters]
        silent = [told for told, _ in cells if not told.known and told.reason not in ABSENT]
        if not all(told in silent or (told.known and _fits(told.value, wanted)) for told, wanted in cells):
            continue
        if silent:
            open_.append(silent[0])
        else:
            meant.append(one)
    return meant, open_


def _fits(value: Scalar, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == str(value).lower()
    if isinstance(value, int | float):
        try:
            return value == float(wanted)
        except ValueError:
            return False
    return fnmatchcase(str(value), wanted)


def _count(node: Node, path: FactPath, meant: Sequence[Device]) -> Reading:
    source = ", ".join(dict.fromkeys(name for one in meant for name in getattr(one, "evidence", ()))) or PCI_TREE
    refused = _unlisted(node, path, meant)
    if refused is not None:
        return Reading(None, ", ".join(refused.evidence) or source, refused.reason, refused.message)
    return Reading(len(meant), source)


def _unlisted(node: Node, path: FactPath, meant: Sequence[Device]) -> Why | None:
    """Why there may be more of them; None where that is known."""
    if path.root == "accelerators":
        refused = unread(node, "node", "accelerators")
        listed = meant and all(isinstance(one, Accelerator) and one.index is not None for one in meant)
        refused = refused or (None if listed else unread(node, "pci_tree"))
        if refused is None and not meant:
            refused = _none_works(node, path)
    else:
        refused = unread(node, "node", "nics" if path.root == "nics" else "pci_tree")
        refused = refused or (None if meant else unread(node, "pci_tree"))
    if refused is not None or meant:
        return refused
    if path.root == "accelerators" and not path.filters and node.has_none:
        return None
    if node.looked_for.pci_functions is None or node.is_told_in_part:
        return why(node, "pci_tree", otherwise=f"nobody looked for {path.root}")
    if path.root == "switches" and node.path_trust == "virtual":
        return Why(NOT_SUPPORTED, "a hypervisor made the PCI tree up, and hides switches")
    return None


def _none_works(node: Node, path: FactPath) -> Why | None:
    """That there are accelerators, and none that can be used: such a node is none without accelerators."""
    out = fleet(node).out
    return Why(FAILED, f"no accelerator works here: {', '.join(out)}") if out and not path.filters else None


def _without(path: FactPath) -> str:
    such = ",".join(f"{field}={value}" for field, value in path.filters)
    return f"the node has no {_ONE[path.root]}{f' with {such}' if such else ''}"


def _value(device: Device, field: str) -> Scalar:
    if field.startswith(ATTRIBUTES) and isinstance(device, Accelerator):
        return device.attributes.get(field[len(ATTRIBUTES) :])
    found: Any = device
    for name in field.split("."):
        found = None if found is None else getattr(found, name)
    hidden = (field == "state" and found == "unknown") or (field == "kind" and found == _LAYER_UNKNOWN)
    return None if hidden else found


def _why(node: Node, root: str, device: Device, field: str) -> Why:
    fabric = device.fabric if isinstance(device, Accelerator) else None
    if fabric is not None and field in ("fabric.domain", "fabric.clique"):
        if fabric.state in _SETTLED:
            return Why(NOT_PRESENT, "its fabric ends at this node")
        return Why(NOT_ASKED, f"its fabric is {fabric.state}")
    if field == "kind" and isinstance(device, Nic) and device.kind == _LAYER_UNKNOWN:
        return Why(NOT_ASKED, "its link layer is not known")
    names = [field, field.partition(".")[0]] if "." in field else [field]
    subjects = [f"{owner}.{name}" for name in names for owner in (device.id, root)]
    return why(node, *subjects, otherwise="nothing that was read says it")


def _most_telling(silent: Sequence[Reading], before: str) -> Reading:
    first = min(silent, key=lambda one: REASONS.index(one.reason or NOT_ASKED))
    return Reading(None, first.source, first.reason, f"{before}{first.message}")


def device_files(reading: Reading, path: FactPath) -> Reading:
    """The same of device files that a process sees: `reading` holds them by path."""
    if not reading.known:
        return reading
    held: Mapping[str, Any] = reading.value
    told: list[dict[str, str | bool]] = [
        {"path": name, "may_open": bool(getattr(one, "may_open", False))} for name, one in held.items()
    ]
    meant = [one for one in told if all(_fits(one[field], wanted) for field, wanted in path.filters)]
    if path.field == COUNT:
        return Reading(len(meant), reading.source)
    if not meant:
        return Reading(None, reading.source, NOT_PRESENT, "there is no such device file")
    return distinct([Reading(one[path.field], reading.source) for one in meant])
