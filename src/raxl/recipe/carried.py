"""Whether the bytes of a measured row went the way that an expectation names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from raxl.model.measurement import MAPPED, MISMATCH, PROVEN, WENT_ELSEWHERE, Path, Run

RIGHT, UNPROVEN, UNTOLD, WRONG = "right", "unproven", "untold", "wrong"
"""It went there, or nothing is asked · it is said to have, and the counters do not prove it · nothing tells · it went
elsewhere."""
MEMORY = "memory"
"""What a library says that copies within a machine, whatever device was to carry it."""
_COUNTED = re.compile(r"[0-9]{1,9} × ")
_PORT = re.compile(r":[0-9]{1,3}$")


class Carried(NamedTuple):
    """What carried a row, beside what was to carry it."""

    state: str
    way: str | None
    """In a few words; None where nothing tells."""


def carried(run: Run, globs: Sequence[str]) -> Carried:
    """`globs` name devices, libraries' transports or `mapped`; each way that carried something has to fit one."""
    if run.status == MAPPED:
        return Carried(RIGHT if not globs or _fits((MAPPED,), globs) else WRONG, MAPPED)
    path = run.path
    if path is None:
        return Carried(RIGHT if not globs else UNTOLD, None)
    way = _told(path)
    if run.status == MISMATCH or path.verdict == WENT_ELSEWHERE:
        return Carried(WRONG, way)
    if not globs:
        return Carried(RIGHT, way)
    protocol = list(_ways(path.protocol or ""))
    is_belied = path.verdict != PROVEN and any(MEMORY in names and not _fits(names, globs) for names in protocol)
    if not is_belied and (_all_fit(protocol, globs) or _all_fit(_devices(path), globs)):
        return Carried(RIGHT if path.verdict == PROVEN else UNPROVEN, way)
    # A device that is only claimed, and of which no counter and no log tells, proves nothing.
    return Carried(WRONG if path.verdict == PROVEN or protocol else UNTOLD, way)


def _told(path: Path) -> str:
    """Where it went: what carried it in truth where that is another device than the one that was to."""
    name = path.claimed
    if path.verdict == WENT_ELSEWHERE:
        others = [one.name for one in path.devices if one.name not in path.claimed.split("+")]
        name = "+".join(others) or "shared memory, or a device that counts nothing"
    return f"{name} ({path.protocol})" if path.protocol else name


def _ways(protocol: str) -> Iterator[Sequence[str]]:
    """The names of each way that a library's log tells: `NET/AWS Libfabric/0/GDRDMA`, `rc_mlx5/mlx5_0:1`."""
    for piece in protocol.split(", "):
        counted = _COUNTED.match(piece)
        for way in [piece[counted.end() :]] if counted else [word for word in piece.split() if "/" in word]:
            yield _names(way)


def _devices(path: Path) -> list[Sequence[str]]:
    return [_names(name) for name in path.claimed.split("+")]


def _names(way: str) -> Sequence[str]:
    """The way itself, its parts, and a device without its port."""
    parts = [way, *way.split("/")]
    return [*parts, *(_PORT.sub("", one) for one in parts if _PORT.search(one))]


def _all_fit(ways: Sequence[Sequence[str]], globs: Sequence[str]) -> bool:
    return bool(ways) and all(_fits(names, globs) for names in ways)


def _fits(names: Sequence[str], globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for name in names for glob in globs)
