"""The blocks of lines that the InfiniBand tools print of each device: a heading, then `name: value` by port."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from raxl.intake.text_lines import joined, lines
from raxl.model.component import PciIdentity
from raxl.model.nic import Nic, Port, best_state
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.sources import infiniband
from raxl.sources.numbers import MOST_PLACES, whole

HEADINGS = {
    "ibstat": re.compile(r"\s*CA '([^']{1,64})'$"),
    "ibstatus": re.compile(r"\s*Infiniband device '([^']{1,64})' port (\d{1,5}) status:$"),
    "ibv_devinfo": re.compile(r"\s*hca_id:\s*(\S{1,64})$"),
}
"""By tool, the line that a device begins with; ibstatus names the port in it."""
_PORTS = {"ibstat": re.compile(r"\s*Port (\d{1,5}):$"), "ibv_devinfo": re.compile(r"\s*port:\s*(\d{1,5})$")}
_FIELD = re.compile(r"\s*([A-Za-z][\w /.-]{0,40}?)(?:\[ *\d{1,6}\])?:(?:\s+(.*))?$")
_FLAG = re.compile(r"[A-Z][A-Z0-9]*(?:[_ ][A-Z0-9]{1,40}){1,8}$")
"""What `ibv_devinfo -v` writes beneath its capabilities, in a text that lost its indentation."""
_PROMPT = re.compile(r"\s*(?:[^\s:]\S{0,100}[@:].{0,100})?[$#](?: |$)")
_MASKED = ("", "...", "N/A", "unknown")


class Block(NamedTuple):
    """One device: its own fields, and those of each port by number."""

    name: str
    fields: dict[str, str]
    ports: dict[int, dict[str, str]]


def blocks(text: str, tool: str) -> list[Block]:
    """Every device of one tool's output. A device that is printed twice, as ibstatus does for two ports, is one."""
    found: dict[str, Block] = {}
    fields: dict[str, str] = {}
    for heading, port, name, value in _lines(text, tool):
        if heading is not None:
            block = found.setdefault(heading, Block(heading, {}, {}))
            fields = block.ports.setdefault(port, {}) if port is not None else block.fields
        elif name is not None and value not in _MASKED:
            fields.setdefault(name.lower(), value)
    return list(found.values())


def ports(text: str, tool: str) -> list[tuple[str, int, dict[str, str]]]:
    """Every port with its device and fields, each time that it is printed: outputs of two moments may stand in it."""
    found: list[tuple[str, int, dict[str, str]]] = []
    fields: dict[str, str] = {}
    for heading, port, name, value in _lines(text, tool):
        if heading is not None:
            fields = {}
            if port is not None:
                found.append((heading, port, fields))
        elif name is not None and value not in _MASKED:
            fields.setdefault(name.lower(), value)
    return found


def own(text: str, tool: str) -> str:
    """The lines of this tool, without what stands around them."""
    return joined([line for line, _ in _belonging(text, tool)])


def _lines(text: str, tool: str) -> Iterator[tuple[str | None, int | None, str | None, str]]:
    """Headings with their port, and fields."""
    device = ""
    for line, heading in _belonging(text, tool):
        port = _PORTS[tool].match(line) if tool in _PORTS else None
        field = _FIELD.match(line)
        if heading is not None:
            device = heading[1]
            yield device, int(heading[2]) if heading.re.groups > 1 else None, None, ""
        elif port is not None:
            yield device, int(port[1]), None, ""
        elif field is not None:
            yield None, None, field[1].strip(), (field[2] or "").strip()


def _belonging(text: str, tool: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    """Each line of the tool, and its match where it is a heading.

    A device ends at another tool's heading, at a prompt, and at what is neither a field nor deeper than its heading:
    `ibv_devinfo -v` writes flags beneath a field, one a line and without a colon.
    """
    inside, depth = False, 0
    for line in lines(text):
        heading = HEADINGS[tool].match(line)
        if heading is not None:
            inside, depth = True, _depth(line)
            yield line, heading
        elif inside and line.strip():
            other = any(pattern.match(line) for name, pattern in HEADINGS.items() if name != tool)
            field = _FIELD.match(line)
            inside = not other and not _PROMPT.match(line) and bool(field or _depth(line) > depth or _FLAG.match(line))
            if inside and field:
                yield line, None


def _depth(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())


def nic(tool: str, name: str, ports: Sequence[infiniband.RdmaPort], model: str | None, vendor: str | None) -> Nic:
    """The adapter that a device is. `vendor` is its PCI vendor, where the tool names it."""
    return Nic(
        id=name,
        netdev=next((port.netdev for port in ports if port.netdev), None),
        kind=infiniband.kind({port.link_layer for port in ports}, vendor, name),
        model=model,
        state=best_state([port.state for port in ports]),
        speed_bits_per_second=max((port.speed_bits_per_second or 0 for port in ports), default=0) or None,
        ports=tuple(Port(port.number, port.netdev, port.state, port.speed_bits_per_second) for port in ports),
        evidence=(tool,),
    )


def at(one: Nic, address: str | None) -> Nic:
    """The adapter with its place."""
    return Nic(**{**vars(one), "pci": PciIdentity(address) if address else None})


def count_problems(tool: str, block: Block, stated: str | None, is_last: bool) -> Iterator[Problem]:
    """A count of ports that the block does not hold: the last block of an output may be cut off."""
    count = whole(stated, MOST_PLACES)
    if count is None or count == len(block.ports):
        return
    message = f"{tool} states {count} ports of {block.name} and shows {len(block.ports)}"
    reason = FAILED if is_last and len(block.ports) < count else DISAGREEMENT
    yield Problem(f"{block.name}.ports", reason, message, (tool,))


def link_layer(fields: Mapping[str, str], name: str) -> str | None:
    """`InfiniBand` or `Ethernet`, in the spelling of sysfs; None for `Unspecified` and where it is not told."""
    said = fields.get(name, "").lower()
    return {"infiniband": "InfiniBand", "ethernet": "Ethernet"}.get(said)
