"""Events of the kernel's log, as checks weigh them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from raxl.checks import Case, Verdict, fail, ok, unknown, unread, warn
from raxl.checks.remedies import of_device, remedy
from raxl.model.facts import ANY, KernelEvent
from raxl.model.finding import Evidence
from raxl.model.problem import FAILED

INFO, WARN, FAIL = "info", "warn", "fail"
_ORDER = (INFO, WARN, FAIL)
_SHOWN = 4
"""Lines that a finding shows."""


class Weight(NamedTuple):
    """What an event makes of a node."""

    verdict: str
    """`info`, `warn`, `fail`."""
    action: str
    """A word of `remedies.ACTIONS`."""
    meaning: str = ""
    """In the middle of a sentence."""


def unreadable(case: Case, what: str) -> Verdict | None:
    """Why the log tells nothing of `what`: it could not be read, or is empty. None where it was read."""
    reading = case.facts.kernel_log.read
    if not reading.known:
        return unread("node", f"whether the kernel's log tells of {what}", reading)
    if not reading.value:
        return unknown("node", FAILED, f"whether the kernel's log tells of {what}: the log is empty ({reading.source})")
    return None


def current(case: Case, *kinds: str) -> list[KernelEvent]:
    """The events of these kinds since the last boot."""
    return [event for event in case.facts.kernel_log.events if event.boot == 0 and event.kind in kinds]


def cut(case: Case, what: str, *kinds: str) -> Iterator[Verdict]:
    """Says that of events of these kinds some are not known, for the log tells of more than are kept."""
    read, counts = case.facts.kernel_log.read, case.facts.kernel_log.left_out
    count = sum(counts.get(kind, 0) for kind in (*kinds, ANY))
    if read.known and count:
        words = f"{what}: {count} more lines of the kernel's log tell of such, of more faults than are kept"
        yield unknown("node", FAILED, words, Evidence(read.source, f"{count} lines left out"), root="left-out")


def none_told(case: Case, what: str) -> Verdict:
    """All is well: the log was read, and tells of no such thing."""
    reading = case.facts.kernel_log.read
    return ok("node", f"no {what} in {reading.value} lines of the kernel's log", Evidence(reading.source, what))


def by_device(events: Iterable[KernelEvent]) -> Iterator[tuple[str | None, list[KernelEvent]]]:
    """The events of each device, in the order of the addresses."""
    ordered = sorted(events, key=lambda event: (event.device or "", event.order))
    for address, group in groupby(ordered, key=lambda event: event.device):
        yield address, list(group)


def subject(case: Case, address: str | None) -> str:
    """The accelerator, NIC or switch at a PCI address, which may lack the function; the address where there is none."""
    if address is None:
        return "node"
    whole = address if "." in address else f"{address}."
    devices = [(one.id, one.pci) for one in case.node.accelerators]
    devices += [(one.id, one.pci) for one in case.node.nics]
    devices += [(one.id, one.pci) for one in case.node.switches]
    return next((id for id, pci in devices if pci is not None and pci.address.startswith(whole)), address)


def worst(weights: Iterable[Weight]) -> Weight:
    """The one that counts most; the first of several."""
    return max(weights, key=lambda weight: _ORDER.index(weight.verdict))


def verdict(
    case: Case,
    events: Sequence[KernelEvent],
    weight: Weight,
    message: str,
    *more: Evidence,
    vendor: str = "",
    about: str | None = None,
    root: str = "",
    reset: str = "",
) -> Verdict:
    """The verdict on events that are one fault. `reset` is what resets it, where that is more than its device."""
    source = case.facts.kernel_log.read.source
    ordered = sorted(events, key=lambda event: event.order)
    shown = [Evidence(source, event.text) for event in ordered[:_SHOWN]]
    told = {
        "first_seen": ordered[0].first,
        "last_seen": max(ordered, key=lambda event: event.ends).last,
        "count": sum(event.count for event in ordered),
        "root": root or ordered[0].kind,
    }
    own = subject(case, ordered[0].device) if about is None else about
    if weight.verdict == INFO:
        return ok(own, message, *shown, *more, **told)
    given = remedy(weight.action, vendor, reset=reset or of_device(vendor, ordered[0].device))
    make = fail if weight.verdict == FAIL else warn
    return make(own, message, *shown, *more, remedy=given.text, remedy_class=given.remedy_class, **told)


def times(events: Sequence[KernelEvent]) -> str:
    """` (7 times)`; empty for once."""
    count = sum(event.count for event in events)
    return f" ({count} times)" if count > 1 else ""


def weighed(
    case: Case, table: Mapping[str, Weight], events: Sequence[KernelEvent], what: str = "", vendor: str = ""
) -> Iterator[Verdict]:
    """One verdict for each device and kind, by a table of what each kind means; `what` stands before the address."""
    for address, own in by_device(events):
        for kind in table:
            of_kind = [event for event in own if event.kind == kind]
            if of_kind:
                name = f"{what} {address}".strip() if address else what or "the node"
                message = f"{name}: {table[kind].meaning}{times(of_kind)}"
                yield verdict(case, of_kind, table[kind], message, vendor=vendor, root=kind)
