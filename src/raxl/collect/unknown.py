"""Every value that is not known gets its reason: no null without a problem."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from typing import Any, Iterable, Mapping, Sequence

from raxl.model.accelerator import Accelerator
from raxl.model.link import Link
from raxl.model.nic import Nic
from raxl.model.node import Node
from raxl.model.placement import Placement
from raxl.model.problem import NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED, Problem
from raxl.model.report import Silence

ACCELERATOR_FIELDS = (
    "model",
    "architecture",
    "index",
    "uuid",
    "serial",
    "ray.resource",
    "ray.type",
    "ray.would_register",
    "pci",
    "numa_node",
    "pcie_root",
    "memory_bytes",
    "state",
    "fabric",
    "visible_env",
)
NIC_FIELDS = ("netdev", "kind", "role", "model", "pci", "numa_node", "state", "speed_bits_per_second")
NODE_FIELDS = (
    "boot_id",
    "path_trust",
    "os.kernel",
    "os.distribution",
    "os.architecture",
    "os.virtualization",
    "os.container",
    "cpu.model",
    "cpu.packages",
    "cpu.cores",
    "cpu.threads",
    "numa_nodes",
    *(f"placement.{one.name}" for one in fields(Placement) if one.name != "evidence"),
)
"""`ray_node_id` and `recorded_by` may simply not apply."""

NEVER = {
    "role": Silence(NOT_SUPPORTED, "speed and place do not tell what it is for"),
}
"""Fields that have one reason everywhere."""
NOBODY_ASKED = "no platform was asked"


_NO_NETDEV = Silence(NOT_APPLICABLE, "it has no network device here")
_UNNAMED = Silence(NOT_PRESENT, "the firmware names no NUMA node")
_NO_LINK = Silence(NOT_APPLICABLE, "its link is down")
_NO_DEVICE = Silence(
    NOT_PRESENT, "it has neither a network nor an RDMA device here: no driver, or another network namespace holds them"
)
_NO_ROLE = Silence(NOT_APPLICABLE, "roles are told among RDMA adapters, and this node has none")


def of_adapters(nics: Sequence[Nic]) -> dict[str, dict[str, Silence]]:
    """Why adapters that the kernel was asked about lack a network device, a speed or a role."""
    rdma = any(nic.kind not in (None, "ethernet") for nic in nics)
    silences: dict[str, dict[str, Silence]] = {}
    for nic in nics:
        if "sysfs" in nic.evidence:
            silences[nic.id] = {"netdev": _NO_NETDEV, **({} if rdma else {"role": _NO_ROLE})}
            if nic.pci:
                silences[nic.id]["numa_node"] = _UNNAMED
            if nic.kind is None:
                silences[nic.id].update(dict.fromkeys(("kind", "state", "speed_bits_per_second"), _NO_DEVICE))
            elif nic.state == "down":
                silences[nic.id]["speed_bits_per_second"] = _NO_LINK
    return silences


def value(record: Any, path: str) -> Any:
    """The value at a dotted path; None for a state that is `unknown`, for an empty listing, and below None."""
    for name in path.split("."):
        record = getattr(record, name, None)
        if record is None:
            return None
    return None if record in ("unknown", ()) else record


def problems(node: Node, silences: Mapping[str, Mapping[str, Silence]], default: Silence) -> tuple[Problem, ...]:
    """One problem for each value of the node that is not known and has none yet.

    `silences` holds the reasons by device id and field (`""` for the node's own); `default` serves the rest.
    """
    told = {problem.subject for problem in node.problems}
    found = [*_of_node(node, silences.get("", {}), default)]
    found += _of_devices("accelerators", node.accelerators, ACCELERATOR_FIELDS, silences, default)
    found += _of_readings(node.accelerators, silences)
    found += _of_devices("nics", node.nics, NIC_FIELDS, silences, default)
    found += _of_numa(node, default)
    found += _of_links(node.links, default)
    return tuple(problem for problem in found if problem.subject not in told)


def _of_node(node: Node, silent: Mapping[str, Silence], default: Silence) -> Iterable[Problem]:
    for field in NODE_FIELDS:
        if value(node, field) is None and not field.startswith("placement"):
            yield _problem(field, silent.get(field) or default)
    yield from _of_placement(node.placement, silent.get("placement"))


def _of_placement(placement: Placement, silent: Silence | None) -> Iterable[Problem]:
    """One problem for all of the placement that nobody said; what is known of it is named."""
    known = [
        one.name for one in fields(Placement) if one.name != "evidence" and getattr(placement, one.name) is not None
    ]
    words = f": {', '.join(placement.evidence)} tells {', '.join(known).replace('_', ' ')} alone" if known else ""
    silence = silent or Silence(NOT_ASKED, NOBODY_ASKED)
    yield _problem("placement", replace(silence, message=silence.message + words))


def _of_devices(
    group: str,
    devices: Sequence[Accelerator | Nic],
    fields: Sequence[str],
    silences: Mapping[str, Mapping[str, Silence]],
    default: Silence,
) -> Iterable[Problem]:
    """What all devices of the group lack for one reason is told once, of the group."""
    for field in fields:
        unknown = {
            device.id: silences.get(device.id, {}).get(field) or NEVER.get(field) or default
            for device in devices
            if value(device, field) is None
        }
        if len(unknown) == len(devices) > 1 and len(set(unknown.values())) == 1:
            yield _problem(f"{group}.{field}", next(iter(unknown.values())))
        else:
            yield from (_problem(f"{device}.{field}", silence) for device, silence in unknown.items())


def _of_readings(devices: Sequence[Accelerator], silences: Mapping[str, Mapping[str, Silence]]) -> Iterable[Problem]:
    """Readings beside the fields that every device has, of which a source says why they have no value."""
    for device in devices:
        for field, silence in silences.get(device.id, {}).items():
            group, _, name = field.partition(".")
            if group == "attributes" and name not in device.attributes:
                yield _problem(f"{device.id}.{field}", silence)


def _of_numa(node: Node, default: Silence) -> Iterable[Problem]:
    for numa in node.numa_nodes:
        for field in ("cpus", "memory_bytes"):
            if getattr(numa, field) is None:
                yield _problem(f"numa_nodes.{numa.id}.{field}", default)


def _of_links(links: Sequence[Link], default: Silence) -> Iterable[Problem]:
    """One problem a kind of link, with how many pairs it concerns."""
    kinds = Counter(link.kind for link in links if link.link_class is None)
    for kind, count in kinds.items():
        if kind is None:
            message = f"{count} {'pairs' if count > 1 else 'pair'} of devices: {default.message}"
            yield Problem("links", default.reason, message)
        elif kind == "pcie":
            message = f"{count} PCIe {'pairs' if count > 1 else 'pair'}: the path between them is not told"
            yield Problem("links.link_class", NOT_ASKED if default.reason == NOT_ASKED else NOT_SUPPORTED, message)
        else:
            message = f"{count} {kind.upper()} {'pairs' if count > 1 else 'pair'}: the count of links is not told"
            yield Problem("links.count", NOT_ASKED if default.reason == NOT_ASKED else NOT_SUPPORTED, message)


def _problem(subject: str, silence: Silence) -> Problem:
    asked = silence.evidence and silence.reason != NOT_ASKED
    return Problem(subject, silence.reason, silence.message, (silence.evidence,) if asked else ())
