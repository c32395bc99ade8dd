"""Whether the accelerators of one model in one node are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from raxl.checks import P0, Case, Verdict, check, ok, skip, unknown, warn, without
from raxl.checks.devices import LOST, by_model, counted, name, reading
from raxl.checks.words import listed, size
from raxl.model.accelerator import Accelerator
from raxl.model.finding import STANDARD, Evidence
from raxl.model.problem import NOT_ASKED

_MAJORITY = 2 / 3
_Field = Callable[[Case, Accelerator], "str | None"]


def _memory(_: Case, device: Accelerator) -> str | None:
    return None if device.memory_bytes is None else size(device.memory_bytes)


def _width(_: Case, device: Accelerator) -> str | None:
    link = device.pci.link if device.pci else None
    return None if link is None or link.max_width is None else f"x{link.max_width}"


def _attribute(key: str) -> _Field:
    def told(_: Case, device: Accelerator) -> str | None:
        value = device.attributes.get(key)
        return None if value is None else str(value)

    return told


def _read(question: str, words: Callable[[object], str] = str) -> _Field:
    def told(case: Case, device: Accelerator) -> str | None:
        own = reading(case, device, question)
        return words(own.value) if own.known else None

    return told


def _mode(modes: object) -> str:
    return "on" if isinstance(modes, tuple) and modes[0] else "off"


def _count(links: object) -> str:
    return str(len(links)) if isinstance(links, list) else "none"


_FIELDS: Mapping[str, _Field] = {
    "memory": _memory,
    "VBIOS": _attribute("vbios"),
    "firmware": _attribute("firmware"),
    "ECC mode": _read("ecc_mode", _mode),
    "MIG mode": _read("mig_mode", _mode),
    "power limit": _read("power_limit_watts", lambda watts: f"{watts:g} W"),
    "PCIe width": _width,
    "number of NVLinks": _read("nvlinks", _count),
}
"""What is compared, by its name in a sentence."""


@check(
    "node.intra-consistency",
    "Accelerators of one model are alike",
    P0,
    STANDARD,
    "config",
    reference="https://github.com/NVIDIA/NVSentinel/issues/890",
)
def alike(case: Case) -> Iterator[Verdict]:
    """Whether the accelerators of one model in this node have the same memory, firmware and settings.

    Read: memory, VBIOS or firmware, ECC and MIG mode, power limit, the most lanes that device and slot have, and the
    number of NVLinks. It warns for a device that differs from at least two thirds of its like, and names the field;
    where no value has two thirds, it warns once and blames nobody. Devices of other vendors are compared in what is
    known of them.

    Not to be confused: nodes of mixed models are compared within each model; a lost device is left out,
    and one that a virtual machine has.
    """
    groups = by_model([one for one in case.node.accelerators if one.state != LOST and not _is_given_away(one)])
    pairs = [group for group in groups.values() if len(group) > 1]
    if not case.node.accelerators:
        yield without(case, "accelerator")
        return
    if not pairs:
        yield skip("node", "no two accelerators of one model")
        return
    for group in pairs:
        faults = [told for field, value in _FIELDS.items() for told in _differing(case, group, field, value)]
        yield from faults
        yield from _untold(case, group)
        compared = [field for field, value in _FIELDS.items() if all(value(case, one) is not None for one in group)]
        if not faults:
            told = Evidence(", ".join(group[0].evidence), listed(compared) or "nothing that both tell")
            yield ok(
                "node", f"{counted(group)} of one model, {group[0].model}, are alike", told, root=str(group[0].model)
            )


def _is_given_away(device: Accelerator) -> bool:
    """Whether a virtual machine has it, so that nothing is known of it here."""
    return str(device.attributes.get("driver", "")).startswith("vfio")


def _untold(case: Case, group: Sequence[Accelerator]) -> Iterator[Verdict]:
    """Devices that do not tell what the others of their model tell."""
    fields = {
        field: [device for device in group if value(case, device) is None]
        for field, value in _FIELDS.items()
        if any(value(case, device) is not None for device in group)
    }
    for device in group:
        silent = [field for field, without in fields.items() if device in without]
        if silent:
            message = f"{listed(silent)} of {name(device)} is not known, which others of its model tell"
            yield unknown(device.id, NOT_ASKED, message)


def _differing(case: Case, group: Sequence[Accelerator], field: str, value: _Field) -> Iterator[Verdict]:
    values = {device.id: own for device in group if (own := value(case, device)) is not None}
    if len(set(values.values())) < 2:
        return
    (usual, share), *_ = Counter(values.values()).most_common()
    remedy = f"find out which {field} is meant and set it on all of them; a part that was exchanged may need an update"
    if share < _MAJORITY * len(values):
        told = listed([f"{id} {own}" for id, own in values.items()])
        message = f"{field} differs among {counted(group)} of one model, {group[0].model}"
        evidence = Evidence(", ".join(group[0].evidence), told)
        yield warn("node", message, evidence, remedy=remedy, remedy_class="config", root=f"{field} {group[0].model}")
        return
    for device in group:
        own = values.get(device.id)
        if own is not None and own != usual:
            message = f"{name(device)}: {field} {own}, the others of its model have {usual}"
            evidence = Evidence(", ".join(device.evidence), f"{field} {own}")
            more = {"remedy": remedy, "remedy_class": "config", "root": field, "expected": usual}
            yield warn(device.id, message, evidence, **more)
