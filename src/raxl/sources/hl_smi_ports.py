"""`hl-smi -n link -i ADDRESS` and `hl-smi -n ports -i ADDRESS`: the RoCE ports of a Gaudi, up or down, in or out.

A line a port, `port  0:  UP` or `port 8: external`; the device stands in what was typed, or in a line above. Without
`-P`, `-n link` shows the ports inside the machine alone.
"""

from __future__ import annotations

import re
from typing import Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from raxl.model.accelerator import RayView
from raxl.model.identity import pci_address
from raxl.model.link import fabric_class
from raxl.model.problem import DISAGREEMENT, FAILED, NOT_SUPPORTED, Problem
from raxl.model.report import Claim, LinkClaim
from raxl.sources.gaudi import GAUDI, RAY_TYPE, Attributes
from raxl.sources.tool_words import lines

FORM = "hl-smi -n"
LINK, PORTS = ("hl-smi", "-n", "link", "-i"), ("hl-smi", "-n", "ports", "-i")
_PORT = re.compile(r"\s*port\s{0,4}([0-9]{1,3})\s*:\s*(UP|DOWN|internal|external)\s*", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<![0-9a-fA-F:.])((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?![0-9a-fA-F])")
_MESH = 8
"""Modules of a base board, each joined with every other by as many of its ports inside:
https://docs.habana.ai/en/latest/Gaudi_Overview/Gaudi_Architecture.html"""
_PORT_BITS = {"Gaudi2": 100_000_000_000, "Gaudi3": 200_000_000_000}
"""Bits per second of one port in one direction."""


class Ports(NamedTuple):
    """The ports of one device."""

    address: Optional[str]
    up: Set[int]
    down: Set[int]
    internal: Set[int]
    external: Set[int]

    @property
    def inside(self) -> Optional[Set[int]]:
        """Which ports lead to the other devices of the machine: those that are called so, else all of whose link is
        shown; None where neither was printed."""
        return self.internal or (self.up | self.down) - self.external or None


def recognises(text: str) -> bool:
    """Whether two lines of ports stand in the text, and nothing says that they are a switch's."""
    return sum(1 for line in lines(text) if _PORT.fullmatch(line)) > 1


def own(text: str) -> str:
    """The lines of ports, and the address above each device's."""
    kept: List[str] = []
    for line in lines(text):
        found = _ADDRESS.search(line)
        if _PORT.fullmatch(line):
            kept.append(line)
        elif found:
            kept.append(found[1])
    return "".join(f"{line}\n" for line in kept)


def read(text: str) -> List[Ports]:
    """The devices, in the text's order."""
    found: Dict[Optional[str], Ports] = {}
    address: Optional[str] = None
    for line in lines(text):
        port, place = _PORT.fullmatch(line), _ADDRESS.search(line)
        if port:
            ports = found.setdefault(address, Ports(address, set(), set(), set(), set()))
            word = port[2].lower()
            getattr(ports, word).add(int(port[1]))
        elif place:
            address = pci_address(place[1])
    return list(found.values())


def claims(devices: Iterable[Ports], form: str) -> List[Claim]:
    """How many ports each device has inside and outside, and how many of them are up."""
    made = []
    for ports in devices:
        attributes: Attributes = {}
        inside = ports.inside
        if inside is not None:
            attributes["roce_ports_internal"] = len(inside)
            if ports.up | ports.down:
                attributes["roce_ports_internal_up"] = len(inside & ports.up)
        if ports.external:
            attributes["roce_ports_external"] = len(ports.external)
        down = sorted(ports.down)
        if down:
            attributes["roce_ports_down"] = ",".join(map(str, down))
        made.append(
            Claim(
                vendor=GAUDI.vendor,
                kind=GAUDI.kind,
                evidence=form,
                address=ports.address,
                ray=RayView(resource=GAUDI.resource),
                visible_env=GAUDI.visible_env,
                attributes=attributes,
                silent={"ray.type": RAY_TYPE},
            )
        )
    return made


def damage(devices: Iterable[Ports], form: str) -> List[Problem]:
    """Ports that are told both up and down, or of no device."""
    problems = []
    for ports in devices:
        both = sorted(ports.up & ports.down)
        if both:
            message = f"{ports.address or 'a device'}: ports {both} are told both up and down"
            problems.append(Problem("links", DISAGREEMENT, message, (form,)))
        if ports.address is None:
            problems.append(Problem("links", FAILED, "nothing says of which device the ports are", (form,)))
    return problems


def links(
    devices: Sequence[Ports], architectures: Mapping[str, Optional[str]], form: str
) -> Tuple[List[LinkClaim], List[Problem]]:
    """The pairs of a machine whose devices were all asked.

    The tool names no port's other end. On a base board of eight every device is joined with every other by equally
    many: only where all ports inside are up at all of them is the count of a pair known. `architectures`: by address.
    """
    told = {ports.address: ports for ports in devices if ports.address and ports.up | ports.down}
    every = sorted(architectures)
    inside = {address: len(ports.inside or ()) for address, ports in told.items()}
    whole = all(address in told and not (told[address].inside or set()) - told[address].up for address in every)
    count = inside[every[0]] // (_MESH - 1) if every and whole else 0
    is_mesh = len(every) == _MESH and whole and set(inside.values()) == {count * (_MESH - 1)} and count > 0
    joined = [address for address in every if inside.get(address)]
    pairs = [(a, b) for place, a in enumerate(joined) for b in joined[place + 1 :]]
    made = [_link(a, b, count if is_mesh else None, architectures.get(a), form) for a, b in pairs]
    if not pairs or is_mesh:
        return made, []
    message = "hl-smi tells how many ports of a device are up, not to which device each of them leads"
    return made, [Problem("links.count", NOT_SUPPORTED, message, (form,))]


def _link(a: str, b: str, count: Optional[int], architecture: Optional[str], form: str) -> LinkClaim:
    rate = _PORT_BITS.get(architecture or "")
    return LinkClaim(
        a,
        b,
        link_class=fabric_class("roce", count),
        kind="roce",
        count=count,
        bandwidth_bytes_per_second=rate // 8 * count if rate and count else None,
        bandwidth_source="nominal" if rate and count else None,
        evidence=form,
    )
