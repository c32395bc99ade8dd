"""What of a plug-in's report is believed: of its own devices, on this machine, and no value that cannot be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Collection, NamedTuple, Sequence

from raxl.model.component import PciFunction, Switch
from raxl.model.report import Claim, LinkClaim, Report
from raxl.plugins.reading import Reading

_MOST_TOLD = 10


class Admitted(NamedTuple):
    """What is believed, and in words what is not; empty for nothing."""

    report: Report
    wrong: str


def admitted(
    text: str, vendor: str, functions: Sequence[PciFunction], others: Collection[str] | None = None
) -> Admitted:
    """What a report, written as JSON, may say that comes from a plug-in for `vendor`.

    `functions` are the machine's PCI functions; where the kernel listed them, a device of another address is none, but
    for one that is lost. `others` are the names of all other devices and NICs; where it is None, a link may lead to
    any. Raises ValueError for what is no report.
    """
    reading = Reading()
    report = reading.record(Report, json.loads(text))
    if report is None:
        raise ValueError(reading.wrong[0])
    bus = {one.address: one for one in functions}
    is_listed = any(one.evidence == "sysfs" for one in functions)
    seen = [_claim(reading, one, vendor, bus, is_listed) for one in report.claims]
    claims = tuple(one for one in seen if one is not None)
    own = {name for claim in claims for name in claim.names}
    ends = None if others is None else {*others, *own, *(nic.id for nic in report.nics)}
    links = tuple(link for link in report.links if _is_link(reading, link, own, ends))
    switches = tuple(one for one in report.switches if _is_switch(reading, one, is_listed))
    return Admitted(replace(report, claims=claims, links=links, switches=switches), _sentence(reading.wrong))


def _claim(reading: Reading, claim: Claim, vendor: str, bus: dict[str, PciFunction], is_listed: bool) -> Claim | None:
    """The claim, if it is of a device that can be told from others, without what the bus contradicts."""
    if claim.vendor != vendor:
        reading.no(f"a device of {claim.vendor}: it is for {vendor}")
        return None
    function = bus.get(claim.address or "")
    if claim.address is not None and function is None and is_listed and claim.state != "lost":
        reading.no(f"{claim.address} is not on the bus")
        claim = replace(claim, address=None)
    if claim.address is None and claim.uuid is None and claim.index is None:
        reading.no("a device without address, UUID and index")
        return None
    if function is not None:
        if _differ(reading, function.address, claim.vendor_id, function.vendor_id):
            claim = replace(claim, vendor_id=None)
        if _differ(reading, function.address, claim.device_id, function.device_id):
            claim = replace(claim, device_id=None)
    return claim


def _differ(reading: Reading, address: str, said: str | None, known: str | None) -> bool:
    """Whether a PCI id is another than that of the bus."""
    if said is None or known is None or said == known:
        return False
    reading.no(f"{address} has the id {said}: the bus says {known}")
    return True


def _is_link(reading: Reading, link: LinkClaim, own: set[str], ends: set[str] | None) -> bool:
    """Whether it joins two devices that there are, one of them its own."""
    if link.a == link.b:
        reading.no(f"a link of {link.a} with itself")
    elif not {link.a, link.b} & own:
        reading.no(f"a link of {link.a} and {link.b}: neither is its own")
    elif ends is not None and not {link.a, link.b} <= ends:
        reading.no(f"a link of {link.a} and {link.b}: nothing is called {min({link.a, link.b} - ends)}")
    else:
        return True
    return False


def _is_switch(reading: Reading, switch: Switch, is_listed: bool) -> bool:
    """Whether it is one that raxl does not find by itself, as it does PCIe switches where the kernel lists the bus."""
    if switch.kind == "pcie" and is_listed:
        reading.no(f"a PCIe switch {switch.id}: raxl reads those from the bus")
        return False
    return True


def _sentence(wrong: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(wrong))
    more = f"; and {len(distinct) - _MOST_TOLD} more" if len(distinct) > _MOST_TOLD else ""
    return "; ".join(distinct[:_MOST_TOLD]) + more
