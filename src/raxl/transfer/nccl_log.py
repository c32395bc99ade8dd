"""What NCCL logs of its choice: `NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,TUNING`.

    host:71:90 [0] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [receive] via NET/IB/0/GDRDMA
    host:71:90 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
    host:71:90 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..15}

A line `NET/IB : Using [0]mlx5_0:1/IB …` lists candidates, and says nothing of what is used; but it tells which devices
the numbers of the channels mean. Read for NCCL 2.18 to 2.30.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Mapping, NamedTuple

_CHANNEL = re.compile(
    r"Channel [0-9]+(?:/[0-9]+)? : [0-9]+\[[0-9a-f]+\] -> [0-9]+\[[0-9a-f]+\] (?:\[(?:send|receive)\] )?via (.+?)\s*$",
    re.MULTILINE,
)
_ALGORITHM = re.compile(r"(\w+): [0-9]+ Bytes -> Algo (\w+) proto (\w+)")
_LISTED = re.compile(r"NET/(\w+) : Using (.+)")
_DEVICE = re.compile(r"\[([0-9]+)\]([a-z][\w.-]*(?::[0-9]{1,2}(?=[:/\s]))?)")
"""`[0]mlx5_0:1/IB`, `[0]mlx5_0:1:rail:plane/RoCE`, `[0]eth0:10.0.0.1<0>`"""
_VERSION = re.compile(r"(?:NCCL|RCCL) version ([0-9][^\s+]*)")
_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
_PROTOCOLS = ("LL", "LL128", "SIMPLE")
_RANK = re.compile(r"\([0-9]+\)")


class Log(NamedTuple):
    """What a log says; nothing of it where it says nothing."""

    version: str | None
    ways: tuple[tuple[str, int], ...]
    """`NET/IB/0/GDRDMA` and how many channels of either direction go so, the most first."""
    algorithm: str | None
    """`NVLS SIMPLE`, of the last operation that was tuned."""
    carriers: tuple[str, ...]
    """`mlx5_0:1`, as the kernel's counters call it; `memory` for a way that no NIC has a part in."""

    @property
    def is_staged(self) -> bool:
        """Whether a NIC gets its data from the processor's memory rather than from the GPU's."""
        return any(way.startswith("NET/") and "GDRDMA" not in way for way, _ in self.ways)


def read(text: str) -> Log:
    """The log, as far as it was written."""
    ways = Counter(_RANK.sub("", found) for found in _CHANNEL.findall(text))
    algorithms = _ALGORITHM.findall(text)
    version = _VERSION.search(text)
    names = {(kind, number): name for kind, listed in _LISTED.findall(text) for number, name in _DEVICE.findall(listed)}
    carriers = dict.fromkeys(_carrier(way, names) for way in ways)
    named = [f"{_named(algorithm, _ALGORITHMS)} {_named(proto, _PROTOCOLS)}" for _, algorithm, proto in algorithms[-1:]]
    return Log(
        version[1] if version else None,
        tuple(sorted(ways.items(), key=lambda one: (-one[1], one[0]))),
        named[0] if named else None,
        tuple(carriers),
    )


def words(log: Log) -> str | None:
    """`NVLS SIMPLE, 16 × P2P/CUMEM`; None where nothing is known."""
    told = [f"{count} × {way}" for way, count in log.ways]
    return ", ".join([*([log.algorithm] if log.algorithm else []), *told]) or None


def _carrier(way: str, names: Mapping[tuple[str, str], str]) -> str:
    kind, _, rest = way.removeprefix("NET/").partition("/")
    number = rest.partition("/")[0]
    return names.get((kind, number), f"NET/{kind}/{number}") if way.startswith("NET/") else "memory"


def _named(word: str, names: tuple[str, ...]) -> str:
    """NCCL 2.21 and before print numbers."""
    return names[int(word)] if word.isdigit() and int(word) < len(names) else word
