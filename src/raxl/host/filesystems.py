"""How full the filesystems are that jobs and Ray write to: statvfs(3), and the mounts of this process.

Of a fixed list of paths only. Standard library, Python 3.8.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Tuple

PATHS = ("/", "/dev/shm", "/tmp", "/tmp/ray", "/var")  # noqa: S108 - it is asked how full they are
_MOUNTS = "/proc/self/mounts"
_LARGEST = 1 << 22


def filesystems() -> Dict[str, Any]:
    """By path, what it is on; `errno` of a path that cannot be looked at."""
    mounts = _mounts()
    return {path: _of(path, mounts) for path in PATHS}


def _of(path: str, mounts: List[Tuple[str, str]]) -> Dict[str, Any]:
    try:
        told, real = os.statvfs(path), os.path.realpath(path)
    except OSError as error:
        return {"errno": error.errno, "message": error.strerror}
    mount, kind = max((one for one in mounts if _holds(one[0], real)), key=lambda one: len(one[0]), default=("", ""))
    return {
        "mount": mount,
        "kind": kind,
        "size_bytes": told.f_blocks * told.f_frsize,
        "available_bytes": told.f_bavail * told.f_frsize,
        "inodes": told.f_files,
        "inodes_available": told.f_favail,
        "is_read_only": bool(told.f_flag & os.ST_RDONLY),
    }


def _holds(mount: str, path: str) -> bool:
    return mount == "/" or path == mount or path.startswith(mount + "/")


def _mounts() -> List[Tuple[str, str]]:
    """Mount points with their type; of several on one point the last is seen, and stands first here."""
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(_LARGEST).splitlines()
    except OSError:
        return []
    fields = [line.split(" ") for line in reversed(lines)]
    return [(words[1], words[2]) for words in fields if len(words) > 2]
