"""Files that set variables of NCCL and of RCCL: the user's, then the system's, below the process's own environment.

https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html; `src/misc/param.cc` of both libraries: each file
sets what is not set yet, hence the environment wins over the user's file, that over the system's, and of a name that
stands in a file twice the first line. Quotes and `export` mean nothing there.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, NamedTuple, Tuple

from raxl.host import Answer, Host
from raxl.host.nccl_files import LIBRARIES
from raxl.model.facts import Reading
from raxl.model.problem import FAILED

SYSTEM = {name: f"/etc/{name}.conf" for name in LIBRARIES}
_QUESTION = "nccl_user_files"


class Answers(NamedTuple):
    """The user's files by library, and the system's."""

    user: Answer
    system: Mapping[str, Answer]


def ask(host: Host) -> Answers:
    """Asks for both."""
    return Answers(host.process(_QUESTION), {name: host.text(path) for name, path in SYSTEM.items()})


def readings(host: Host) -> Dict[str, Tuple[Reading, ...]]:
    """By library, of its two files in the order in which they count: the variables by name, and the file as the
    source. A file that is not there says `not-present`."""
    answers = ask(host)
    return {name: (_user(name, answers.user), _system(SYSTEM[name], answers.system[name])) for name in LIBRARIES}


def _system(path: str, answer: Answer) -> Reading:
    return Reading(_variables(answer.value) if answer.known else None, path, answer.reason, answer.message)


def _user(name: str, answer: Answer) -> Reading:
    shown = f"~/.{name}.conf"
    if not answer.known:
        return Reading(None, shown, answer.reason, answer.message)
    told: Any = answer.value.get(name)
    if not isinstance(told, dict) or not isinstance(told.get("path"), str):  # a recording may be edited
        return Reading(None, shown, FAILED, "the recording holds no such file")
    if isinstance(told.get("text"), str):
        return Reading(_variables(told["text"]), told["path"])
    return Reading(None, told["path"], str(told.get("reason", FAILED)), str(told.get("message", "")))


def _variables(text: str) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for line in text.split("\n"):
        name, sign, value = line.partition("=")
        if sign:
            found.setdefault(name, value)
    return found
