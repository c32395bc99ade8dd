"""How much memory a process of this node may still take: what the kernel has, within the limits of its cgroups."""

from __future__ import annotations

import os
import re
from typing import Any, Iterator, NamedTuple

_MEMINFO = "/proc/meminfo"
_OWN_GROUPS = "/proc/self/cgroup"
_V1, _V2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"
_NO_LIMIT = 1 << 60
"""The first version writes a number near 2**63 where there is none."""


class _Files(NamedTuple):
    """Where a version of cgroups has its limit and what is used of it, and in `memory.stat` what it can have back."""

    mount: str
    limit: str
    used: str
    cache: str


_VERSIONS = {
    "memory": _Files(_V1, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    "": _Files(_V2, "memory.max", "memory.current", "inactive_file"),
}
"""By the controllers that a line of `/proc/self/cgroup` names."""


def available() -> int | None:
    """Bytes; None where the kernel does not say."""
    found = re.search(r"^MemAvailable:\s+([0-9]+) kB", _text(_MEMINFO), re.MULTILINE)
    known = [int(found[1]) * 1024] if found else []
    return min((*known, *_rooms()), default=None)


def _rooms() -> Iterator[int]:
    """What each cgroup above this process still allows."""
    for line in _text(_OWN_GROUPS).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        files = _VERSIONS.get("memory" if "memory" in controllers.split(",") else controllers)
        for folder in _above(files.mount, group) if files is not None else ():
            room = _room(folder, files)
            if room is not None:
                yield room


def _above(mount: str, group: str) -> Iterator[str]:
    """The group's folder and all above it. In a container its own may be the mount itself, whatever its name says."""
    parts = [part for part in group.split("/") if part not in ("", "..")]
    for count in range(len(parts), -1, -1):
        yield os.path.join(mount, *parts[:count])


def _room(folder: str, files: Any) -> int | None:
    limit, used = _text(f"{folder}/{files.limit}").strip(), _text(f"{folder}/{files.used}").strip()
    if not limit.isdigit() or not used.isdigit() or int(limit) >= _NO_LIMIT:
        return None
    cache = re.search(rf"^{files.cache} ([0-9]+)$", _text(f"{folder}/memory.stat"), re.MULTILINE)
    return max(0, int(limit) - int(used) + (int(cache[1]) if cache else 0))


def _text(path: str) -> str:
    """Nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
