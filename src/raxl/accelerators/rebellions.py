"""Rebellions RBLN NPUs: PCI, `/sys/class/rebellions`, and where a device is here what `rbln-smi -j` says.

Ids: pci.ids, an even last digit a physical function, an odd one a virtual. An ATOM-Max card (CA25) is several devices
behind one PCIe switch. The class lists every card of the host, in a container too: only those below /dev can be used.
Beside the cards' folders it has groups (`rsd<g>`), whose file `hard_reset` resets: nothing below them is ever read.
"""

from __future__ import annotations

import re
from typing import List, Mapping, NamedTuple, Optional, Sequence

from raxl.host import Answer, Host, stripped
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.identity import last_pci_address
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.problem import NOT_INSTALLED, NOT_PRESENT
from raxl.model.report import Claim, Report, Silence
from raxl.sources import families, rbln_smi, tool_words
from raxl.sources.families import Family
from raxl.sources.plain_family import NOT_SOUGHT, bus_claim, may_be_here

CLASS = "/sys/class/rebellions"
COMMANDS = (("rbln-smi", "-j"), ("rbln-stat", "-j"))
"""The tool's newer name and its older one."""
_CARD = re.compile(r"rbln([0-9]{1,5})")
_CARDS = {"112": "CA12", "122": "CA22", "125": "CA25", "203": "CR03", "213": "CR13", "223": "CR23"}
FAMILY = Family(
    vendor=rbln_smi.VENDOR,
    name="Rebellions",
    kind="npu",
    vendor_id="1eff",
    models={f"{digits}{last}": f"RBLN-{name}" for digits, name in _CARDS.items() for last in "01"},
    resource=rbln_smi.RESOURCE,
    visible_env=rbln_smi.VISIBLE,
    drivers=(),
    classes=("12",),
)


class Answers(NamedTuple):
    """The driver's cards, the nodes below /dev, and the tool's output."""

    cards: Mapping[str, Mapping[str, Answer]]
    nodes: Answer
    version: Answer
    tool: Answer


class Rebellions:
    """Rebellions NPUs."""

    vendor = "rebellions"
    family = "Rebellions"

    def probe(self, host: Host) -> Presence:
        """Looks on the bus, and the place that its driver makes."""
        return families.probe(FAMILY, host, (CLASS,))

    def ask(self, host: Host) -> Answers:
        """Asks the driver's class and, where a device is on the bus, the tool."""
        listing = host.names(CLASS)
        names = [name for name in listing.value or () if _CARD.fullmatch(name)]
        here = bool(names) or bool(families.is_on_bus(FAMILY, host))
        tool = host.command(COMMANDS[0]) if here else NOT_SOUGHT
        if tool.reason == NOT_INSTALLED:
            tool = host.command(COMMANDS[1])
        return Answers(
            cards={
                name: {"place": host.link(f"{CLASS}/{name}"), "card_name": host.text(f"{CLASS}/{name}/card_name")}
                for name in names
            },
            nodes=host.names("/dev") if here or may_be_here(FAMILY, host) else NOT_SOUGHT,
            version=host.text(f"{CLASS}/{names[0]}/kernel_version") if names else NOT_SOUGHT,
            tool=tool,
        )

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """A claim a device of the bus, of the driver's class and of the tool."""
        on_bus = families.on_bus(FAMILY, functions)
        told = rbln_smi.report(tool_words.printed(answers.tool))
        listed = {claim.address for claim in told.claims}
        silence = tool_words.refusal(answers.tool, " ".join(COMMANDS[0]))
        nodes = set(answers.nodes.value or ()) if answers.nodes.known else None
        claims: List[Claim] = [bus_claim(FAMILY, one, None if one.address in listed else silence) for one in on_bus]
        cards = [_card(name, files, nodes) for name, files in answers.cards.items()]
        claims += [one for one in cards if one.address is not None or not on_bus]
        if not functions and not cards and not told.claims:
            claims += [_node(name) for name in sorted(nodes or ()) if _CARD.fullmatch(name)]
        version = stripped(answers.version)
        driver = (Software("rebellions", version, CLASS),) if version and not told.software else told.software
        return Report(claims=(*claims, *told.claims), software=driver, problems=told.problems)


def _card(name: str, files: Mapping[str, Answer], nodes: Optional["set[str]"]) -> Claim:
    model = tool_words.value_of(stripped(files["card_name"]))
    place = files["place"].value if files["place"].known else ""
    here = nodes is None or name in nodes
    unusable = Silence(NOT_PRESENT, f"there is no /dev/{name} here: a container was not given it", "/dev")
    return Claim(
        vendor=FAMILY.vendor,
        kind=FAMILY.kind,
        evidence=CLASS,
        address=last_pci_address(place),
        index=int(name[4:]),
        model=model,
        ray=RayView(resource=FAMILY.resource, type=model),
        visible_env=FAMILY.visible_env,
        attributes={"device_node": f"/dev/{name}"} if here else {},
        silent={} if here else {"attributes.device_node": unusable},
    )


def _node(name: str) -> Claim:
    """A device of which nothing but its node is to be seen."""
    return Claim(
        vendor=FAMILY.vendor,
        kind=FAMILY.kind,
        evidence="/dev",
        index=int(name[4:]),
        ray=RayView(resource=FAMILY.resource),
        visible_env=FAMILY.visible_env,
        attributes={"device_node": f"/dev/{name}"},
    )
