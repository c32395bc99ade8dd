"""Numbers with their units, and sets of numbers, as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from raxl.model.component import PciLink

_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,8})", re.DOTALL)
_MOST_NAMES = 4


def binary_size(size_bytes: int) -> str:
    """`79.6 GiB`: the largest unit in which the number is at least one."""
    value, units = float(size_bytes), ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    while round(abs(value), 1) >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.0f} B" if units[0] == "B" else f"{value:.1f} {units[0]}"


def bit_rate(bits_per_second: float) -> str:
    """`400 Gb/s`."""
    return _decimal(bits_per_second, "b/s")


def byte_rate(bytes_per_second: float) -> str:
    """`450 GB/s`."""
    return _decimal(bytes_per_second, "B/s")


def generation(speed_gts: float | None) -> str | None:
    """`gen5` for 32 GT/s; `12 GT/s` for a speed of no PCIe generation; None for None."""
    if speed_gts is None:
        return None
    number = _GENERATIONS.get(round(speed_gts, 1))
    return f"gen{number}" if number else f"{speed_gts:g} GT/s"


def pci_link(link: PciLink | None) -> str | None:
    """`gen5 ×16`, or `gen5 ×8 of ×16` where lanes are missing; None when nothing of it is known.

    The speed is the highest possible where that is known: an idle link slows down, and that is no fault.
    """
    if link is None:
        return None
    speed = generation(link.max_speed_gts if link.max_speed_gts is not None else link.speed_gts)
    width = link.width if link.width is not None else link.max_width
    lanes = None if width is None else f"×{width}"
    if lanes and width is not None and link.max_width is not None and width < link.max_width:
        lanes += f" of ×{link.max_width}"
    return " ".join(part for part in (speed, lanes) if part) or None


def number_ranges(numbers: Iterable[int]) -> str:
    """`0–7`, `0,1,3–7`: a run of two is written as a pair unless it is all there is."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shortest = 2 if len(runs) == 1 else 3
    return ",".join(f"{run[0]}–{run[-1]}" if len(run) >= shortest else ",".join(map(str, run)) for run in runs)


def name_ranges(names: Iterable[str]) -> str:
    """`GPU 2–3, mlx5_2–3`: names that differ in their last number are written once, and many others are counted."""
    numbers: dict[str, list[int]] = {}
    for name in names:
        found = _NUMBERED.fullmatch(name)
        prefix, number = (found[1], int(found[2])) if found else (name, None)
        numbers.setdefault(prefix, []).extend(() if number is None else (number,))
    written = [prefix + number_ranges(found) for prefix, found in numbers.items()]
    if len(written) <= _MOST_NAMES:
        return ", ".join(written)
    more = sum(max(len(set(found)), 1) for found in list(numbers.values())[2:])
    return f"{written[0]}, {written[1]} and {more} more"


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _decimal(value: float, unit: str) -> str:
    prefixes = ["", "k", "M", "G", "T", "P"]
    while round(abs(value), 1) >= 1000 and len(prefixes) > 1:
        value /= 1000
        prefixes.pop(0)
    return f"{value:.1f}".removesuffix(".0") + f" {prefixes[0]}{unit}"
