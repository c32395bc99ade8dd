"""`ibnetdiscover` of infiniband-diags: the whole InfiniBand fabric, switch by switch and adapter by adapter.

https://man7.org/linux/man-pages/man8/ibnetdiscover.8.html. It says how fast each link runs, and no port's state. An
adapter's description is its host's name and its device's, which the kernel's driver or `rdma-ndd` has put there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from raxl.intake import rdma_blocks
from raxl.intake.foreign import Foreign
from raxl.intake.text_lines import joined, lines
from raxl.model.problem import NOT_ASKED, Problem
from raxl.sources.infiniband import RdmaPort

FORM = "ibnetdiscover"
_HEADING = re.compile(r'\s*(Switch|Ca|Rt)\s{1,8}\d{1,4} "([SHR]-[0-9a-f]{1,16})"\s{1,40}# "([^"]{0,200})"(.*)')
_PORT = re.compile(r'\s*\[(\d{1,4})\](?:\([0-9a-f]{1,16}\))?\s{1,8}"([SHR]-[0-9a-f]{1,16})"\[\d{1,4}\](.*)')
_SPEED = re.compile(r"\b(\d{1,2})x(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR)\b")
_LANE = {"SDR": 2.5, "DDR": 5, "QDR": 10, "FDR10": 10, "FDR": 14, "EDR": 25, "HDR": 50, "NDR": 100, "XDR": 200}
"""Gb/s of one lane, as the kernel rounds them."""
_HOST = re.compile(r"(\S{1,64}) ((?:[a-z]{2,8}\d|HCA-)[\w.-]{0,32})")
_ID = re.compile(r"\s*(vendid|devid|sysimgguid|switchguid|caguid|rtguid)=(\S{1,40})")
_AGGREGATION = "Aggregation Node"
"""The reduction engine inside a switch, which the fabric shows as an adapter: no host's."""


class Node(NamedTuple):
    """A switch or an adapter of the fabric, with its lines."""

    guid: str
    """`S-…` or `H-…`"""
    description: str
    device_id: int | None
    ports: dict[int, int | None]
    """By number, the bits per second at which the link runs; ports without a link are not shown."""
    peers: dict[int, str]
    lines: list[str]

    @property
    def place(self) -> tuple[str | None, str]:
        """The host that an adapter is in, and what it calls it; without a host the GUID is its name."""
        found = _HOST.fullmatch(self.description.strip())
        return (found[1], found[2]) if found else (None, "0x" + self.guid[2:])


class Fabric(NamedTuple):
    """All that one run of the tool discovered."""

    switches: tuple[Node, ...]
    adapters: tuple[Node, ...]


def recognises(text: str) -> bool:
    """Whether a switch or an adapter is in it as ibnetdiscover prints one."""
    return any(_HEADING.fullmatch(line) for line in lines(text))


def own(text: str) -> str:
    """The switches and adapters, without what stands around them."""
    found = fabric(text)
    return joined([line for node in (*found.switches, *found.adapters) for line in (*node.lines, "")])


def machines(text: str) -> list[str]:
    """The fabric by machine: the adapters of each host, then those of which no host is told."""
    hosts: dict[str, list[Node]] = {}
    for adapter in fabric(text).adapters:
        if _AGGREGATION not in adapter.description:
            hosts.setdefault(adapter.place[0] or "", []).append(adapter)
    parts = [hosts[name] for name in sorted(hosts, key=lambda name: (not name, name))]
    return [joined([line for adapter in part for line in (*adapter.lines, "")]) for part in parts] or [text]


def parse(text: str) -> tuple[Foreign, tuple[Problem, ...]]:
    """The adapters of the first host that the text names: `machines` gives each host a text of its own."""
    adapters = [one for one in fabric(text).adapters if _AGGREGATION not in one.description]
    host = next((one.place[0] for one in adapters if one.place[0]), None)
    mine = [one for one in adapters if one.place[0] == host]
    found = {}
    for one in mine:
        name = one.place[1] if one.place[1] not in found else "0x" + one.guid[2:]
        model = f"MT{one.device_id}" if one.device_id else None
        ports = [RdmaPort(number, "unknown", speed, "InfiniBand", None) for number, speed in sorted(one.ports.items())]
        found[name] = rdma_blocks.nic(FORM, name, ports, model, None)
    problems = []
    if len(mine) < len(adapters):
        message = f"the fabric holds {len(adapters) - len(mine)} adapters of other hosts: they are left out"
        problems.append(Problem("nics", NOT_ASKED, message, (FORM,)))
    nics = tuple(found[name] for name in sorted(found, key=_in_order))
    return Foreign(FORM, hostname=host, nics=nics), tuple(problems)


def _in_order(name: str) -> tuple[tuple[int, str], ...]:
    """Numbers in a name by their size: mlx5_10 after mlx5_9."""
    return tuple((len(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", name))


def fabric(text: str) -> Fabric:
    """Every switch and adapter with its links."""
    nodes = {node.guid: node for node in _nodes(text)}
    switches = tuple(node for guid, node in nodes.items() if guid.startswith("S"))
    return Fabric(switches, tuple(node for guid, node in nodes.items() if guid.startswith("H")))


def _nodes(text: str) -> Iterator[Node]:
    node: Node | None = None
    before: list[str] = []
    for line in lines(text):
        heading, port, stated = _HEADING.fullmatch(line), _PORT.fullmatch(line), _ID.match(line)
        if stated is not None:
            before = [] if stated[1] == "vendid" else before
            before.append(line)
        elif heading is not None:
            if node is not None:
                yield node
            node = Node(heading[2], heading[3], _device(before), {}, {}, [*before, line])
            before = []
        elif port is not None and node is not None:
            node.ports[int(port[1])] = _bits_per_second(port[3])
            node.peers[int(port[1])] = port[2]
            node.lines.append(line)
    if node is not None:
        yield node


def _device(before: list[str]) -> int | None:
    """The device's part number, of NVIDIA's adapters alone: `MT4129` is 0x1021."""
    said = dict(line.strip().split("=", 1) for line in before)
    number = re.fullmatch("0x([0-9a-f]{1,4})", said.get("devid", ""))
    return int(number[1], 16) if number and said.get("vendid") == "0x2c9" else None


def _bits_per_second(words: str) -> int | None:
    found = _SPEED.search(words)
    return round(int(found[1]) * _LANE[found[2]] * 10**9) or None if found else None
