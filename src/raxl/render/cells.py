"""What stands in a cell for a device's value: the value, `?` or `–`, and its style."""

from __future__ import annotations

from raxl.model.accelerator import Accelerator
from raxl.model.cluster import RayNode
from raxl.model.label import ACCELERATOR_TYPE
from raxl.model.nic import Nic
from raxl.model.printable import clean
from raxl.render.naming import model_name
from raxl.render.quantity import binary_size, bit_rate, number_ranges, pci_link
from raxl.render.text import Span, Style
from raxl.render.unknown import INAPPLICABLE, UNKNOWN, Unknowns

_TYPE = "accelerator_type:"
"""How a resource begins by which Ray tells the type of a node's accelerators."""
_STATE_STYLES: dict[str, Style] = {"ok": "", "lost": "fail", "degraded": "warn", "down": "dim"}
_NIC_KINDS = {
    "infiniband": "IB",
    "roce": "RoCE",
    "iwarp": "iWARP",
    "efa": "EFA",
    "omni-path": "Omni-Path",
    "ethernet": "Ethernet",
    "rdma": "RDMA",
}


class Cells:
    """The cells of one node's devices."""

    def __init__(self, unknowns: Unknowns) -> None:
        self._unknowns = unknowns

    def model(self, accelerator: Accelerator) -> Span:
        """`H100 80GB HBM3`."""
        return self._cell(model_name(accelerator), accelerator.id, "model")

    def memory(self, accelerator: Accelerator) -> Span:
        """`79.6 GiB`."""
        size = accelerator.memory_bytes
        return self._cell(None if size is None else binary_size(size), accelerator.id, "memory_bytes")

    def address(self, device: Accelerator | Nic) -> Span:
        """`0000:19:00.0`."""
        return self._cell(device.pci.address if device.pci else None, device.id, "pci")

    def link(self, device: Accelerator | Nic) -> Span:
        """`gen5 ×16`; yellow where lanes are missing."""
        text = pci_link(device.pci.link if device.pci else None)
        if text is None:
            return self._cell(None, device.id, "pci.link")
        return text, "warn" if " of " in text else ""

    def numa(self, device: Accelerator | Nic) -> Span:
        """The nearest NUMA node, or the nearest ones."""
        near: tuple[int, ...] = (device.numa_node,) if device.numa_node is not None else ()
        if isinstance(device, Accelerator):
            near = near or device.local_numa_nodes
        return self._cell(number_ranges(near), device.id, "numa_node")

    def uuid(self, accelerator: Accelerator) -> Span:
        """The vendor's name for this one device."""
        return self._cell(accelerator.uuid, accelerator.id, "uuid")

    def kind_and_speed(self, nic: Nic) -> Span:
        """`400 Gb/s IB`."""
        kind, speed = self.kind(nic), self.speed(nic)
        if speed[0] in (kind[0], INAPPLICABLE) or (nic.kind is None and speed[0] == UNKNOWN):
            return kind
        return f"{speed[0]} {kind[0]}", ""

    def kind(self, nic: Nic) -> Span:
        """`IB`; the model's name where no kind is known."""
        if nic.kind is None and nic.model is not None:
            return clean(nic.model), ""
        return self._cell(nic.kind and _NIC_KINDS.get(nic.kind, nic.kind), nic.id, "kind")

    def speed(self, nic: Nic) -> Span:
        """`400 Gb/s`."""
        speed = nic.speed_bits_per_second
        return self._cell(None if speed is None else bit_rate(speed), nic.id, "speed_bits_per_second")

    def netdev(self, nic: Nic) -> Span:
        """The network device."""
        return self._cell(nic.netdev, nic.id, "netdev")

    def role(self, nic: Nic) -> Span:
        """compute, storage or management."""
        return self._cell(nic.role, nic.id, "role")

    def _cell(self, text: str | None, id: str, field: str) -> Span:
        shown = clean(text).strip() if text else ""
        return (shown, "") if shown else (self._unknowns.mark(id, field), "dim")


def state(device: Accelerator | Nic) -> Span:
    """`ok`, `lost` …; `?` for unknown."""
    if device.state == "unknown":
        return UNKNOWN, "dim"
    return clean(device.state), _STATE_STYLES.get(device.state, "")


def ray(accelerator: Accelerator) -> Span:
    """`GPU · H100`: the resource and type that Ray would give it; `–` where it would not count it or it is lost."""
    view = accelerator.ray
    if accelerator.state == "lost" or view.would_register is False:
        return INAPPLICABLE, "dim"
    known = [clean(text) for text in (view.resource, view.type) if text]
    return (" · ".join(known), "") if view.resource and known else (UNKNOWN, "dim")


def registered(view: RayNode | None, resource: str | None) -> Span:
    """`8 GPU · H100`: what Ray has of it on a node of its cluster; `?` where that is not told."""
    if view is None or not view.resources:  # every raylet registers memory at least
        return UNKNOWN, "dim"
    if resource is None:
        return INAPPLICABLE, "dim"
    number = view.resources.get(resource, 0)
    of_type = [name[len(_TYPE) :] for name in view.resources if name.startswith(_TYPE)]
    type = view.labels.get(ACCELERATOR_TYPE) or next(iter(of_type), "")
    told = [f"{number:g} {clean(resource)}", *([clean(type)] if number and type else [])]
    return " · ".join(told), "" if number else "warn"


def partitions(accelerator: Accelerator) -> Span:
    """`8 × CPX`; `–` for a device that is whole."""
    profiles: dict[str, int] = {}
    for partition in accelerator.partitions:
        profile = clean(partition.profile or "")
        profiles[profile] = profiles.get(profile, 0) + 1
    if not profiles:
        return INAPPLICABLE, "dim"
    return ", ".join(f"{count} × {profile or UNKNOWN}" for profile, count in profiles.items()), ""
