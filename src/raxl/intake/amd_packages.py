"""Which GPUs that AMD's tools number are partitions of one package.

In CPX and the other partitioned modes amd-smi and rocm-smi list every partition as a GPU of its own. Domain, bus and
device are those of the package, the function bits number the partition, and only the first partition tells serials and
modes (https://rocm.docs.amd.com/projects/amdsmi, "Guidance for BDF output on partitioned GPUs").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from raxl.intake.amd_words import Told, known
from raxl.model.identity import pci_address
from raxl.sources import amd_names
from raxl.sources.numbers import MOST_PLACES, whole

_UUID = re.compile(r"([0-9a-f]{2})[0-9a-f]{2}([0-9a-f]{4})-0000-1000-80([0-9a-f]{2})-([0-9a-f]{12})", re.IGNORECASE)
_HIP_UUID = re.compile(r"GPU-([0-9a-f]{1,16})", re.IGNORECASE)
_MOST_PARTITIONS = 64


class Card(NamedTuple):
    """A GPU as the tool numbers it: a package or one partition of a package."""

    number: int
    told: Mapping[str, str]

    @property
    def address(self) -> str | None:
        return pci_address(known(self.told.get("address")))

    @property
    def unit(self) -> str | None:
        """The package's unique id: ASIC serial or `Unique ID`, else out of the UUIDs that are made from it.

        amd-smi's UUID is the unique id's first byte, the function, the device id, and the rest of the unique id.
        """
        unit = amd_names.unit(known(self.told.get("unit")))
        hip = _HIP_UUID.fullmatch(self.told.get("hip_uuid", ""))
        smi = _UUID.fullmatch(self.told.get("uuid", ""))
        if unit is None and hip:
            unit = amd_names.unit(hip[1])
        return unit or (amd_names.unit(smi[1] + smi[3] + smi[4]) if smi else None)

    @property
    def partitions(self) -> tuple[int, ...]:
        """The numbers of the partitions that this GPU is (usually one); empty where the tool does not say."""
        words = (known(self.told.get("partition_id")) or "").split(",")[:_MOST_PARTITIONS]
        numbers = [whole(word, MOST_PLACES) for word in words]
        return tuple(number for number in numbers if number is not None) if None not in numbers else ()


def packages(told: Told) -> list[list[Card]]:
    """The GPUs by package, in the order of the tool's numbers."""
    found: list[list[Card]] = []
    by_place: dict[str, list[list[Card]]] = {}
    for number in sorted(told):
        card = Card(number, told[number])
        address = card.address
        near = by_place.setdefault(address[:-2] if address else "", [])
        package = _of_same(card, near)
        if package is None:
            package = []
            found.append(package)
            near.append(package)
        package.append(card)
    return found


def _of_same(card: Card, near: Sequence[list[Card]]) -> list[Card] | None:
    """The package at the same place that this GPU belongs to; without an address, by unique id or partition number."""
    if card.address is not None:
        return next((package for package in near if _may_be_one({one.unit for one in package} | {card.unit})), None)
    if card.unit is not None:
        same = next((package for package in near if card.unit in {one.unit for one in package}), None)
        if same is not None:
            return same
    last = near[-1] if near else None
    return last if last is not None and _continues(last, card) else None


def _may_be_one(units: set[str | None]) -> bool:
    return len(units - {None}) <= 1


def _continues(package: Sequence[Card], card: Card) -> bool:
    """Whether the next number is the next partition, or one of those that the package's first GPU lists."""
    first, last = package[0], package[-1]
    if card.number != last.number + 1 or not _may_be_one({first.unit, card.unit}):
        return False
    if len(first.partitions) > 1:
        return len(package) < len(first.partitions) and not card.partitions
    return bool(last.partitions) and card.partitions == (last.partitions[0] + 1,)
