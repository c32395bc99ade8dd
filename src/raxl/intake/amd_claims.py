"""What amd-smi and rocm-smi say of each package, as claims."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple

from raxl.intake import amd_values
from raxl.intake.amd_packages import Card, packages
from raxl.intake.amd_words import Told, known, silence
from raxl.model.accelerator import Fabric, Partition, RayView
from raxl.model.problem import DISAGREEMENT, NOT_APPLICABLE, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, Silence
from raxl.sources import amd_names
from raxl.sources.numbers import MOST_COUNT, MOST_PLACES, whole

_SHOWN = {
    "compute_partition": "compute_partition",
    "memory_partition": "memory_partition",
    "vbios": "vbios",
    "smi_uuid": "uuid",
}
"""Attributes, and the fields whose words they are. `smi_uuid` is amd-smi's name of the device: ROCr takes another."""

_NUMBERS = ("hip_id", "oam_id", "pcie_replays", "ecc_correctable", "ecc_uncorrectable", "ecc_deferred")
"""Fields that are attributes by the same name; the errors are counted since the driver was loaded."""


class Claims(NamedTuple):
    """A claim a package, the name that links use for each of the tool's numbers, and what contradicts itself."""

    claims: tuple[Claim, ...]
    names: dict[int, str]
    problems: tuple[Problem, ...]


def claims(form: str, told: Told, cut: Set[int] = frozenset()) -> Claims:
    """The claims of one text. `cut` holds the numbers of GPUs inside which the text ends."""
    groups = packages(told)
    plain = all(len(group) == 1 for group in groups)
    whole_list = sorted(told) == list(range(len(told)))
    found: list[Claim] = []
    names: dict[int, str] = {}
    places = Counter(group[0].address[:-2] for group in groups if group[0].address)
    for place, group in enumerate(groups):
        index = group[0].number if plain else place if whole_list else None
        claim = _claim(form, group, index, bool(cut & {card.number for card in group}))
        name = claim.address if claim.address and places[claim.address[:-2]] == 1 else claim.unit
        found.append(claim)
        names.update((card.number, name or f"amd#{index}") for card in group)
    return Claims(tuple(found), names, tuple(_misnumbered(form, groups)) if plain else ())


def _misnumbered(form: str, groups: Sequence[Sequence[Card]]) -> list[Problem]:
    """`HIP_VISIBLE_DEVICES` takes HIP's numbers, which may be others than the tool's."""
    pairs = [(card.number, whole(card.told.get("hip_id"), MOST_PLACES)) for (card,) in groups]
    differ = [f"{number} is HIP's {hip}" for number, hip in pairs if hip is not None and hip != number]
    if not differ:
        return []
    message = f"{form.split()[0]} numbers the GPUs otherwise than HIP does: {', '.join(differ[:8])}"
    return [Problem("accelerators.index", DISAGREEMENT, message, (form,))]


def _claim(form: str, package: Sequence[Card], index: int | None, is_cut: bool) -> Claim:
    first = package[0]
    said = {name: words for card in reversed(package) for name, words in card.told.items() if known(words)}
    said = {**first.told, **said}
    units = [card.unit for card in package if card.unit]
    unit = units[0] if units else None
    vendor, device = amd_values.hex_id(said.get("vendor_id")), amd_values.hex_id(said.get("device_id"))
    memory = _memory(package)
    hive = amd_names.unit(known(said.get("hive")))
    model = known(said.get("model"))
    return Claim(
        vendor="amd",
        kind="gpu",
        evidence=form,
        address=_package_address(package),
        unit=unit,
        index=index,
        uuid=amd_names.uuid(unit) or known(said.get("hip_uuid")) or known(said.get("uuid")),
        serial=amd_values.serial(said.get("serial")),
        model=None if model and re.fullmatch("(?i)0x[0-9a-f]+", model) else model,
        model_by_id=amd_names.MODELS.get(device or "") or known(said.get("short_model")),
        architecture=known(said.get("architecture")),
        vendor_id=vendor or amd_names.VENDOR_ID,
        device_id=device,
        subsystem_id=amd_values.subsystem(said.get("subvendor_id"), said.get("subsystem_id")),
        link=amd_values.link(said),
        numa_node=amd_values.numa_node(said),
        memory_bytes=memory,
        state="ok" if memory is not None and not _has_no_driver(said) else None,
        partitions=_partitions(form, package, known(said.get("compute_partition"))),
        fabric=Fabric(domain=hive) if hive else None,
        ray=RayView(resource="GPU", type=amd_names.RAY_TYPES.get(device or "")),
        visible_env=amd_names.VISIBLE,
        attributes=_attributes(said),
        silent=_silences(form, said, len(package), is_cut),
    )


def _silences(form: str, said: dict[str, str], count: int, is_cut: bool) -> dict[str, Silence]:
    silent = {field: silence(said.get(field), form, is_cut) for field in ("model", "serial", "architecture")}
    silent["memory_bytes"] = silence(said.get("memory"), form, is_cut)
    if count > 1 and known(said.get("memory")):
        message = f"{count} partitions give a size each: whether of a part or of the whole is not told"
        silent["memory_bytes"] = Silence(NOT_APPLICABLE, message, form)
    silent["uuid"] = silence(said.get("uuid", said.get("unit")), form, is_cut)
    silent["numa_node"] = silence(said.get("numa_affinity", said.get("numa_node")), form, is_cut)
    silent["fabric"] = silence(said.get("hive"), form, is_cut)
    silent["state"] = silence(said["driver"], form) if _has_no_driver(said) else silent["memory_bytes"]
    silent["ray.type"] = silence(said.get("device_id"), form, is_cut)
    if amd_values.hex_id(said.get("device_id")):
        silent["ray.type"] = Silence(NOT_SUPPORTED, "Ray has no name for this device id", form)
    unread = {name: silence(said[name], form) for name in _NUMBERS if name in said and known(said[name]) is None}
    silent.update((f"attributes.{name}", why) for name, why in unread.items() if why.reason != NOT_SUPPORTED)
    return silent


def _attributes(said: dict[str, str]) -> dict[str, str | int | float | bool | None]:
    shown = {name: words for name, key in _SHOWN.items() if (words := known(said.get(key)))}
    numbers = {name: whole(said.get(name), MOST_COUNT) for name in _NUMBERS}
    return {**shown, **{name: number for name, number in numbers.items() if number is not None}}


def _has_no_driver(said: dict[str, str]) -> bool:
    return "driver" in said and known(said["driver"]) is None


def _memory(package: Sequence[Card]) -> int | None:
    """The package's memory: what its first GPU has, where no other partition gives a size of its own."""
    sizes = [amd_values.memory_bytes(card.told.get("memory")) for card in package]
    return sizes[0] if not any(sizes[1:]) else None


def _partitions(form: str, package: Sequence[Card], mode: str | None) -> tuple[Partition, ...]:
    """The partitions: the package's GPUs, or the numbers that its one GPU lists. Where the first alone gives a size, it
    is the package's."""
    tool = form.split()[0]
    if len(package) > 1:
        sizes = [amd_values.memory_bytes(card.told.get("memory")) for card in package]
        sizes = sizes if any(sizes[1:]) else [None] * len(sizes)
        return tuple(Partition(f"{tool}:{card.number}", mode, size) for card, size in zip(package, sizes))
    listed = package[0].partitions
    if len(listed) < 2:
        return ()
    return tuple(Partition(f"{tool}:{package[0].number}.{number}", mode) for number in listed)


def _package_address(package: Sequence[Card]) -> str | None:
    """The package's own function: the partitions count theirs up from it."""
    addresses = [card.address for card in package if card.address]
    if len(package) > 1 and addresses:
        return addresses[0][:-1] + "0"
    return addresses[0] if addresses else None
