"""What checks of PCI Express have in common: which devices count, the links above them, and who hangs beneath each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raxl.checks import Case, Verdict, skip, unknown, without
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, Reading
from raxl.model.nic import Nic
from raxl.model.problem import NOT_APPLICABLE, NOT_ASKED, NOT_SUPPORTED

_RDMA = ("infiniband", "roce", "iwarp", "efa", "omni-path", "rdma")


class Device(NamedTuple):
    """An accelerator or a network adapter on the bus."""

    id: str
    address: str
    is_accelerator: bool
    is_rdma: bool

    @property
    def counts(self) -> bool:
        """Whether jobs depend on its link: a board's own Ethernet may be wired as narrow as it likes."""
        return self.is_accelerator or self.is_rdma


class Hop(NamedTuple):
    """One link: the function at its lower end, the port at its upper end, and the devices beneath."""

    lower: str
    upper: str | None
    beneath: tuple[Device, ...]

    @property
    def subject(self) -> str:
        """The one device beneath; else the address, for it is nobody's alone."""
        counting = [one for one in self.beneath if one.counts] or list(self.beneath)
        return counting[0].id if len(counting) == 1 else self.lower

    @property
    def name(self) -> str:
        """`nvidia:6 (0000:bb:00.0)`, or the lower end's address."""
        return self.lower if self.subject == self.lower else f"{self.subject} ({self.lower})"


def reading(case: Case, address: str | None, name: str) -> Reading:
    """What was read of a function."""
    own: Mapping[str, Reading] = case.facts.pcie.get(address or "", {})
    return own.get(name, NOT_READ)


def is_dead(header: Reading) -> bool:
    """Whether nothing answers. Of a virtual function the ids alone read ffff, as they have to."""
    return bool(header.known and set(str(header.value)) == {"f"})


def devices(case: Case) -> list[Device]:
    """Accelerators and adapters whose place on a bus was read: one entry a function."""
    found: dict[str, Device] = {}
    every: list[Accelerator | Nic] = [*case.node.accelerators, *case.node.nics]
    for one in every:
        if one.pci and one.pci.address in case.facts.pcie:
            found.setdefault(one.pci.address, _device(one))
    return list(found.values())


def _device(one: Accelerator | Nic) -> Device:
    address = one.pci.address if one.pci else ""
    is_accelerator = isinstance(one, Accelerator)
    return Device(one.id, address, is_accelerator, isinstance(one, Nic) and one.kind in _RDMA)


def nothing(case: Case) -> Verdict | None:
    """Why there is no device to check; None where there is one."""
    if devices(case):
        return None
    if not case.node.accelerators and not case.node.nics:
        return without(case, "accelerator or network adapter")
    return unknown("node", NOT_ASKED, "the PCI tree is not in what was read")


def no_accelerator(case: Case) -> Verdict | None:
    """The same where accelerators alone count."""
    return nothing(case) if case.node.accelerators else without(case, "accelerator")


def is_virtual(case: Case) -> bool:
    """Whether a hypervisor made the tree up: its ports, links and their widths are then not the machine's."""
    return case.node.path_trust == "virtual"


def hops(case: Case) -> list[Hop]:
    """Every link from a device up to its root port, each once; a virtual function has no link of its own."""
    found: dict[tuple[str, str | None], list[Device]] = {}
    for device in devices(case):
        if reading(case, device.address, "physical_function").value is None:
            for lower, upper in _links(case, device):
                found.setdefault((lower, upper), []).append(device)
    merged: dict[tuple[str, str | None], Hop] = {}
    for (lower, upper), beneath in found.items():
        key = lower.rpartition(".")[0], upper
        known = merged.get(key)
        merged[key] = known._replace(beneath=(*known.beneath, *beneath)) if known else Hop(lower, upper, tuple(beneath))
    return list(merged.values())


def _links(case: Case, device: Device) -> Iterator[tuple[str, str | None]]:
    """Root port, then a switch's upstream and downstream port in turn: within a switch there is no link.

    Where the way up is cut off, it is paired from its lower end. A device below a bridge of conventional PCI has none.
    """
    chain: Sequence[str] = reading(case, device.address, "chain").value or ()
    if not chain:
        yield device.address, None
        return
    way = [*chain, device.address]
    start = len(way) % 2 if reading(case, device.address, "root").value is None else 0
    for place in range(start, len(way) - 1, 2):
        yield way[place + 1], way[place]


class Ends(NamedTuple):
    """What both ends of a link say of its width or its speed."""

    now: Reading
    own_most: Reading
    upper_most: Reading

    @property
    def most(self) -> Any:
        """What both ends can do; None where one of them is not known."""
        if self.own_most.known and self.upper_most.known:
            return min(self.own_most.value, self.upper_most.value)
        return None

    @property
    def is_full(self) -> bool | None:
        """Whether the link does what both ends can; None where that is not known."""
        if not self.now.known:
            return None
        if self.most is not None:
            return bool(self.now.value >= self.most)
        return True if self.own_most.known and self.now.value >= self.own_most.value else None

    @property
    def silent(self) -> Reading:
        """The reading that is missing."""
        return next((one for one in (self.now, self.own_most, self.upper_most) if not one.known), NOT_READ)


def ends(case: Case, hop: Hop, quantity: str) -> Ends:
    """`quantity`: `width` or `speed`. Either end may say what is so now."""
    lower, upper = (reading(case, address, quantity) for address in (hop.lower, hop.upper))
    most = f"max_{quantity}"
    now = lower if lower.known or not upper.known else upper
    return Ends(now, reading(case, hop.lower, most), reading(case, hop.upper, most))


def alike(case: Case, hop: Hop, every: Sequence[Hop]) -> list[Hop]:
    """The links of other devices of the same PCI ids at the same depth of the tree."""
    kind = _kind(case, hop)
    return [one for one in every if one != hop and kind and _kind(case, one) == kind]


def _kind(case: Case, hop: Hop) -> tuple[str, int] | None:
    ids = reading(case, hop.lower, "ids").value
    return (ids, len(reading(case, hop.lower, "chain").value or ())) if ids else None


def unread_together(case: Case, silent: Mapping[str, Reading], what: str) -> Iterator[Verdict]:
    """One verdict for all subjects that the same reason keeps from being known."""
    groups: dict[tuple[str, str], list[str]] = {}
    for subject, one in silent.items():
        groups.setdefault((one.reason or NOT_ASKED, one.message), []).append(subject)
    for (reason, message), subjects in groups.items():
        first = silent[subjects[0]]
        subject = subjects[0] if len(subjects) == 1 else "node"
        source = "" if first.source == NOT_READ.source else f" ({first.source})"
        words = f"{what} of {listed(subjects, 4)}: {message or reason}{source}"
        if reason in (NOT_SUPPORTED, NOT_APPLICABLE):
            yield skip(subject, words, reason)
        else:
            yield unknown(subject, reason, words)
