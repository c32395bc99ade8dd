"""From where the machine is looked at: as whom, and in which namespace of processes.

`/proc/2/comm` is `kthreadd` in the host's namespace alone: https://docs.kernel.org/filesystems/proc.html
"""

from __future__ import annotations

from typing import NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading, Vantage
from raxl.model.problem import FAILED, NOT_PRESENT

_SECOND, _UPTIME = "/proc/2/comm", "/proc/uptime"
_KERNEL = "kthreadd"


class Answers(NamedTuple):
    """Whether the asking process is root's, the name of process 2, and the uptime."""

    root: Answer
    second: Answer
    uptime: Answer


def ask(host: Host) -> Answers:
    """Asks for all three."""
    return Answers(host.process("root"), host.text(_SECOND), host.text(_UPTIME))


def readings(host: Host) -> Vantage:
    """The vantage; a namespace without a process 2 is no host's."""
    answers = ask(host)
    second = answers.second
    if second.known or second.reason == NOT_PRESENT:
        sees_host = Reading(stripped(second) == _KERNEL, _SECOND)
    else:
        sees_host = Reading(None, _SECOND, second.reason, second.message)
    return Vantage(
        is_root=Reading(answers.root.value, "geteuid(2)", answers.root.reason, answers.root.message),
        sees_host_processes=sees_host,
        uptime_seconds=_uptime(answers.uptime),
    )


def _uptime(answer: Answer) -> Reading:
    words = (stripped(answer) or "").split()
    try:
        return Reading(float(words[0]), _UPTIME)
    except (IndexError, ValueError):
        return Reading(None, _UPTIME, answer.reason or FAILED, answer.message or "it holds no number of seconds")
