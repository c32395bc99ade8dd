"""Measured times, rates and sizes as operators read them: one unit for a column, decimals by the smallest."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

from raxl.render.quantity import binary_size
from raxl.render.text import UNBREAKABLE

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_RATES = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"))
_AMOUNTS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_BINARY = {1 << 40: "TiB", 1 << 30: "GiB", 1 << 20: "MiB", 1 << 10: "KiB", 1: "B"}
_LONGEST = 100_000
"""From here on a number is read more easily in the next larger unit."""
_MOST_DECIMALS = 3
_MOST_DIGITS = 5
_BEFORE_UNIT = re.compile(r"(?<=[0-9]) (?=(?:[kMGT]?B|[KMG]iB|Gb|[KMG]?bit|%|[µm]?s)(?![a-z]))")


class Unit(NamedTuple):
    """What the numbers of one column are told in."""

    factor: float
    name: str
    decimals: int

    def number(self, value: float) -> str:
        """The number alone: `119.0`."""
        return f"{value / self.factor:.{self.decimals}f}"

    def told(self, value: float) -> str:
        """`119.0 MB/s`."""
        return f"{self.number(value)} {self.name}"


def time_unit(values: Iterable[float]) -> Unit:
    """The largest unit of these seconds in which the largest is at least one and the smallest still a hundredth."""
    known = [value for value in values if value > 0]
    least, most = min(known, default=1.0), max(known, default=1.0)
    fitting = [unit for unit in _TIMES[:-1] if most >= unit[0] * 0.9995 and least >= unit[0] * 0.00995]
    factor, name = fitting[0] if fitting else _TIMES[-1] if most < _TIMES[-1][0] * _LONGEST else _TIMES[-2]
    # Of long numbers the first digits are enough, unless the smallest would be none.
    room = max(_decimals(least / factor, 1, 0), _MOST_DIGITS - len(f"{most / factor:.0f}"))
    return Unit(factor, name, min(room, _decimals(least / factor, 2, 0)))


def rate_unit(values: Iterable[float]) -> Unit:
    """The unit in which the largest of these bytes per second is at least one, with three digits of the smallest."""
    known = [value for value in values if value > 0]
    most = max(known, default=1e6)
    factor, name = next((unit for unit in _RATES if most >= unit[0] * 0.9995), _RATES[-1])
    return Unit(factor, name, _decimals(min(known, default=factor) / factor, 3, 1))


def duration(seconds: float) -> str:
    """`0.21 s`, `2.5 ms`, `110 µs`."""
    return _alone(seconds, _TIMES)


def rate(bytes_per_second: float) -> str:
    """`119.6 MB/s`, `12.5 GB/s`, `450 GB/s`."""
    return _alone(bytes_per_second, _RATES)


def amount(size_bytes: float) -> str:
    """What a counter counted: `311 MB`."""
    return _alone(size_bytes, _AMOUNTS)


def size(size_bytes: int) -> str:
    """The size of a transfer, exactly: `64 MiB`, `1.5 MiB`, `65537 B`: two sizes are never called the same."""
    unit = max((one for one in _BINARY if one <= size_bytes), default=1)
    if 10 * size_bytes % unit == 0:
        return about(size_bytes)
    whole = max(one for one in _BINARY if size_bytes % one == 0)
    return f"{size_bytes // whole} {_BINARY[whole]}"


def about(size_bytes: float) -> str:
    """An amount of memory, or a size that was worked out: `49.1 MiB`."""
    return binary_size(round(size_bytes)).replace(".0 ", " ")


def percent(ratio: float) -> str:
    """`99 %`; below the whole it is never told as the whole."""
    if 0 < ratio < 0.01:
        return "<1 %"
    return f"{math.floor(ratio * 100 + 1e-9) if ratio < 1 else round(ratio * 100)} %"


def unbroken(text: str) -> str:
    """The text, in which no number is parted from its unit at the end of a line."""
    return _BEFORE_UNIT.sub(UNBREAKABLE, text)


def _decimals(value: float, digits: int, least: int) -> int:
    if value <= 0:
        return least
    return max(least, min(_MOST_DECIMALS, digits - 1 - math.floor(math.log10(value) + 1e-9)))


def _alone(value: float, units: tuple[tuple[float, str], ...]) -> str:
    factor, name = next((unit for unit in units if abs(value) >= unit[0] * 0.9995), units[-1])
    scaled = value / factor
    digits = f"{scaled:.1f}" if abs(scaled) >= 10 or scaled == 0 else f"{scaled:.2f}"
    return f"{digits.rstrip('0').rstrip('.')} {name}"
