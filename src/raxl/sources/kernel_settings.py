"""Settings of the kernel that jobs feel: https://docs.kernel.org/admin-guide/sysctl/, and how it was configured."""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.problem import FAILED
from raxl.sources.numbers import MOST_COUNT, whole

_NUMA_BALANCING, _OPEN_FILES = "/proc/sys/kernel/numa_balancing", "/proc/sys/fs/file-nr"


_RELEASE, _CONFIG = "/proc/sys/kernel/osrelease", "/boot/config-"
_OPTION = re.compile("^CONFIG_([A-Z0-9_]{1,60})=([ym])$", re.MULTILINE)


class Answers(NamedTuple):
    """Automatic NUMA balancing, the table of open files, and the kernel's configuration with its path."""

    balancing: Answer
    files: Answer
    config: Answer
    path: str


def ask(host: Host) -> Answers:
    """Asks for three files; the configuration is that of the running release."""
    path = f"{_CONFIG}{(stripped(host.text(_RELEASE)) or 'unknown').split('/')[0]}"
    return Answers(host.text(_NUMA_BALANCING), host.text(_OPEN_FILES), host.text(path), path)


def readings(host: Host) -> Mapping[str, Reading]:
    """`numa_balancing`: 0 is off. `open_files`: how many the whole system has open, and how many it may.
    `kernel_config`: `y` or `m` by the options that raxl keeps, without those that are off."""
    balancing, files, config, path = ask(host)
    mode = whole(stripped(balancing), 3)
    words = [whole(word, MOST_COUNT) for word in (stripped(files) or "").split()]
    table = (words[0], words[2]) if len(words) == 3 and None not in words else None
    return {
        "numa_balancing": _reading(mode, balancing, _NUMA_BALANCING),
        "open_files": _reading(table, files, _OPEN_FILES),
        "kernel_config": _reading(dict(_OPTION.findall(config.value)) if config.known else None, config, path),
    }


def _reading(value: object, answer: Answer, source: str) -> Reading:
    if value is None:
        return Reading(None, source, answer.reason or FAILED, answer.message or "it holds no number")
    return Reading(value, source)
