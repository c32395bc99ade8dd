"""What amd-smi and rocm-smi say of each package, as claims."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import NamedTuple

from raxl.intake.amd_packages import Card, packages
from raxl.intake.amd_words import Told, known, silence
from raxl.model.accelerator import Fabric, Partition, RayView
from raxl.model.component import PciLink
from raxl.model.problem import DISAGREEMENT, NOT_APPLICABLE, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, Silence
from raxl.sources import amd_names
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole

_SIZE = re.compile(r"([0-9]{1,15}) ?(B|[KMGT]i?B)?", re.IGNORECASE)
_UNITS = {"B": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_HEX = re.compile(r"(?:0x)?([0-9a-f]{1,4})", re.IGNORECASE)
_RATE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) ?(GT/s|MT/s)?(?: PCIe)?")
_FASTEST_GTS = 128.0
_WIDEST = 32
_SHOWN = {
    "compute_partition": "compute_partition",
    "memory_partition": "memory_partition",
    "vbios": "vbios",
    "hip_id": "hip_id",
    "smi_uuid": "uuid",
    "oam": "oam_id",
}
"""Attributes, and the fields whose words they are. `smi_uuid` is amd-smi's name of the device: ROCr takes another."""


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
    for place, group in enumerate(groups):
        index = group[0].number if plain else place if whole_list else None
        claim = _claim(form, group, index, bool(cut & {card.number for card in group}))
        name = claim.address if _is_alone(claim.address, groups) else claim.unit
        found.append(claim)
        names.update((card.number, name or f"amd#{index}") for card in group)
    return Claims(tuple(found), names, tuple(_misnumbered(form, groups)) if plain else ())


def _is_alone(address: str | None, groups: Sequence[Sequence[Card]]) -> bool:
    """Whether the address names one package alone, so that a link may use it."""
    places = [group[0].address for group in groups]
    return address is not None and sum(1 for place in places if place and place[:-2] == address[:-2]) == 1


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
    vendor, device = _hex(said.get("vendor_id")), _hex(said.get("device_id"))
    memory = _memory(package)
    hive = amd_names.unit(known(said.get("hive")))
    model = known(said.get("model"))
    values = {
        "model": model if model and not re.fullmatch("(?i)0x[0-9a-f]+", model) else None,
        "uuid": amd_names.uuid(unit) or known(said.get("hip_uuid")) or known(said.get("uuid")),
        "serial": _serial(said.get("serial")),
        "architecture": known(said.get("architecture")),
        "numa_node": numa_node(said),
        "memory_bytes": memory,
    }
    return Claim(
        vendor="amd",
        kind="gpu",
        evidence=form,
        address=_package_address(package),
        unit=unit,
        index=index,
        model_by_id=amd_names.MODELS.get(device or "") or known(said.get("short_model")),
        vendor_id=vendor or amd_names.VENDOR_ID,
        device_id=device,
        subsystem_id=_subsystem(said.get("subvendor_id"), said.get("subsystem_id")),
        link=_link(said),
        state="ok" if memory is not None else None,
        partitions=_partitions(form, package, known(said.get("compute_partition"))),
        fabric=Fabric(domain=hive) if hive else None,
        ray=RayView(resource="GPU", type=amd_names.RAY_TYPES.get(device or "")),
        visible_env=amd_names.VISIBLE,
        attributes={name: words for name, key in _SHOWN.items() if (words := known(said.get(key)))},
        silent=_silences(form, said, len(package), is_cut),
        **values,  # type: ignore[arg-type]
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
    silent["state"] = silent["memory_bytes"]
    silent["ray.type"] = silence(said.get("device_id"), form, is_cut)
    if _hex(said.get("device_id")):
        silent["ray.type"] = Silence(NOT_SUPPORTED, "Ray has no name for this device id", form)
    return silent


def numa_node(said: dict[str, str]) -> int | None:
    """The node that the kernel calls near (affinity), else the one that the driver gives.

    The driver writes 0 where it knows none (kfd_crat.c, kfd_fill_gpu_direct_io_link_to_cpu): 0 is believed when no
    affinity of -1 stands beside it.
    """
    near, given = said.get("numa_affinity"), whole(known(said.get("numa_node")), MOST_PLACES)
    if known(near) is None:
        return given
    affinity = whole(near, MOST_PLACES)
    return affinity if affinity is not None else given or None


def memory_bytes(words: str | None) -> int | None:
    """A size in bytes; None for 0 too. The tools' MB are MiB (an MI300X with 192 GiB reads 196592 MB), and a number
    without a unit is in amd-smi's only one, MB."""
    found = _SIZE.fullmatch(known(words) or "")
    if not found:
        return None
    size = int(found[1]) << _UNITS[(found[2] or "M")[0].upper()]
    return size if 0 < size <= MOST_BYTES else None


def _memory(package: Sequence[Card]) -> int | None:
    """The package's memory: what its first GPU has, where no other partition gives a size of its own."""
    sizes = [memory_bytes(card.told.get("memory")) for card in package]
    return sizes[0] if not any(sizes[1:]) else None


def _partitions(form: str, package: Sequence[Card], mode: str | None) -> tuple[Partition, ...]:
    tool = form.split()[0]
    if len(package) > 1:
        return tuple(
            Partition(f"{tool}:{card.number}", mode, memory_bytes(card.told.get("memory"))) for card in package
        )
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


def _serial(words: str | None) -> str | None:
    """A serial; zeros stand where the board has none."""
    value = known(words)
    return value if value and value.removeprefix("0x").strip("0") else None


def _hex(words: str | None) -> str | None:
    found = _HEX.fullmatch(known(words) or "")
    return found[1].lower().zfill(4) if found and int(found[1], 16) else None


def _subsystem(vendor: str | None, device: str | None) -> str | None:
    one, other = _hex(vendor), _hex(device)
    return f"{one}:{other}" if one and other else None


def _link(said: dict[str, str]) -> PciLink | None:
    link = PciLink(
        *(_speed(said.get("speed")), _width(said.get("width"))),
        *(_speed(said.get("max_speed")), _width(said.get("max_width"))),
    )
    return link if link != PciLink() else None


def _speed(words: str | None) -> float | None:
    found = _RATE.fullmatch(known(words) or "")
    speed = float(found[1]) / (1000 if found[2] == "MT/s" else 1) if found else 0.0
    return speed if 0 < speed <= _FASTEST_GTS else None


def _width(words: str | None) -> int | None:
    return whole((known(words) or "").removeprefix("x"), _WIDEST) or None
