"""Room for shared memory and for what Ray writes to disk."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.checks import P0, Case, Verdict, check, evidence, fail, ok, skip, unread, warn
from raxl.checks.words import listed, size
from raxl.model.facts import NOT_READ, Reading
from raxl.model.finding import QUICK
from raxl.model.machine import Filesystem
from raxl.model.problem import NOT_PRESENT

_SHM = "/dev/shm"  # noqa: S108 - it is told how large it is
_PREFIX = "filesystem "
_IMAGES = ("squashfs", "erofs", "iso9660", "overlay", "cramfs")
"""What roots are mounted from that are meant to stay as they are."""


@check(
    "host.shm",
    "Shared memory has room for collectives and Ray's object store",
    P0,
    QUICK,
    "config",
    reference="https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory",
)
def shm(case: Case, fail_bytes: float = 64 << 20) -> Iterator[Verdict]:
    """Processes of a node talk through /dev/shm, and Ray keeps its objects there: 64 MiB, what docker and Kubernetes
    give a container, are too little for either. NCCL then fails, and Ray's store goes to /tmp.

    Read: statvfs(3) of /dev/shm. It fails on a node with accelerators from `fail_bytes` down (docker's default), and
    where there is no /dev/shm at all.

    Not to be confused: what is used of it counts against the container's memory limit. Whether Ray's object store fits
    is another check.
    """
    whole = case.facts.host.get(f"{_PREFIX}/", NOT_READ)
    reading = case.facts.host.get(f"{_PREFIX}{_SHM}", NOT_READ if whole.known else whole)
    remedy = "docker: --shm-size=16g (or --ipc=host); Kubernetes, KubeRay: an emptyDir with medium: Memory at /dev/shm"
    if reading.source.endswith(_SHM) and reading.reason == NOT_PRESENT and case.node.accelerators:
        words = "there is no /dev/shm: NCCL and Ray's object store have no shared memory"
        yield fail(_SHM, words, remedy=remedy, remedy_class="config")
        return
    if not reading.known or not isinstance(reading.value, Filesystem):
        yield unread(_SHM, "the size of /dev/shm", reading)
        return
    found: Filesystem = reading.value
    used = found.size_bytes - found.available_bytes
    told = evidence(reading, f"size {size(found.size_bytes)}, used {size(used)}, type {found.kind}")
    if not case.node.accelerators:
        yield skip(_SHM, f"{_SHM} has {size(found.size_bytes)}, and the node has no accelerators")
    elif found.size_bytes <= fail_bytes:
        words = (
            f"{_SHM} has {size(found.size_bytes)}, {size(used)} of it used: NCCL between processes needs more, and "
            "Ray's object store goes to /tmp"
        )
        yield fail(_SHM, words, told, remedy=f"df -h /dev/shm; {remedy}", remedy_class="config")
    else:
        yield ok(_SHM, f"{_SHM} has {size(found.size_bytes)}, {size(found.available_bytes)} free", told)


@check(
    "host.disk",
    "Filesystems have room and can be written to",
    P0,
    QUICK,
    "config",
    reference="https://docs.ray.io/en/latest/ray-core/objects/object-spilling.html",
)
def disk(case: Case, warn_share: float = 0.90, fail_share: float = 0.95) -> Iterator[Verdict]:
    """Ray stops to create objects where the disk of its folder is 95 % full, and a full root stops everything else.

    Read: statvfs(3) of /, /tmp, /tmp/ray and /var, bytes and inodes. It warns from `warn_share` in use, fails from
    `fail_share` (Ray's local_fs_capacity_threshold), and fails where one of them is mounted read-only.

    Not to be confused: a root that comes from an image (squashfs, overlay) is read-only by design, and an overlay shows
    how full the filesystem beneath it is.
    """
    readings = {
        name.removeprefix(_PREFIX): reading
        for name, reading in case.facts.host.items()
        if name.startswith(_PREFIX) and not name.endswith(_SHM)
    }
    mounts: dict[str, tuple[str, Reading]] = {}
    for path, reading in readings.items():
        if reading.known and isinstance(reading.value, Filesystem):
            mounts.setdefault(reading.value.mount or path, (path, reading))
        elif reading.reason != NOT_PRESENT:
            yield unread(path, f"how full {path} is", reading)
    well = []
    for path, reading in mounts.values():
        verdict = _judged(path, reading, warn_share, fail_share)
        if verdict is None:
            well.append(f"{path} {_share(reading.value):.0%}")
        else:
            yield verdict
    if well:
        yield ok("node", f"in use: {listed(well)}", *[evidence(one, _words(one.value)) for _, one in mounts.values()])
    if not readings:
        yield unread("node", "how full the filesystems are", NOT_READ)


def _share(one: Filesystem) -> float:
    return 1 - one.available_bytes / one.size_bytes if one.size_bytes else 0.0


def _inodes(one: Filesystem) -> float:
    return 1 - one.inodes_available / one.inodes if one.inodes else 0.0


def _words(one: Filesystem) -> str:
    return f"{one.mount} ({one.kind}): {size(one.available_bytes)} of {size(one.size_bytes)} free"


def _judged(path: str, reading: Reading, warn_share: float, fail_share: float) -> Verdict | None:
    found: Filesystem = reading.value
    told = evidence(reading, _words(found))
    if found.is_read_only and not (path == "/" and found.kind in _IMAGES):
        words = f"{path} is mounted read-only ({found.kind or 'of an unknown type'})"
        remedy = "dmesg | grep -i 'read-only' tells whether the kernel did so after an error; fsck after a drain"
        return fail(path, words, told, remedy=remedy, remedy_class="drain", root="read-only")
    for share, what in ((_share(found), "bytes"), (_inodes(found), "inodes")):
        if share < warn_share or found.is_read_only:
            continue
        left = size(found.available_bytes) if what == "bytes" else f"{found.inodes_available} inodes"
        words = f"{path} is {share:.1%} full ({what}), {left} left"
        remedy = f"du -xh -d 2 {path} | sort -h | tail; remove old /tmp/ray sessions, images and logs"
        if share >= fail_share:
            words += ": Ray creates no more objects there"
            return fail(path, words, told, remedy=remedy, remedy_class="config", root=what)
        return warn(path, words, told, remedy=remedy, remedy_class="config", root=what)
    return None
