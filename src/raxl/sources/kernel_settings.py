"""Settings of the kernel that jobs feel: https://docs.kernel.org/admin-guide/sysctl/."""

from __future__ import annotations

from typing import Mapping, Tuple

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.problem import FAILED
from raxl.sources.numbers import MOST_COUNT, whole

_NUMA_BALANCING, _OPEN_FILES = "/proc/sys/kernel/numa_balancing", "/proc/sys/fs/file-nr"


def ask(host: Host) -> Tuple[Answer, Answer]:
    """Asks for automatic NUMA balancing and for the table of open files."""
    return host.text(_NUMA_BALANCING), host.text(_OPEN_FILES)


def readings(host: Host) -> Mapping[str, Reading]:
    """`numa_balancing`: 0 is off. `open_files`: how many the whole system has open, and how many it may."""
    balancing, files = ask(host)
    mode = whole(stripped(balancing), 3)
    words = [whole(word, MOST_COUNT) for word in (stripped(files) or "").split()]
    table = (words[0], words[2]) if len(words) == 3 and None not in words else None
    return {
        "numa_balancing": _reading(mode, balancing, _NUMA_BALANCING),
        "open_files": _reading(table, files, _OPEN_FILES),
    }


def _reading(value: object, answer: Answer, source: str) -> Reading:
    if value is None:
        return Reading(None, source, answer.reason or FAILED, answer.message or "it holds no number")
    return Reading(value, source)
