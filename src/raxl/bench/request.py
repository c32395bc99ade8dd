"""What `raxl bench-transport` was asked to measure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from raxl.errors import UsageError
from raxl.model.measurement import P2P, REUSED, Bench

if TYPE_CHECKING:
    from raxl.bench.tensor_list import TensorList

SCREEN, ALL = "screen", "all"
KILL_SOURCE, KILL_TARGET, PAUSE, PARTITION = "kill-source", "kill-target", "pause", "partition"
"""What `--fault` does to an end; a pause stops the target's process, a partition the network between the nodes."""
LATENCY_SIZES = (8, 1 << 10, 64 << 10)
BANDWIDTH_SIZES = (1 << 20, 16 << 20, 64 << 20)
LARGEST = 1 << 40
_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_STEP = 4


class Request(NamedTuple):
    """The options, checked."""

    address: str | None = None
    """The cluster's; None: a Ray of raxl's own on this machine."""
    transports: tuple[str, ...] | None = None
    """Named ones; None: all."""
    plugins: tuple[str, ...] = ()
    """Of others, that bring transports: names of entry points or of packages."""
    pairs: str = ALL
    sizes: tuple[int, ...] = LATENCY_SIZES + BANDWIDTH_SIZES
    pattern: str = P2P
    tensors: TensorList | None = None
    """Of weight-sync: what is moved; `sizes` is its size then."""
    actors: tuple[int, int] = (1, 1)
    """Of weight-sync: how many train, how many infer."""
    destination: str = REUSED
    streams: int = 1
    is_bidirectional: bool = False
    least_seconds: float = 0.0
    budget_seconds: float = 45.0
    baseline: Bench | None = None
    """What is compared with."""
    tolerance: float = 0.1
    wants_recommendations: bool = False
    fault: str | None = None
    is_damaged: bool = False
    variables: Mapping[str, str] = MappingProxyType({})
    """Set at both ends, and for a Ray of raxl's own, beside those of this command's environment."""
    unset: tuple[str, ...] = ()
    """Variables of this command's environment that are not handed on."""


def sizes(text: str) -> tuple[int, ...]:
    """`1KiB:256MiB` in steps of four; `8,1MiB` as they are. Raises UsageError."""
    if ":" in text:
        low, _, high = text.partition(":")
        least, most = size(low), size(high)
        if least > most:
            raise UsageError(f"--sizes {text}", "the first size is the larger one")
        found = []
        while least < most:
            found.append(least)
            least *= _STEP
        return (*found, most)
    return tuple(sorted({size(word) for word in text.split(",")}))


def size(text: str) -> int:
    """`64KiB`, `1MiB`, `8`: units are binary. Raises UsageError."""
    found = re.fullmatch(r"\s*([0-9]{1,15})\s*([A-Za-z]{0,3})\s*", text)
    unit = _UNITS.get(found[2].upper()) if found else None
    if found is None or unit is None or not 0 < int(found[1]) * unit <= LARGEST:
        raise UsageError(f"no size: {text}", "bytes, KiB, MiB or GiB: 8, 64KiB, 1GiB; at most 1024 GiB")
    return int(found[1]) * unit


def seconds(text: str, flag: str | None = None) -> float:
    """`30`, `30s`, `2m`, `500ms`; not 0 where `flag`, which it is of, wants more. Raises UsageError."""
    found = re.fullmatch(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|m|min|h)?\s*", text)
    if found is None:
        raise UsageError(f"no time: {text}", "seconds: 30, 30s, 2m, 500ms")
    value = float(found[1]) * {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}[found[2]]
    if flag is not None and value == 0:
        raise UsageError(f"{flag} {text} is no time to measure in", "more than 0: 30, 30s, 2m, 500ms")
    return value
