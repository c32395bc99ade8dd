"""What UCX says that it chose, in the tables that it writes with UCX_PROTO_INFO=y: by operation and size.

| a53008e6d03f907ed5d8e8480100000 intra-node cfg#1                |
| remote memory read by ucp_get* into host memory from host      |
| 0..inf | zero-copy   | cma/memory                              |
"""

from __future__ import annotations

import ctypes
import os
import re
from typing import Any, NamedTuple

from raxl.transfer import Taken

_HEADER = re.compile(r"\b(self|intra-node|inter-node) cfg#\d+")
_RANGE = re.compile(r"(\d+)([KMG]?)(?:\.\.(\d+|inf)([KMG]?))?")
_LANE = re.compile(r"\b([a-z][a-z0-9_]*)/([\w.:-]+)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_IN_MEMORY = ("cma", "posix", "sysv", "xpmem", "knem", "self", "cuda", "gdr", "rocm", "ze")
"""How the names of UCX's transports begin that no network device carries."""


class Choice(NamedTuple):
    """A line of a table."""

    peer: str
    """self | intra-node | inter-node"""
    operation: str
    low: int
    high: float
    words: str
    """The description, and what carries it: `zero-copy cma/memory`."""


def begin(state: dict[str, Any]) -> None:
    """Has UCX, which is not loaded yet, write its tables for `read`: into a file without a name, so that nothing stays
    when the process is killed. The variables that a user has set stay as they are."""
    descriptor = state["ucx_log"] = os.memfd_create("raxl-ucx")
    path = f"/proc/self/fd/{descriptor}"
    for name, value in (("UCX_LOG_LEVEL", "info"), ("UCX_PROTO_INFO", "y"), ("UCX_LOG_FILE", path)):
        os.environ.setdefault(name, value)


def read(state: dict[str, Any]) -> str:
    """What UCX has written in this process so far; it keeps it in a buffer until that is full."""
    descriptor = state.get("ucx_log")
    if descriptor is None:
        return ""
    ctypes.CDLL(None).fflush(None)
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("utf-8", "replace")


def chosen(text: str, operation: str, size: int) -> str | None:
    """What it does for an operation (`ucp_get`) of this size with its newest peer that is not itself."""
    fitting = [
        one
        for one in choices(text)
        if one.peer != "self" and operation in one.operation and one.low <= size <= one.high
    ]
    return fitting[-1].words if fitting else None


def tell(taken: Taken, log: str, operation: str, size: int) -> None:
    """Adds to a row what UCX says of an operation of this size."""
    taken.protocol = chosen(log, operation, size)
    taken.carriers = carriers(taken.protocol or "")
    if (taken.protocol or "").startswith("software emulation"):
        told = f"no one-sided read by {'+'.join(taken.carriers)}: the source's processor sends"
        taken.remark = "; ".join(word for word in (taken.remark, told) if word)


def carriers(words: str) -> tuple[str, ...]:
    """The devices that carry it, as the kernel and raxl's counters call them; `memory` for none of the network's."""
    found = ["memory" if lane.startswith(_IN_MEMORY) else device for lane, device in _LANE.findall(words)]
    return tuple(dict.fromkeys(found))


def complaint(text: str) -> str | None:
    """The last of its errors and warnings, without time and place."""
    found = re.findall(r"UCX +(?:ERROR|WARN) +(.+)", text)
    return found[-1].strip() if found else None


def choices(text: str) -> list[Choice]:
    """Every line of every table, in their order."""
    found = []
    peer, operation = "", ""
    for line in text.splitlines():
        _, bar, rest = line.partition("|")
        if not bar:
            continue
        cells = [cell.strip() for cell in rest.rstrip().rstrip("|").split("|")]
        if len(cells) == 1:
            header = _HEADER.search(cells[0])
            peer, operation = (header[1], "") if header else (peer, cells[0])
        elif len(cells) == 3 and (span := _RANGE.fullmatch(cells[0])) is not None:
            low = int(span[1]) * _UNITS[span[2]]
            high = low if span[3] is None else float(span[3]) * _UNITS[span[4]]
            found.append(Choice(peer, operation, low, high, " ".join(word for word in cells[1:] if word)))
    return found
