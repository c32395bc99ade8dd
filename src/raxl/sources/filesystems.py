"""How full the filesystems are that jobs and Ray write to: statvfs(3) of a fixed list of paths."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from raxl.host import Answer, Host
from raxl.model.facts import Reading
from raxl.model.machine import Filesystem
from raxl.model.problem import FAILED, NOT_PERMITTED, NOT_PRESENT
from raxl.sources.numbers import MOST_COUNT

SOURCE = "statvfs(3)"
_ENOENT, _ENOTDIR, _EACCES = 2, 20, 13
_COUNTS = ("size_bytes", "available_bytes", "inodes", "inodes_available")


def ask(host: Host) -> Answer:
    """Asks for all of them at once."""
    return host.process("filesystems")


def readings(host: Host) -> Mapping[str, Reading]:
    """By path what it is on; where they were not asked for, by the path `/` why."""
    answer = ask(host)
    if not answer.known:
        return {"/": Reading(None, SOURCE, answer.reason, answer.message)}
    return {str(path): _of(str(path), told) for path, told in list(answer.value.items())[:64]}


def _of(path: str, told: Any) -> Reading:
    source = f"{SOURCE} of {path}"
    if not isinstance(told, dict):
        return Reading(None, source, FAILED, "the recording does not hold it")  # it may have been edited
    if told.get("errno") is not None:
        number = told["errno"]
        reason = NOT_PRESENT if number in (_ENOENT, _ENOTDIR) else NOT_PERMITTED if number == _EACCES else FAILED
        return Reading(None, source, reason, str(told.get("message", "")))
    counts = [_count(told.get(name)) for name in _COUNTS]
    size, available, inodes, inodes_available = (count if count is not None else 0 for count in counts)
    if None in counts[:2] or available > size:
        return Reading(None, source, FAILED, "it tells no size")
    kind, mount = str(told.get("kind", "")), str(told.get("mount", ""))
    return Reading(
        Filesystem(mount, kind, size, available, inodes, inodes_available, told.get("is_read_only") is True), source
    )


def _count(value: object) -> Optional[int]:
    return value if isinstance(value, int) and 0 <= value <= MOST_COUNT else None
