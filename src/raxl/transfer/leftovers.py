"""What a process holds, so that one can say later what a fault left in it."""

from __future__ import annotations

import os
from typing import Any, Sequence

_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - its files are counted


def held(state: dict[str, Any]) -> dict[str, int | None]:
    """`memory_bytes` resident, `sockets` open, and `shared_memory_bytes` of all files in the node's /dev/shm."""
    return {"memory_bytes": _resident(), "sockets": _sockets(), "shared_memory_bytes": _shared()}


def alive(state: dict[str, Any], pids: Sequence[int]) -> list[int]:
    """Which of these processes of the node are there and no zombies."""
    return [pid for pid in pids if _is_alive(pid)]


def signalled(state: dict[str, Any], pid: int, number: int) -> None:
    """Sends a signal to a process of the node."""
    os.kill(pid, number)


def _is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False


def _resident() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _sockets() -> int | None:
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        return None
    found = 0
    for name in names:
        try:
            found += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
        except OSError:
            continue
    return found


def _shared() -> int | None:
    total = 0
    try:
        for one in os.scandir(_SHARED_MEMORY):
            total += one.stat().st_blocks * 512
    except OSError:
        return None
    return total
