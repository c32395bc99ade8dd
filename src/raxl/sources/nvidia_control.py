"""Whether NVIDIA's control file can be opened: a container that lost its device list is told by nothing else."""

from __future__ import annotations

from raxl.host import Answer, Host
from raxl.model.facts import Reading

SOURCE = "open(2) of /dev/nvidiactl"


def ask(host: Host) -> Answer:
    """Asks for the errno of opening it."""
    return host.process("nvidia_control")


def reading(host: Host) -> Reading:
    """`EPERM`, `ENOENT` …; empty where it opens."""
    answer = ask(host)
    if not answer.known:
        return Reading(None, SOURCE, answer.reason, answer.message)
    return Reading(str(answer.value.get("name", "")), SOURCE)
