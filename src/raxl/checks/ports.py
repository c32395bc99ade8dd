"""The ports of a node's RDMA adapters, joined from its inventory and from what was read of each port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from raxl.checks import Case, Verdict, skip, unknown, unread
from raxl.model.facts import NOT_READ, Reading
from raxl.model.nic import Nic
from raxl.model.problem import FAILED, NOT_ASKED, NOT_PRESENT

_KINDS = ("infiniband", "roce", "iwarp", "efa", "omni-path", "rdma")
_WORDS = {"ok": "ACTIVE", "down": "DOWN"}
NEAR = ("PIX", "PXB")
"""Classes of a path that stays off the host bridge."""


class RdmaPort(NamedTuple):
    """One port."""

    name: str
    """`mlx5_0/1`"""
    nic: Nic
    readings: Mapping[str, Reading]

    def reading(self, name: str) -> Reading:
        """A reading by name; one that nobody read where there is none."""
        return self.readings.get(name, NOT_READ)

    def value(self, name: str) -> object:
        """Its value; None where there is none."""
        return self.reading(name).value

    @property
    def is_active(self) -> bool:
        """Whether it carries traffic."""
        return self.value("state") == "ACTIVE"

    @property
    def words(self) -> str:
        """`mlx5_0/1 (400 Gb/sec (4X NDR))`"""
        rate = self.value("rate")
        return f"{self.name} ({rate})" if rate else self.name

    def is_like(self, other: RdmaPort) -> bool:
        """Whether the two can be compared: their adapters have the same kind, model and board, as far as these were
        read. What was not read keeps no port from being held against its peers."""
        pairs = (
            (self.nic.kind, other.nic.kind),
            (self.nic.model, other.nic.model),
            (self.value("board"), other.value("board")),
        )
        return all(a == b or None in (a, b) or "rdma" in (a, b) for a, b in pairs)


def is_rdma(nic: Nic) -> bool:
    """Whether an adapter is an RDMA device, and no network device or PCI function alone."""
    return nic.kind in _KINDS and nic.id != nic.netdev and not (nic.pci and nic.id == nic.pci.address)


def ports(case: Case) -> list[RdmaPort]:
    """Every port of every RDMA device, and a device that its tool died on. Where only a list of links was given, the
    state is that list's."""
    return [port for nic in case.node.nics if is_rdma(nic) or nic.id in case.facts.rdma for port in _of(case, nic)]


def _of(case: Case, nic: Nic) -> Iterator[RdmaPort]:
    if not nic.ports:
        yield RdmaPort(nic.id, nic, case.facts.rdma.get(nic.id, {}))
    for port in nic.ports:
        name = f"{nic.id}/{port.port}"
        told = dict(case.facts.rdma.get(name, {}))
        source = ", ".join(nic.evidence) or "the inventory"
        if "state" not in told and port.state in _WORDS:
            told["state"] = Reading(_WORDS[port.state], source)
        if "speed" not in told and port.speed_bits_per_second is not None:
            told["speed"] = Reading(port.speed_bits_per_second, source)
        if port.netdev is not None:
            told["netdev"] = Reading(port.netdev, source)
        yield RdmaPort(name, nic, told)


def on_ethernet(case: Case) -> list[RdmaPort]:
    """The active ports of RoCE."""
    return [port for port in ports(case) if port.nic.kind == "roce" and port.is_active]


def unsorted(case: Case, what: str) -> list[Verdict]:
    """One verdict for each active port of which nobody read whether it is on Ethernet; `what` is asked of those that
    are."""
    return [
        unread(port.name, f"{what} of {port.name}: whether it is on Ethernet", _layer(port))
        for port in ports(case)
        if port.nic.kind == "rdma" and port.is_active
    ]


def _layer(port: RdmaPort) -> Reading:
    """Why its link layer is not known; a word that raxl does not know is no answer either."""
    told = port.reading("link_layer")
    return Reading(None, told.source, FAILED, f"its link layer is {told.value}"[:80]) if told.known else told


def none(case: Case) -> Verdict:
    """Why there is no port to look at: no RDMA device, or nobody could tell."""
    listing = case.facts.links_downed
    if listing.known or listing.reason == NOT_PRESENT:
        return skip("node", "the kernel lists no RDMA device")
    if case.node.nics and listing.reason == NOT_ASKED:
        return skip("node", "no RDMA device among what was read")
    return unknown("node", listing.reason or NOT_ASKED, f"whether there is an RDMA device: {listing.message}")


def peers(port: RdmaPort, among: list[RdmaPort]) -> list[RdmaPort]:
    """The ports like it on other adapters."""
    return [one for one in among if one.is_like(port) and one.nic.id != port.nic.id]


def nearest(case: Case, nic: Nic) -> list[str]:
    """The accelerators that share a PCIe switch with it."""
    pairs = [(link.a, link.b) for link in case.node.links if link.link_class in NEAR]
    devices = {device.id for device in case.node.accelerators}
    return sorted({one for pair in pairs if nic.id in pair for one in pair if one in devices})
