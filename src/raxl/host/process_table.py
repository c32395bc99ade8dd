"""Processes, as far as checks go by them: those that hang in the kernel, Ray's, and who holds accelerators.

Read from /proc alone, bounded in number and in time. Of a process's arguments none is kept but those of a raylet that
`_ARGUMENTS` names, of its title the beginning of one that Ray gave it, of its environment what the allow-list names.
"""

from __future__ import annotations

import os
import re
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence

from raxl.host import allowed, package_versions

_SECONDS, _AGAIN_SECONDS = 0.9, 0.5
"""How long all of it may take, and between the two looks at what hangs."""
_MOST, _MOST_DESCRIPTORS, _MOST_TOLD, _LONGEST = 20_000, 4096, 256, 60
_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of the kernel's include/linux/sched.h."""
_RAYLET, _TITLE = "raylet", b"ray::"
_PLACE = "/dev/"
_DEVICE = re.compile(r"/dev/(nvidia\d+|kfd|dri/renderD\d+|neuron\d+|accel\d+|accel/accel\d+|vfio/\d+)")
_ARGUMENTS = re.compile(
    r"--(object_store_memory|node_manager_port|object_manager_port|min_worker_port|max_worker_port)=(\d{1,19})"
    r"|--(plasma_directory)=(/[\w./+-]{0,200})"
)
_LIMITS = {"memlock": "Max locked memory", "nofile": "Max open files"}
_LOCK = "/tmp/libtpu_lockfile"  # noqa: S108
"""What libtpu holds while a process has its chips: https://cloud.google.com/tpu/docs/troubleshooting/trouble-tf"""


class _Process(NamedTuple):
    """The beginning of /proc/PID/stat, proc(5)."""

    pid: int
    comm: str
    state: str
    parent: int
    is_kernels: bool
    started: int


def table(root: str = "") -> Dict[str, Any]:
    """What is told of the processes below `root`/proc, which is the host's where that is mounted."""
    begun = time.monotonic()
    proc = f"{root}/proc"
    found = {one.pid: one for one in _processes(proc)}
    hanging = [one for one in found.values() if one.state == "D"]
    own = {os.getpid(), os.getppid()} if not root else set()
    raylets = [one for one in found.values() if one.comm == _RAYLET and not _has_ended(proc, one)]
    table = {
        "processes": len(found),
        "raylets": [_raylet(proc, one) for one in raylets[:_MOST_TOLD]],
        "workers": list(_workers(proc, found))[:_MOST_TOLD],
        "lock": _lock(root),
        **_holders(proc, found, own, begun + _SECONDS - (_AGAIN_SECONDS if hanging else 0.0)),
    }
    return {**table, **_stuck(proc, hanging, begun)}


def _processes(proc: str) -> Iterator[_Process]:
    pids = sorted(int(name) for name in os.listdir(proc) if name.isdigit())
    for pid in pids[:_MOST]:
        one = _process(proc, pid)
        if one is not None:
            yield one


def _process(proc: str, pid: int) -> Optional[_Process]:
    text = _text(f"{proc}/{pid}/stat")
    comm, rest = text.partition("(")[2].rpartition(")")[::2]  # a name may hold brackets
    fields = rest.split()
    try:
        return _Process(pid, comm, fields[0], int(fields[1]), bool(int(fields[6]) & _KERNEL_THREAD), int(fields[19]))
    except (IndexError, ValueError):  # it has ended
        return None


def _stuck(proc: str, hanging: Sequence[_Process], begun: float) -> Dict[str, Any]:
    """Those in state D at two moments; only where there were any at the first is the second waited for."""
    if not hanging:
        return {"stuck": [], "apart_seconds": round(time.monotonic() - begun, 3)}
    time.sleep(max(0.0, begun + _AGAIN_SECONDS - time.monotonic()))
    again = {one.pid: one for one in hanging if _process(proc, one.pid) == one}
    told = [
        {
            "pid": one.pid,
            "comm": one.comm,
            "wchan": _text(f"{proc}/{one.pid}/wchan").strip("0\n ")[:_LONGEST],
            "stack": [line.strip()[:120] for line in _text(f"{proc}/{one.pid}/stack").splitlines()[:16]],
        }
        for one in again.values()
    ]
    return {"stuck": told[:_MOST_TOLD], "apart_seconds": round(time.monotonic() - begun, 3)}


def _has_ended(proc: str, one: _Process) -> bool:
    """Whether only its entry is left: where no init buries the dead (containers), it stays."""
    return one.state in "ZX" or not _data(f"{proc}/{one.pid}/cmdline", 1)


def _raylet(proc: str, one: _Process) -> Dict[str, Any]:
    folder = f"{proc}/{one.pid}"
    arguments: Dict[str, str] = {}
    for word in _text(f"{folder}/cmdline", 1 << 20).split("\0"):
        match = _ARGUMENTS.fullmatch(word)
        if match is not None:
            arguments[match[1] or match[3]] = match[2] or match[4]
    variables = _text(f"{folder}/environ", 1 << 20)
    pairs = [entry.partition("=") for entry in variables.split("\0") if entry]
    return {
        "pid": one.pid,
        "started": one.started,
        "limits": _limits(_text(f"{folder}/limits")),
        "environment": allowed.environment({name: value for name, _, value in pairs}) if variables else None,
        "arguments": arguments,
        "plasma": _filesystem(folder, arguments.get("plasma_directory", "")),
        "versions": _versions(folder),
        "is_ours": _owner(folder) == os.geteuid(),
    }


def _limits(text: str) -> Dict[str, List[int]]:
    """Soft and hard limits; -1 is unlimited, as getrlimit(2) has it."""
    found = {}
    for name, words in _LIMITS.items():
        match = re.search(rf"^{words} +(\d+|unlimited) +(\d+|unlimited)", text, re.MULTILINE)
        if match is not None:
            found[name] = [-1 if word == "unlimited" else int(word) for word in match.groups()]
    return found


def _filesystem(folder: str, directory: str) -> Optional[Dict[str, Any]]:
    """On what the raylet's object store lies, as the raylet sees it."""
    if not directory:
        return None
    best, kind = "", ""
    for line in _text(f"{folder}/mounts", 1 << 20).splitlines():
        words = line.split(" ")
        if len(words) > 2 and len(words[1]) >= len(best) and f"{directory}/".startswith(f"{words[1].rstrip('/')}/"):
            best, kind = words[1], words[2]
    try:
        told = os.statvfs(f"{folder}/root{directory}")
    except OSError:
        return {"kind": kind, "size_bytes": None}
    return {"kind": kind, "size_bytes": told.f_frsize * told.f_blocks}


def _versions(folder: str) -> Optional[Dict[str, Any]]:
    """What lies beside the Ray that the raylet is of."""
    try:
        place = os.readlink(f"{folder}/exe").partition("/ray/core/src/")[0]
    except OSError:
        return None
    return package_versions.beside(place, f"{folder}/root") if place.startswith("/") else None


def _workers(proc: str, found: Dict[int, _Process]) -> Iterator[Dict[str, Any]]:
    """Processes with a title of Ray's, `ray::IDLE`: setproctitle writes it over the arguments."""
    for one in found.values():
        title = b"" if one.is_kernels else _data(f"{proc}/{one.pid}/cmdline", 256)
        if title.startswith(_TITLE):
            word = re.split(rb"[\s\0]", title, maxsplit=1)[0].decode("utf-8", "replace")
            yield {"pid": one.pid, "parent": one.parent, "title": word[:_LONGEST]}


def _holders(proc: str, found: Dict[int, _Process], own: Any, until: float) -> Dict[str, Any]:
    """Who has an accelerator's device file open, and into how many processes nobody could look."""
    holders: List[Dict[str, Any]] = []
    denied, late = 0, 0
    for one in found.values():
        if one.is_kernels or one.state in "ZX" or one.pid in own:
            continue
        if time.monotonic() > until:
            late += 1
            continue
        try:
            nodes = _open_devices(f"{proc}/{one.pid}/fd")
        except PermissionError:
            denied += 1
            continue
        except OSError:  # it has ended
            continue
        if nodes:
            holders.append(
                {
                    "pid": one.pid,
                    "parent": one.parent,
                    "comm": one.comm,
                    "nodes": nodes[:64],
                    "is_ours": _owner(f"{proc}/{one.pid}") == os.geteuid(),
                    "is_rays": _descends(one, found),
                }
            )
    return {"holders": holders[:_MOST_TOLD], "denied": denied, "late": late}


def _open_devices(folder: str) -> List[str]:
    nodes = set()
    for name in os.listdir(folder)[:_MOST_DESCRIPTORS]:
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target.startswith(_PLACE) and _DEVICE.fullmatch(target):
            nodes.add(target)
    return sorted(nodes)


def _descends(one: _Process, found: Dict[int, _Process]) -> bool:
    """Whether a raylet is among its ancestors."""
    seen = set()
    while one.parent in found and one.pid not in seen:
        seen.add(one.pid)
        one = found[one.parent]
        if one.comm == _RAYLET:
            return True
    return False


def _lock(root: str) -> Optional[Dict[str, Any]]:
    try:
        told = os.lstat(root + _LOCK)
    except OSError:
        return None
    age = max(0, int(time.time() - told.st_mtime))
    return {"path": _LOCK, "is_ours": told.st_uid == os.geteuid(), "age_seconds": age}


def _owner(path: str) -> Optional[int]:
    try:
        return os.stat(path).st_uid
    except OSError:
        return None


def _text(path: str, limit: int = 1 << 16) -> str:
    return _data(path, limit).decode("utf-8", "replace")


def _data(path: str, limit: int) -> bytes:
    """The beginning of a file of the kernel's; empty where it cannot be read: processes come and go."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    parts, size = [], 0
    try:
        while size < limit:
            part = os.read(descriptor, limit - size)
            if not part:
                break
            parts.append(part)
            size += len(part)
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return b"".join(parts)
