"""How checks write quantities."""

from __future__ import annotations

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size(size_bytes: int | None) -> str:
    """`64 MiB`; of None, which is no limit, `unlimited`."""
    if size_bytes is None:
        return "unlimited"
    value, unit = float(size_bytes), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g} {_UNITS[unit]}" if value < 1000 else f"{value:.0f} {_UNITS[unit]}"


def counted(count: int, noun: str) -> str:
    """`1 accelerator`, `8 accelerators`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names: list[str], most: int = 8) -> str:
    """`a, b and c`; of more than `most`, how many more there are."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
