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
_STATES = ("DOWN", "INIT", "ARMED", "ACTIVE_DEFER", "ACTIVE")
_STATE, _RATE = ("state", "physical_state"), ("rate", "speed")
"""Readings that belong together."""
_ROUNDED = 0.06
"""Tools round a speed differently, and some count what the coding takes."""
_INITIALIZING = "INITIALIZING"
"""What ibstat calls the state that the kernel calls INIT."""


Ports = Mapping[str, Mapping[str, Reading]]


def readings(host: Host) -> list[Ports]:
    """Of each tool: by port, and by device alone where the tool died on it: its state could not be read."""
    return [
        _of_tool(tool, names, host.document(tool).value) for tool, names in _TOOLS.items() if host.document(tool).known
    ]


def _of_tool(tool: str, names: _Names, text: str) -> Ports:
    """What one tool says; of a port that it was asked of twice, the worse."""
    printed = rdma_blocks.ports(text, tool)
    found = worse(*({f"{device}/{number}": _port(tool, names, fields)} for device, number, fields in printed))
    if tool != ibstat.FORM:
        return found
    died = {
        name: {"state": Reading(None, tool, FAILED, f"{tool} ended on it: {words}")}
        for name, words in ibstat.failures(text).items()
    }
    return {**died, **found}


def worse(*told: Ports) -> dict[str, dict[str, Reading]]:
    """What several sources say of each port, the first one first; of its state and of its rate what is worse."""
    found: dict[str, dict[str, Reading]] = {}
    for source in told:
        for port, theirs in source.items():
            mine = found.setdefault(port, {})
            for group, is_worse in ((_STATE, _is_lower), (_RATE, _is_slower)):
                if is_worse(mine, theirs):
                    mine.update({name: theirs[name] for name in group if name in theirs})
            for name, reading in theirs.items():
                if name not in mine or not mine[name].known:
                    mine[name] = reading
    return found


def _is_lower(mine: Mapping[str, Reading], theirs: Mapping[str, Reading]) -> bool:
    own, other = _height(mine), _height(theirs)
    return own is not None and other is not None and other < own


def _height(port: Mapping[str, Reading]) -> int | None:
    """How much of a link a state is, the least for one that is down; None where it is not known."""
    state, physical = port.get("state"), port.get("physical_state")
    if state is None or state.value not in _STATES:
        return None
    is_broken = physical is not None and physical.known and physical.value != "LinkUp"
    return 2 * _STATES.index(state.value) - is_broken


def _is_slower(mine: Mapping[str, Reading], theirs: Mapping[str, Reading]) -> bool:
    own, other = (port["speed"].value if "speed" in port else None for port in (mine, theirs))
    return bool(own and other and other < own * (1 - _ROUNDED))


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
