"""What the InfiniBand tools say of each port, under the names that `raxl.sources.rdma_ports` gives it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from raxl.host import Host
from raxl.intake import ibstat, ibstatus, ibv_devinfo, rdma_blocks
from raxl.model.facts import Reading
from raxl.model.problem import FAILED
from raxl.sources.infiniband import speed_of_rate
from raxl.sources.numbers import MOST_PLACES, whole

_FASTEST = 10_000
"""Gigabits per second, more than any port carries."""
_MTU = re.compile(r"([0-9]{3,5})\b")


class _Names(NamedTuple):
    """How a tool calls the fields."""

    state: str
    physical_state: str
    link_layer: str
    lid: str
    sm_lid: str


_TOOLS = {
    ibstat.FORM: _Names("state", "physical state", "link layer", "base lid", "sm lid"),
    ibstatus.FORM: _Names("state", "phys state", "link_layer", "base lid", "sm lid"),
    ibv_devinfo.FORM: _Names("state", "phys_state", "link_layer", "port_lid", "sm_lid"),
}
_INITIALIZING = "INITIALIZING"
"""What ibstat calls the state that the kernel calls INIT."""


def readings(host: Host) -> dict[str, dict[str, Reading]]:
    """By port, and by device alone where the tool died on it: its state could not be read."""
    found: dict[str, dict[str, Reading]] = {}
    for tool, names in _TOOLS.items():
        answer = host.document(tool)
        if not answer.known:
            continue
        for block in rdma_blocks.blocks(answer.value, tool):
            for number, fields in block.ports.items():
                port = found.setdefault(f"{block.name}/{number}", {})
                for name, reading in _port(tool, names, fields).items():
                    port.setdefault(name, reading)
        if tool == ibstat.FORM:
            for name, words in ibstat.failures(answer.value).items():
                found.setdefault(name, {"state": Reading(None, tool, FAILED, f"{tool} ended on it: {words}")})
    return found


def _port(tool: str, names: _Names, fields: Mapping[str, str]) -> dict[str, Reading]:
    told = {
        "state": _state(fields.get(names.state)),
        "physical_state": _word(fields.get(names.physical_state)),
        "link_layer": rdma_blocks.link_layer(fields, names.link_layer),
        "lid": fields.get(names.lid),
        "sm_lid": fields.get(names.sm_lid),
        "rate": fields.get("rate"),
        "speed": _speed(tool, fields),
        "active_mtu": _mtu(fields.get("active_mtu")),
    }
    return {name: Reading(value, tool) for name, value in told.items() if value is not None}


def _state(text: str | None) -> str | None:
    """`ACTIVE` of `4: ACTIVE`, `Active`, `PORT_ACTIVE (4)`."""
    word = (_word(text) or "").upper().removeprefix("PORT_").split(" ")[0]
    return "INIT" if word == _INITIALIZING else word or None


def _word(text: str | None) -> str | None:
    """`LinkUp` of `5: LinkUp`, `LinkUp`, `LINK_UP (5)`."""
    word = (text or "").partition(":")[2].strip() or (text or "").strip()
    return {"LINK_UP": "LinkUp", "DISABLED": "Disabled", "POLLING": "Polling"}.get(word.split(" ")[0], word) or None


def _speed(tool: str, fields: Mapping[str, str]) -> int | None:
    if tool == ibv_devinfo.FORM:
        return ibv_devinfo.bits_per_second(fields)
    if tool == ibstatus.FORM:
        return speed_of_rate(fields.get("rate"))
    rate = whole(fields.get("rate"), _FASTEST)
    return rate * 10**9 if rate else None


def _mtu(text: str | None) -> int | None:
    found = _MTU.match(text or "")
    return whole(found[1], MOST_PLACES) if found else None
