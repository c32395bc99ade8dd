"""Google TPUs (v2 to v6e, TPU7x): PCI, the device files below `/dev`, and the slice that the environment describes.

`/dev/accel<n>` is a TPU's only where its device is Google's: AMD's and Intel's NPUs and Gaudi have such files too, and
NVIDIA's driver makes a folder `/dev/accel`. A VFIO group is a TPU's only where it holds a TPU. Numbers follow
`tpu-info`: the accel file's, or the place of the chip's VFIO group among those of TPUs. libtpu is never loaded.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model.component import PciFunction
from raxl.model.identity import last_pci_address, pci_address
from raxl.model.presence import Presence
from raxl.model.problem import NOT_ASKED, NOT_PRESENT
from raxl.model.report import Claim, Report, Silence
from raxl.sources import families, tpu_chips, tpu_slice
from raxl.sources.numbers import MOST_PLACES, whole

FAMILY = families.Family(
    vendor=tpu_chips.VENDOR,
    name="Google TPU",
    kind=tpu_chips.KIND,
    vendor_id="1ae0",
    models={
        "0027": "TPU",
        "005e": "TPU v4",
        "0062": "TPU v5p",
        "0063": "TPU v5e",
        "006f": "TPU v6e",
        "0076": "TPU7x",
    },
    resource=tpu_chips.RESOURCE,
    visible_env=tpu_slice.VISIBLE,
    drivers=("vfio-pci", "gasket", "accel"),
    classes=("12",),
)
"""Google's other functions (0042 is its network adapter, 001f its disk) are no TPUs."""
_BY_SUBSYSTEM = {"004e": "TPU v2", "004f": "TPU v3"}
"""Device 0027 is both; the subsystem tells."""
_GROUPS = "/sys/kernel/iommu_groups"
_ACCEL = "/sys/class/accel"


class Answers(NamedTuple):
    """The device files, whose devices they are, and the environment."""

    listing: Answer
    accel: Mapping[str, Mapping[str, Answer]]
    groups: Mapping[str, Answer]
    environment: Answer


class Tpu:
    """Google TPUs."""

    vendor = FAMILY.vendor
    family = FAMILY.name

    def probe(self, host: Host) -> Presence:
        """Looks on the bus."""
        return families.probe(FAMILY, host)

    def ask(self, host: Host) -> Answers:
        """Asks for the device files and, of each, which PCI function it belongs to."""
        listing, groups = host.names("/dev"), host.names("/dev/vfio")
        named = [name for name in listing.value or () if re.fullmatch("accel[0-9]{1,4}", name)]
        return Answers(
            listing=listing,
            accel={
                name: {
                    "vendor": host.text(f"{_ACCEL}/{name}/device/vendor"),
                    "path": host.link(f"{_ACCEL}/{name}/device"),
                }
                for name in named
            },
            groups={
                name: host.names(f"{_GROUPS}/{name}/devices")
                for name in groups.value or ()
                if re.fullmatch("[0-9]{1,5}", name)
            },
            environment=host.process("environment"),
        )

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a chip: TPU7x shows two functions for each."""
        variables = answers.environment.value if isinstance(answers.environment.value, dict) else {}
        own = tpu_slice.parse(variables)
        chips = _chips(families.on_bus(FAMILY, functions))
        numbers = _numbers(answers, chips)
        visible = variables.get(tpu_slice.VISIBLE)
        claims = [_claim(chip, numbers, answers.listing, own, visible) for chip in chips.values()]
        links, unsaid = tpu_chips.links(own, claims)
        seen = answers.listing.known and (claims or variables)
        counts = tpu_chips.contradictions(own, len(claims), variables) if seen else []
        return Report(
            claims=tuple(claims),
            links=tuple(links),
            problems=(*unsaid, *counts, *tpu_chips.other_generation(own, claims), *own.problems),
            placement=tpu_slice.placement(own),
        )


def _chips(functions: Sequence[PciFunction]) -> Dict[str, List[PciFunction]]:
    """The functions of each chip, by its address without the function's number."""
    chips: Dict[str, List[PciFunction]] = {}
    for function in sorted(functions, key=lambda one: one.address):
        chips.setdefault(function.address.rsplit(".", 1)[0], []).append(function)
    return chips


def _numbers(answers: Answers, chips: Mapping[str, Sequence[PciFunction]]) -> Dict[str, int]:
    """By chip, its number: that of its accel file, else its place among the VFIO groups of TPUs, in their order."""
    numbers: Dict[str, int] = {}
    for name, files in answers.accel.items():
        number, address = whole(name[len("accel") :], MOST_PLACES), last_pci_address(stripped(files["path"]) or "")
        chip = (address or "").rsplit(".", 1)[0]
        if stripped(files["vendor"]) == "0x" + FAMILY.vendor_id and number is not None and chip in chips:
            numbers.setdefault(chip, number)
    if numbers:
        return numbers
    if not all(group.known for group in answers.groups.values()):
        return {}  # a group that cannot be looked into may hold one, and moves the numbers of all behind it
    for group in sorted(answers.groups, key=int):
        for name in answers.groups[group].value or ():
            chip = (pci_address(name) or "").rsplit(".", 1)[0]
            if chip in chips:
                numbers.setdefault(chip, len(numbers))
    return numbers


def _claim(
    functions: Sequence[PciFunction],
    numbers: Mapping[str, int],
    listing: Answer,
    own: tpu_slice.Slice,
    visible: Optional[str],
) -> Claim:
    first = functions[0]
    claim = families.claim(FAMILY, first, tpu_chips.LIBTPU)
    index = numbers.get(first.address.rsplit(".", 1)[0])
    model = claim.model_by_id
    if first.device_id == "0027":
        model = _BY_SUBSYSTEM.get((first.subsystem_id or "").rpartition(":")[2])
    told = {**claim.attributes, **tpu_chips.attributes(own, model, visible)}
    if len(functions) > 1:
        told["pci_functions"] = ", ".join(one.address for one in functions)
    missing = Silence(NOT_PRESENT, "no device file of it is below /dev", "/dev")
    unlisted = (
        missing
        if listing.known
        else Silence(listing.reason or NOT_ASKED, listing.message or "/dev was not listed", "/dev")
    )
    silent = {**tpu_chips.silences(own), **({} if index is not None else {"index": unlisted, "state": unlisted})}
    if model is None and first.device_id == "0027":
        silent["model"] = Silence(NOT_PRESENT, "device 0027 is TPU v2 or v3, and no subsystem tells which", "sysfs")
    return replace(
        claim,
        index=index,
        model_by_id=model,
        state=claim.state or ("ok" if index is not None else None),
        fabric=tpu_chips.fabric(own),
        ray=tpu_chips.ray_view(own),
        attributes=told,
        silent={**claim.silent, **silent},
    )
