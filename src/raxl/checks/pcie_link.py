"""PCI Express links: every one from an accelerator or adapter up to its root port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mode

from raxl.checks import P0, Case, Verdict, check, evidence, fail, ok, skip, warn
from raxl.checks.pcie_hops import Ends, Hop, alike, ends, hops, is_virtual, nothing, reading, unread_together
from raxl.checks.words import counted, listed
from raxl.model.facts import Reading
from raxl.model.finding import QUICK, STANDARD
from raxl.model.problem import NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT

_SYSFS = "https://docs.kernel.org/PCI/sysfs-pci.html"
_AMD = "1002:"
_RESEAT = (
    "lspci -vvs {} shows LnkCap and LnkSta of one end, lspci -t the port above; drain the node, reseat the card or "
    "riser, power-cycle it cold (30 s off), and have the part replaced if the link comes back narrow"
)
_BIFURCATED = (
    "compare with the board's manual, and with the slot's bifurcation in its firmware's setup (x16, x8x8); where the "
    "board is wired so, suppress this"
)


@check("pcie.link-width", "Every PCIe link has all its lanes", P0, QUICK, "rma", reference=_SYSFS)
def link_width(case: Case) -> Iterator[Verdict]:
    """A link that lost lanes works, at half its speed or less.

    Read: `current_link_width` and `max_link_width` at both ends of each link from an accelerator or RDMA adapter up
    to the root port. It fails where a link has fewer lanes than both ends can have (DCGM, OCI and ClusterMAX do the
    same). It warns where all devices of one kind are alike in that, for then the board may be wired so, and in a
    virtual machine where one device has fewer lanes than all others of its kind.

    Not to be confused: a slot narrower than its card, and a board's own Ethernet. The GPU function of an AMD card
    always shows full width, for a bridge on the card is its partner: the card's real link is one hop further up. In a
    virtual machine the ports are made up, and a virtual function has no link (x0, 255).
    """
    if (verdict := nothing(case)) is not None:
        yield verdict
        return
    every = hops(case)
    if is_virtual(case):
        yield from _virtual_widths(case, every)
        return
    full, notes, silent = 0, [], {}
    for hop in every:
        width = ends(case, hop, "width")
        if width.is_full is None:
            silent.update(_silent(hop, width, "lanes"))
        elif width.is_full:
            full += 1
            if width.own_most.known and width.now.value < width.own_most.value:
                notes.append(f"{hop.name} x{width.now.value} in a narrower slot")
        elif any(device.counts for device in hop.beneath):
            yield _narrow(case, hop, width, every)
        else:
            notes.append(f"{hop.name} x{width.now.value} of x{width.most}, no RDMA")
    if full:
        noted = f"; {listed(notes)}" if notes else ""
        yield ok("node", f"all lanes that both ends can have on {counted(full, 'PCIe link')}{noted}")
    elif notes:
        yield ok("node", f"no accelerator or RDMA adapter among the narrow links: {listed(notes)}")
    yield from unread_together(case, silent, "the width of the link")
    if not every:
        yield skip("node", "no device here has a PCIe link of its own")


def _silent(hop: Hop, told: Ends, unit: str) -> dict[str, Reading]:
    """Why it is not known; a device in the root complex, or on conventional PCI, has no link."""
    if hop.upper is None and told.silent.reason == NOT_PRESENT:
        words = "it has no link: part of the processor, or on conventional PCI"
        return {hop.subject: Reading(None, told.silent.source, NOT_APPLICABLE, words)}
    if told.now.known and told.own_most.known:
        words = f"{told.now.value:g} of its {told.own_most.value:g} {unit}, and what the port above can is not told"
        return {hop.subject: Reading(None, told.now.source, told.upper_most.reason or NOT_ASKED, words)}
    return {hop.subject: told.silent}


def _narrow(case: Case, hop: Hop, width: Ends, every: Sequence[Hop]) -> Verdict:
    """A link that is narrower than both ends: its own fault, unless all of its kind are so."""
    now, most = width.now.value, width.most
    peers = [ends(case, one, "width") for one in alike(case, hop, every)]
    known = [one.now.value for one in peers if one.now.known]
    shown = (evidence(width.now), evidence(width.own_most), evidence(width.upper_most))
    below = f", above {listed([one.id for one in hop.beneath])}" if hop.subject == hop.lower else ""
    expected = f"x{most}: both ends of the link"
    if known and set(known) == {now}:
        words = f"{hop.name} runs at x{now} of x{most}{below}, as do all {len(known) + 1} of its kind"
        return warn(hop.subject, words, *shown, remedy=_BIFURCATED, remedy_class="config", expected=expected)
    others = f"; {len(known)} of its kind run at x{mode(known)}" if known else ""
    words = f"{hop.name} runs at x{now} of x{most}{below}{others}"
    return fail(hop.subject, words, *shown, remedy=_RESEAT.format(hop.lower), remedy_class="rma", expected=expected)


def _virtual_widths(case: Case, every: Sequence[Hop]) -> Iterator[Verdict]:
    """In a virtual machine a device that is handed on shows its own link; whatever is above it is made up."""
    full, skipped = 0, []
    for hop in (one for one in every if any(device.address == one.lower for device in one.beneath)):
        width = ends(case, hop, "width")
        if not width.now.known or not width.own_most.known:
            skipped.append(hop.subject)
        elif width.now.value >= width.own_most.value:
            full += 1
        else:
            peers = [ends(case, one, "width").now.value for one in alike(case, hop, every)]
            if len(peers) >= 2 and all(one == width.own_most.value for one in peers):
                words = f"{hop.name} runs at x{width.now.value}, its {len(peers)} peers at x{width.own_most.value}"
                shown = (evidence(width.now), evidence(width.own_most))
                yield warn(hop.subject, words, *shown, remedy=_RESEAT.format(hop.lower), remedy_class="vendor")
            else:
                skipped.append(hop.subject)
    if full:
        yield ok("node", f"{counted(full, 'device')} with all lanes; the ports above are the virtual machine's")
    if skipped or not full:
        words = "the links of a virtual machine are not the machine's"
        yield skip("node", f"{words}: {listed(skipped)}" if skipped else words)


@check(
    "pcie.link-speed", "Every PCIe link is as fast as it can be under load", P0, STANDARD, "vendor", reference=_SYSFS
)
def link_speed(case: Case, busy_percent: float = 50) -> Iterator[Verdict]:
    """A link that trained at a lower generation carries half, or a quarter, of what it should.

    Read: `current_link_speed` and `max_link_speed` at both ends of each link, and the load of the accelerators beneath.
    It fails where a link is slower than both ends can be while an accelerator beneath it is at least `busy_percent`
    busy; that number is raxl's own. Links without an accelerator beneath, and uplinks of switches, are held against
    those of the same kind, and one that is slower than all of them warns.

    Not to be confused: an idle link saves power at 2.5 GT/s, and that is well. Where nobody tells the load, nothing is
    known of it. The fastest that NVML names is the card's, not the slot's.
    """
    if (verdict := nothing(case)) is not None:
        yield verdict
        return
    if is_virtual(case):
        yield skip("node", "the links of a virtual machine are not the machine's")
        return
    full, notes, silent = 0, [], {}
    every = hops(case)
    for hop in every:
        speed = ends(case, hop, "speed")
        if speed.is_full is None:
            silent.update(_silent(hop, speed, "GT/s"))
        elif speed.is_full:
            full += 1
        elif verdict := _slow(case, hop, speed, every, busy_percent):
            yield verdict
        elif _load(case, hop) is None and any(one.is_accelerator for one in hop.beneath):
            told = f"{speed.now.value:g} of {speed.most:g} GT/s, which is well where it idles; nobody told its load"
            silent[hop.subject] = Reading(None, speed.now.source, NOT_ASKED, told)
        else:
            notes.append(f"{hop.name} {speed.now.value:g} of {speed.most:g} GT/s")
    if full or notes:
        idle = f"; slower, and not busy: {listed(notes)}" if notes else ""
        yield ok("node", f"{counted(full, 'PCIe link')} as fast as both ends can be{idle}")
    yield from unread_together(case, silent, "whether the link is fast enough")
    if not every:
        yield skip("node", "no device here has a PCIe link of its own")


def _slow(case: Case, hop: Hop, speed: Ends, every: Sequence[Hop], busy_percent: float) -> Verdict | None:
    now, most = speed.now.value, speed.most
    shown = (evidence(speed.now), evidence(speed.own_most), evidence(speed.upper_most))
    load = _load(case, hop)
    expected = f"{most:g} GT/s: both ends of the link"
    if load is not None and load.value >= busy_percent:
        words = f"{hop.name} runs at {now:g} of {most:g} GT/s while it is {load.value} % busy"
        busy = evidence(load, f"{load.value} %")
        return fail(hop.subject, words, *shown, busy, remedy=_RETRAIN, remedy_class="vendor", expected=expected)
    peers = [ends(case, one, "speed") for one in alike(case, hop, every)]
    rates = [one.now.value for one in peers if one.now.known]
    if not _saves_power(case, hop) and len(rates) >= 2 and min(rates) > now:
        words = f"{hop.name} runs at {now:g} of {most:g} GT/s, its {len(rates)} peers at {min(rates):g} or more"
        return warn(hop.subject, words, *shown, remedy=_RETRAIN, remedy_class="vendor", expected=expected)
    return None


_RETRAIN = (
    "read LnkSta and LnkCtl2 of both ends (lspci -vvs) while a job runs; a target speed in LnkCtl2 that is lower was "
    "set by somebody; else drain the node, power-cycle it cold (30 s off), and have card, riser or retimer looked at"
)


def _saves_power(case: Case, hop: Hop) -> bool:
    """Whether its lower end may slow it down when idle: an accelerator, or the bridge on an AMD card."""
    ids = reading(case, hop.lower, "ids").value or ""
    own = any(one.is_accelerator and one.address == hop.lower for one in hop.beneath)
    return own or ids.startswith(_AMD)


def _load(case: Case, hop: Hop) -> Reading | None:
    """How busy the busiest accelerator beneath is, in per cent; None where nobody tells."""
    told = []
    for one in hop.beneath:
        own = case.facts.devices.get(one.id, {}).get("utilization_percent") if one.is_accelerator else None
        if own is not None and own.known and isinstance(own.value, int) and own.value <= 100:
            told.append(own)
    return max(told, key=lambda one: one.value, default=None) or _idle(case, hop)


def _idle(case: Case, hop: Hop) -> Reading | None:
    """A device that no process uses is idle, and one whose clocks idleness holds down, as NVIDIA's driver tells."""
    ids = {one.id for one in hop.beneath if one.is_accelerator}
    for device in case.node.accelerators:
        events = str(device.attributes.get("clocks_event_reasons") or "").split(", ")
        if device.id in ids and ("idle" in events or device.attributes.get("processes") == 0):
            return Reading(0, listed(list(device.evidence)))
    return None
