"""How a fact of a node is named: `accelerators[vendor=nvidia].count`, `placement.instance_type`, `modules.efa`.

A path is a root, of devices filters in brackets, and a field. Devices are counted, or their distinct values are told.
"""

from __future__ import annotations

import re
from typing import NamedTuple

COUNT = "count"
ATTRIBUTES = "attributes."
DEVICES = {
    "accelerators": (
        "id",
        "vendor",
        "kind",
        "model",
        "architecture",
        "index",
        "state",
        "memory_bytes",
        "numa_node",
        "visible_env",
        "pci.vendor_id",
        "pci.device_id",
        "ray.type",
        "ray.resource",
        "ray.would_register",
        "fabric.domain",
        "fabric.clique",
        "fabric.state",
    ),
    "nics": (
        "id",
        "kind",
        "role",
        "state",
        "speed_bits_per_second",
        "model",
        "netdev",
        "numa_node",
        "pci.vendor_id",
        "pci.device_id",
    ),
    "switches": ("id", "kind"),
    "device_files": ("path", "may_open"),
}
"""By root, the fields of a device, which may stand in a filter too; accelerators have `attributes.NAME` besides."""
FIELDS = {
    "placement": (
        "provider",
        "instance_type",
        "region",
        "zone",
        "rack",
        "block",
        "slice",
        "slice_topology",
        "worker_index",
        "fabric_domain",
    ),
    "os": ("kernel", "distribution", "architecture", "virtualization", "container"),
    "cpu": ("model", "packages", "cores", "threads", "usable"),
    "numa": (COUNT,),
    "scale_up": ("kind", "class"),
    "limits": ("memlock_bytes", "memlock_hard_bytes", "nofile", "nofile_hard"),
    "shm": ("size_bytes", "available_bytes", "kind"),
    "ray": ("version",),
}
"""By root, the fields that there are."""
NAMED = ("software", "modules", "kernel_parameters", "environment", "drivers", "host", "ray.resources", "ray.labels")
"""Roots below which any name may stand."""

_MOST = 200
_PATH = re.compile(r"([a-z_]+)(?:\[([^\[\]{}]+)\])?\.(.+)")
_NAME = re.compile(r"[^\s\[\]{}=,](?:[^\[\]{}=,\n]*[^\s\[\]{}=,])?")


class FactPath(NamedTuple):
    """A path in its parts."""

    root: str
    field: str
    filters: tuple[tuple[str, str], ...] = ()
    """Field and value, which may be a glob; all of them hold for a device that is meant."""


def parse(text: str) -> FactPath | None:
    """The parts of a path; None where there is no such fact."""
    found = _PATH.fullmatch(text) if len(text) <= _MOST and text.isprintable() else None
    if found is None or _NAME.fullmatch(found[3]) is None:
        return None
    root, inside, field = found.groups()
    for one in NAMED:
        if inside is None and text.startswith(f"{one}.") and len(text) > len(one) + 1:
            return FactPath(one, text[len(one) + 1 :])
    if root in DEVICES:
        filters = _filters(root, inside) if inside is not None else ()
        known = field == COUNT or _is_field(root, field)
        return FactPath(root, field, filters) if filters is not None and known else None
    return FactPath(root, field) if inside is None and field in FIELDS.get(root, ()) else None


def _filters(root: str, inside: str) -> tuple[tuple[str, str], ...] | None:
    told = [part.partition("=") for part in inside.split(",")]
    filters = tuple((field.strip(), value.strip()) for field, _, value in told)
    return filters if all(_is_field(root, field) and value for field, value in filters) else None


def _is_field(root: str, field: str) -> bool:
    beside = root == "accelerators" and field.startswith(ATTRIBUTES) and field != ATTRIBUTES
    return field in DEVICES[root] or beside
