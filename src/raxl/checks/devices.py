"""Readings of devices, as checks go through them: those that have one, and one verdict for all that have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from raxl.checks import Case, Verdict, evidence, ok, skip, unread
from raxl.checks.words import listed
from raxl.model.accelerator import Accelerator
from raxl.model.facts import NOT_READ, Reading
from raxl.model.problem import DISAGREEMENT, FAILED

LOST = "lost"
_MOST_NAMED = 3
_NOUNS = {"gpu": "GPU", "npu": "NPU", "tpu": "TPU", "lpu": "LPU", "hpu": "HPU", "ipu": "IPU", "xpu": "XPU"}


class Seen(NamedTuple):
    """The devices of which a reading has a value, and the verdicts for the others."""

    known: Sequence[tuple[Accelerator, Reading]]
    missing: Sequence[Verdict]

    def where(self, holds: Callable[[Accelerator, Reading], bool]) -> list[tuple[Accelerator, Reading]]:
        """Those of the known for which it holds."""
        return [(device, reading) for device, reading in self.known if holds(device, reading)]


def of_vendor(case: Case, vendor: str) -> list[Accelerator]:
    """The node's devices of one vendor."""
    return [one for one in case.node.accelerators if one.vendor == vendor]


def reading(case: Case, device: Accelerator, question: str) -> Reading:
    """One reading of one device; what nobody asked is a reading too."""
    return case.facts.devices.get(device.id, {}).get(question, NOT_READ)


def value(case: Case, device: Accelerator, question: str) -> object:
    """Its value; None where there is none."""
    return reading(case, device, question).value


def seen(case: Case, vendor: str, question: str, what: str) -> Seen:
    """One reading of all devices of a vendor. Of a lost device nothing can be read, which its own check tells."""
    known: list[tuple[Accelerator, Reading]] = []
    unread_: list[tuple[Accelerator, Reading]] = []
    lost = [one for one in of_vendor(case, vendor) if one.state == LOST]
    for device in of_vendor(case, vendor):
        if device.state != LOST:
            own = reading(case, device, question)
            (known if own.known else unread_).append((device, own))
    missing = _told(what, unread_, is_all=not known and not lost)
    missing += [skip(one.id, f"{what} on {name(one)}: the device is lost") for one in lost]
    return Seen(known, missing)


def concluded(
    found: Seen, faults: Sequence[Verdict], words: str, told: Callable[[Reading], object] | None = None
) -> Iterator[Verdict]:
    """The faults, then what could not be read, then one `ok` for the rest; `words` say what is well of them."""
    yield from faults
    yield from found.missing
    subjects = {one.subject for one in faults}
    well = [(device, reading) for device, reading in found.known if device.id not in subjects]
    if well:
        first = well[0][1]
        yield ok(
            "node", f"{counted([one for one, _ in well])}: {words}", evidence(first, told(first) if told else None)
        )


_CUT, _CONTRADICTED = ("output is incomplete", "output ends inside", "ends inside a row"), "attached GPUs and lists"
"""In which words sources tell that a list of devices is not whole."""


def uncounted(case: Case, tool: str = "") -> str | None:
    """Why it is not known how many devices there are: an output was cut off, or states another number than it lists;
    None where none was. `tool` begins the name of those outputs that count."""
    found = [
        one.message
        for one in case.node.problems
        if one.subject == "accelerators"
        and any(source.startswith(tool) for source in one.evidence)
        and (
            (one.reason == DISAGREEMENT and _CONTRADICTED in one.message)
            or (one.reason == FAILED and any(words in one.message for words in _CUT))
        )
    ]
    return "; ".join(sorted(found, key=lambda words: _CONTRADICTED not in words)[:2])[:300] or None


def counted(devices: Sequence[Accelerator]) -> str:
    """`8 GPUs`; one by its name."""
    if len(devices) == 1:
        return name(devices[0])
    return f"{len(devices)} {_NOUNS.get(devices[0].kind, 'device') if devices else 'device'}s"


def name(device: Accelerator) -> str:
    """`nvidia:6 (0000:bb:00.0)`: what raxl and what the kernel calls it."""
    address = device.pci.address if device.pci else None
    return f"{device.id} ({address})" if address and address not in device.id else device.id


def by_model(devices: Sequence[Accelerator]) -> Mapping[str, list[Accelerator]]:
    """Those of one vendor and model together; a device of unknown model has no like."""
    groups: dict[str, list[Accelerator]] = {}
    for device in devices:
        if device.model:
            groups.setdefault(f"{device.vendor} {device.model}", []).append(device)
    return groups


def _told(what: str, devices: Sequence[tuple[Accelerator, Reading]], is_all: bool) -> list[Verdict]:
    """One verdict for all devices that have one and the same reason."""
    groups: dict[tuple[str, str, str], list[Accelerator]] = {}
    for device, own in devices:
        groups.setdefault((own.reason or FAILED, own.message, own.source), []).append(device)
    found = []
    for (reason, message, source), members in groups.items():
        who = f"all {counted(members)}" if is_all and len(groups) == 1 and len(members) > 1 else together(members)
        subject = members[0].id if len(members) == 1 else "node"
        verdict = unread(subject, f"{what} on {who}", Reading(None, source, reason, message))
        found.append(replace(verdict, root=f"{reason} {message}" if subject == "node" else ""))
    return found


def together(devices: Sequence[Accelerator]) -> str:
    """Their names; of many the ids alone, which are shorter."""
    return listed([name(one) if len(devices) <= _MOST_NAMED else one.id for one in devices])
