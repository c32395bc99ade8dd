"""The device files of accelerators and RDMA adapters: stat(2) and access(2), none is opened."""

from __future__ import annotations

from typing import Any, Optional

from raxl.host import Answer, Host
from raxl.model.facts import Reading
from raxl.model.machine import DeviceNode

SOURCE = "stat(2) of /dev"
_MOST = 4096


def ask(host: Host) -> Answer:
    """Asks for all of them at once."""
    return host.process("device_nodes")


def reading(host: Host) -> Reading:
    """By path, the device files that are there."""
    answer = ask(host)
    if not answer.known:
        return Reading(None, SOURCE, answer.reason, answer.message)
    found = {str(path): node for path, told in list(answer.value.items())[:_MOST] if (node := _node(told))}
    return Reading(found, SOURCE)


def _node(told: Any) -> Optional[DeviceNode]:
    """None where an edited recording holds something else."""
    if not isinstance(told, list) or len(told) != 6 or not all(isinstance(one, int) for one in told):
        return None
    mode, owner, group, major, minor, may_open = told
    return DeviceNode(mode, owner, group, major, minor, bool(may_open))
