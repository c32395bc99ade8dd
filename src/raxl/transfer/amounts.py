"""Amounts of memory in words."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def told(size_bytes: float) -> str:
    """`40 GiB`, `21.7 GiB`, `512 B`: the largest unit of which there is one, and three digits."""
    value, units = float(size_bytes), list(_UNITS)
    while value >= 1000 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.3g} {units[0]}"
