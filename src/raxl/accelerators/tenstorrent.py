"""Tenstorrent cards: PCI, `/sys/class/tenstorrent`, and where a device is here what `tt-smi -s` says.

https://github.com/tenstorrent/tt-kmd: the class names a device `tenstorrent!<n>`, and its files appear only where the
firmware reports them. /dev/tenstorrent holds a node a device, named by digits alone, and the folder `by-id`, which is
none. The second chip of an n300 has no PCI function: only the tool knows of it. Chips are joined by Ethernet of their
own, of which neither kernel nor tool tells; a cluster descriptor of the user-mode driver does.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from raxl.host import Answer, Host, stripped
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.identity import last_pci_address
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.problem import NOT_APPLICABLE, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import families, pci, tool_words, tt_names, tt_smi
from raxl.sources.families import Family
from raxl.sources.plain_family import NOT_SOUGHT, may_be_here

CLASS, NODES, MODULE = "/sys/class/tenstorrent", "/dev/tenstorrent", "/sys/module/tenstorrent/version"
COMMAND = ("tt-smi", "-s", "--snapshot_no_tty")
_NAME = re.compile(r"tenstorrent!([0-9]{1,5})")
_NODE = re.compile(r"[0-9]{1,5}")
_FILES = ("tt_card_type", "tt_serial", "tt_asic_id", "tt_fw_bundle_ver")
_UNJOINED = "chips may be joined by Ethernet, and neither the kernel nor tt-smi tells"
FAMILY = Family(
    vendor=tt_names.VENDOR,
    name="Tenstorrent",
    kind="npu",
    vendor_id=tt_names.VENDOR_ID,
    models=tt_names.CHIPS,
    resource=tt_names.RESOURCE,
    visible_env=tt_names.VISIBLE,
    drivers=("tenstorrent",),
    classes=("12",),
)


class Answers(NamedTuple):
    """The driver's devices, their nodes, its version, and the tool's snapshot."""

    devices: Mapping[str, Mapping[str, Answer]]
    nodes: Answer
    version: Answer
    tool: Answer


class Tenstorrent:
    """Tenstorrent chips."""

    vendor = "tenstorrent"
    family = "Tenstorrent"

    def probe(self, host: Host) -> Presence:
        """Looks on the bus, and the place that its driver makes."""
        return families.probe(FAMILY, host, (CLASS,))

    def ask(self, host: Host) -> Answers:
        """Asks the driver's class and, where a device is on the bus, the tool."""
        listing = host.names(CLASS)
        names = [name for name in listing.value or () if _NAME.fullmatch(name)]
        here = bool(names) or bool(families.is_on_bus(FAMILY, host))
        devices = {}
        for name in names:
            files = {file: host.text(f"{CLASS}/{name}/{file}") for file in _FILES}
            devices[name] = {"place": host.link(f"{CLASS}/{name}/device"), **files}
        return Answers(
            devices=devices,
            nodes=host.names(NODES) if here or may_be_here(FAMILY, host) else NOT_SOUGHT,
            version=host.text(MODULE) if here else NOT_SOUGHT,
            tool=host.command(COMMAND) if here else NOT_SOUGHT,
        )

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """A claim a device of the bus, of the driver's class and of the tool."""
        on_bus = families.on_bus(FAMILY, functions)
        told = tt_smi.report(tool_words.printed(answers.tool))
        listed = {claim.address for claim in told.claims}
        driven = [_device(name, files) for name, files in answers.devices.items()]
        driven = [one for one in driven if one.address is not None or not on_bus]
        silence = tool_words.refusal(answers.tool, COMMAND[0])
        claims = [_from_bus(one, None if one.address in listed else silence) for one in on_bus]
        if not functions and not driven and not told.claims:
            claims = [_node(name) for name in answers.nodes.value or () if _NODE.fullmatch(name)]
        links, problems = (told.links, ()) if told.links else _withheld(on_bus)
        version = stripped(answers.version)
        software = [Software("tenstorrent", version, MODULE)] if version else []
        software += [one for one in told.software if not version or one.name != "tenstorrent"]
        return Report(
            claims=(*claims, *driven, *_renumbered(told.claims, driven)),
            links=links,
            software=tuple(software),
            problems=(*told.problems, *problems),
        )


def _from_bus(function: PciFunction, silence: Optional[Silence]) -> Claim:
    claim = families.claim(FAMILY, function, silence)
    no_type = Silence(NOT_APPLICABLE, "Ray tells no type of a Tenstorrent device")
    return replace(
        claim,
        architecture=tt_names.CHIPS.get(function.device_id or ""),
        silent={**claim.silent, "ray.type": no_type},
    )


def _device(name: str, files: Mapping[str, Answer]) -> Claim:
    number = int(name.partition("!")[2])
    card, serial, asic, bundle = (tool_words.value_of(stripped(files[file])) for file in _FILES)
    attributes = {"device_node": f"{NODES}/{number}", "asic_id": asic, "firmware": bundle}
    return Claim(
        vendor=FAMILY.vendor,
        kind=FAMILY.kind,
        evidence=CLASS,
        address=last_pci_address(files["place"].value if files["place"].known else ""),
        index=number,
        model=card,
        architecture=tt_names.architecture(card),
        serial=serial,
        ray=RayView(resource=FAMILY.resource),
        visible_env=FAMILY.visible_env,
        attributes={
            **{key: word for key, word in attributes.items() if word is not None},
            **tt_names.attributes(card),
        },
        silent={"memory_bytes": Silence(NOT_SUPPORTED, "the driver's files do not tell the size of the memory", CLASS)},
    )


def _node(name: str) -> Claim:
    """A device of which nothing but its node is to be seen."""
    return Claim(
        vendor=FAMILY.vendor,
        kind=FAMILY.kind,
        evidence=NODES,
        index=int(name),
        ray=RayView(resource=FAMILY.resource),
        visible_env=FAMILY.visible_env,
        attributes={"device_node": f"{NODES}/{name}"},
    )


def _renumbered(told: Sequence[Claim], driven: Sequence[Claim]) -> List[Claim]:
    """The tool's chips; its places are no numbers where the driver's own are known."""
    numbers = {one.address: one.index for one in driven}
    taken = set(numbers.values())
    return [
        replace(one, index=None) if one.address in numbers or (one.unit and one.index in taken) else one for one in told
    ]


def _withheld(on_bus: Sequence[PciFunction]) -> Tuple[Tuple[LinkClaim, ...], Tuple[Problem, ...]]:
    able = [one.address for one in on_bus if one.evidence in pci.BUS_ALONE]
    if len(able) < 2:
        return (), ()
    evidence = on_bus[0].evidence
    links = tuple(LinkClaim(a, b, None, None, evidence=evidence) for a, b in families.pairs(able))
    return links, (Problem("links", NOT_SUPPORTED, _UNJOINED, (evidence,)),)
