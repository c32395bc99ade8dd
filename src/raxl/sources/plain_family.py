"""Families of which raxl reads the bus and the driver's nodes below /dev, and no tool: one small plug-in each.

Standard library, Python 3.8: plug-ins run on bare nodes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import List, NamedTuple, Optional, Sequence, Tuple

from raxl.host import Answer, Host, stripped
from raxl.model.accelerator import RayView
from raxl.model.component import PciFunction
from raxl.model.node import Software
from raxl.model.presence import Presence
from raxl.model.problem import DISAGREEMENT, NOT_APPLICABLE, NOT_ASKED, NOT_PRESENT, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim, Report, Silence
from raxl.sources import families, pci
from raxl.sources.families import Family

UNREAD = Silence(NOT_SUPPORTED, "raxl reads no tool of this vendor: the bus does not tell it")
_UNPLACED = Silence(NOT_SUPPORTED, "without the bus, nothing says that a node's number is the runtime's")
_UNNUMBERED = Silence(NOT_SUPPORTED, "nothing says which of the nodes below /dev is this device's")


NOT_SOUGHT = Answer(None, NOT_ASKED, "no device of the family is here")


class Answers(NamedTuple):
    """The folder of the driver's nodes, and its version."""

    nodes: Answer
    version: Answer


class PlainFamily:
    """What the plug-ins of these families share; each gives its names and numbers."""

    vendor: str
    family: str
    described: Family
    folder = "/dev"
    node: Optional[str] = None
    """A regular expression of the driver's nodes, one of them a device; its group is the device's number."""
    is_node_alone_enough = False
    """Whether no other driver has nodes of that name, so that one is a device even where the bus cannot be read."""
    fabric: Optional[str] = None
    """What may join two of them, and raxl asks nobody whether it does: the PCIe path would be a wrong answer."""
    custom_resource: Optional[str] = None
    """A name for the custom resource that an operator declares, where Ray does not know the family."""

    def probe(self, host: Host) -> Presence:
        """Looks on the bus, and at a folder that only the driver makes."""
        return families.probe(self.described, host, () if self.folder == "/dev" else (self.folder,))

    def ask(self, host: Host) -> Answers:
        """Asks for the driver's nodes and its version where a device may be here."""
        module = self.described.drivers[0] if self.described.drivers else None
        here = may_be_here(self.described, host)
        return Answers(
            nodes=host.names(self.folder) if self.node and here else NOT_SOUGHT,
            version=host.text(f"/sys/module/{module}/version") if module and here else NOT_SOUGHT,
        )

    def parse(self, answers: Answers, functions: Sequence[PciFunction]) -> Report:
        """One claim a device on the bus; one a node where the bus is not to be had."""
        on_bus = families.on_bus(self.described, functions)
        nodes = numbered(answers.nodes, self.node)
        only = nodes[0][0] if len(nodes) == len(on_bus) == 1 and all(one.vendor_id for one in functions) else None
        claims = [self.claimed(function, only, bool(nodes)) for function in on_bus]
        if not functions and self.is_node_alone_enough:
            claims = [self.of_node(name) for _, name in nodes]
        links, problems = self._withheld(on_bus)
        if on_bus and nodes and len(nodes) != len(on_bus):
            problems.append(self._uneven(len(on_bus), nodes))
        version = stripped(answers.version)
        driver = (self.described.drivers or ("",))[0]
        return Report(
            claims=tuple(claims),
            links=tuple(links),
            software=(Software(driver, version, f"/sys/module/{driver}/version"),) if version and claims else (),
            problems=tuple(problems),
        )

    def claimed(self, function: PciFunction, index: Optional[int], has_nodes: bool) -> Claim:
        """What the bus says of a device; `index` is its number where there is one device and one node."""
        claim = bus_claim(self.described, function, UNREAD)
        silent = {**claim.silent, **self.unregistered()}
        if index is not None:
            silent.pop("index", None)
        elif has_nodes:
            silent["index"] = _UNNUMBERED
        return replace(claim, index=index, silent=silent, attributes={**claim.attributes, **self.suggested()})

    def of_node(self, name: str) -> Claim:
        """A device of which nothing but its node is to be seen."""
        return Claim(
            vendor=self.vendor,
            kind=self.described.kind,
            evidence="/dev",
            ray=RayView(resource=self.described.resource),
            visible_env=self.described.visible_env,
            attributes={"device_node": f"{self.folder}/{name}", **self.suggested()},
            silent={**self.unregistered(), "index": _UNPLACED},
        )

    def unregistered(self) -> "dict[str, Silence]":
        """Why Ray has no name for it, and why no variable hides it."""
        silent = {}
        if self.described.resource is None:
            message = "Ray knows no such family: declare a custom resource"
            silent.update(dict.fromkeys(("ray.resource", "ray.type"), Silence(NOT_APPLICABLE, message)))
        if self.described.visible_env is None:
            silent["visible_env"] = Silence(NOT_SUPPORTED, "no variable that hides its devices is known")
        return silent

    def suggested(self) -> "dict[str, str | int | float | bool | None]":
        """The custom resource's name, among the attributes."""
        return {"custom_resource": self.custom_resource} if self.custom_resource else {}

    def _withheld(self, on_bus: Sequence[PciFunction]) -> Tuple[List[LinkClaim], List[Problem]]:
        able = [one.address for one in on_bus if one.evidence in pci.BUS_ALONE]
        if self.fabric is None or len(able) < 2:
            return [], []
        evidence = on_bus[0].evidence
        message = f"{self.fabric} may join them, and raxl asks nobody whether it does"
        links = [LinkClaim(a, b, None, None, evidence=evidence) for a, b in combinations(able, 2)]
        return links, [Problem("links", NOT_SUPPORTED, message, (evidence,))]

    def _uneven(self, devices: int, nodes: Sequence[Tuple[int, str]]) -> Problem:
        """A container may be given fewer nodes than there are devices; more than there are is a contradiction."""
        message = f"{devices} on the bus, {len(nodes)} below {self.folder}: {', '.join(name for _, name in nodes[:16])}"
        reason = DISAGREEMENT if len(nodes) > devices else NOT_PRESENT
        return Problem("accelerators", reason, message, ("sysfs", self.folder))


def bus_claim(family: Family, function: PciFunction, silence: Optional[Silence]) -> Claim:
    """What the bus says of a device of a family whose driver's name is not public: any driver may be its own, but for
    those that hand a device on."""
    if function.driver is not None and not family.drivers and function.driver not in families.HANDED_ON:
        family = family._replace(drivers=(function.driver,))
    return families.claim(family, function, silence)


def may_be_here(family: Family, host: Host) -> bool:
    """Whether a device of the family is on the bus, or no bus is to be seen, as in some containers."""
    return families.is_on_bus(family, host) is not False or not host.names(pci.FOLDER).value


def numbered(answer: Answer, pattern: Optional[str]) -> List[Tuple[int, str]]:
    """The nodes of a folder that a pattern matches whole, by their numbers."""
    names = answer.value if pattern and answer.known else ()
    found = [(re.fullmatch(pattern or "", name), name) for name in names]
    return sorted((int(one[1]), name) for one, name in found if one)
