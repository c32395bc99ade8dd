"""FuriosaAI NPUs: PCI, `/sys/class/rngd_mgmt`, and where a device is here what `furiosa-smi` says.

Ids: pci.ids. The class names a device `rngd!npu<n>mgmt` and has no PCI parent: its file `busname` tells the address
(FuriosaAI's Kubernetes libraries). The numbers may have gaps, and move between boots.
"""

from __future__ import annotations

import re
from typing import List, Mapping, NamedTuple, Sequence, Tuple

from raxl.host import Answer, Host, stripped
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.identity import pci_address
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.report import Claim, Report
from raxl.sources import families, furiosa_smi, tool_words
from raxl.sources.families import Family
from raxl.sources.plain_family import NOT_SOUGHT, bus_claim

CLASS = "/sys/class/rngd_mgmt"
COMMANDS = (
    ("furiosa-smi", "info", "--format", "json"),
    ("furiosa-smi", "status", "--format", "json"),
    ("furiosa-smi", "topo"),
)
_NAME = re.compile(r"rngd!npu([0-9]{1,5})mgmt")
_FILES = ("busname", "device_uuid", "device_sn", "fw_version")
FAMILY = Family(
    vendor=furiosa_smi.VENDOR,
    name="FuriosaAI",
    kind="npu",
    vendor_id="1ed2",
    models={"0000": "Warboy", "0001": "RNGD", "0002": "RNGD-Plus", "2222": "RNGD-S"},
    resource=furiosa_smi.RESOURCE,
    visible_env=furiosa_smi.VISIBLE,
    drivers=(),
    classes=("12",),
    ray_types={"0001": "FURIOSA_RNGD", "0002": "FURIOSA_RNGDPLUS", "2222": "FURIOSA_RNGDS"},
)


class Answers(NamedTuple):
    """The driver's devices, its version, and the tool's outputs."""

    devices: Mapping[str, Mapping[str, Answer]]
    version: Answer
    outputs: Tuple[Answer, ...]


class Furiosa:
    """FuriosaAI NPUs."""

    vendor = "furiosa"
    family = "FuriosaAI"

    def probe(self, host: Host) -> Presence:
        """Looks on the bus, and the place that its driver makes."""
        return families.probe(FAMILY, host, (CLASS,))

    def ask(self, host: Host) -> Answers:
        """Asks the driver's class and, where a device is on the bus, the tool."""
        names = [name for name in host.names(CLASS).value or () if _NAME.fullmatch(name)]
        here = bool(names) or bool(families.is_on_bus(FAMILY, host))
        return Answers(
            devices={name: {file: host.text(f"{CLASS}/{name}/{file}") for file in _FILES} for name in names},
            version=host.text(f"{CLASS}/{names[0]}/version") if names else NOT_SOUGHT,
            outputs=tuple(host.command(command) if here else NOT_SOUGHT for command in COMMANDS),
        )

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """A claim a device of the bus, of the driver's class and of the tool; the tool's word of each pair."""
        on_bus = families.on_bus(FAMILY, functions)
        reports = [furiosa_smi.report(tool_words.printed(one)) for one in answers.outputs]
        told = [claim for report in reports for claim in report.claims]
        driven = [_device(name, files) for name, files in answers.devices.items()]
        driven = [one for one in driven if one.address is not None or not on_bus]
        listed = {claim.address for claim in told}
        placed = {claim.index for claim in (*driven, *told) if claim.address is not None}
        silence = tool_words.refusal(answers.outputs[0], furiosa_smi.TOOL)
        claims: List[Claim] = [bus_claim(FAMILY, one, None if one.address in listed else silence) for one in on_bus]
        version = stripped(answers.version)
        return Report(
            claims=(*claims, *driven, *(one for one in told if one.address or one.index in placed or not on_bus)),
            links=tuple(link for report in reports for link in report.links),
            software=(Software("furiosa", version, CLASS),) if version else (),
            problems=tuple(problem for report in reports for problem in report.problems),
        )


def _device(name: str, files: Mapping[str, Answer]) -> Claim:
    found = _NAME.fullmatch(name)
    assert found is not None
    place, uuid, serial, firmware = (tool_words.value_of(stripped(files[file])) for file in _FILES)
    attributes = {"firmware": firmware, "visible_name": f"npu:{int(found[1])}"}
    return Claim(
        vendor=FAMILY.vendor,
        kind=FAMILY.kind,
        evidence=CLASS,
        address=pci_address(place),
        uuid=uuid,
        index=int(found[1]),
        serial=serial,
        ray=RayView(resource=FAMILY.resource),
        visible_env=FAMILY.visible_env,
        attributes={key: word for key, word in attributes.items() if word is not None},
    )
