"""Names of nodes in text: runs of numbered ones once, many counted, long identities cut in the middle."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from raxl.model.printable import clean
from raxl.render.naming import counted

_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})", re.DOTALL)
_MOST_RUNS = 4
_LONGEST_NAME = 24


def node_ranges(names: Sequence[str]) -> str:
    """`gpu-01–04,06–24`; of many without an order the first ones, and how many more."""
    runs: dict[tuple[str, int], list[list[int]]] = {}
    for name in names:
        found = _NUMBERED.fullmatch(clean(name))
        # Numbers of one length have their zeros; a longer one without follows: node-9, node-10.
        key, number = (
            ((found[1], len(found[2]) if found[2][0] == "0" else 0), int(found[2])) if found else ((name, -1), 0)
        )
        of_prefix = runs.setdefault(key, [])
        if of_prefix and number == of_prefix[-1][1] + 1:
            of_prefix[-1][1] = number
        else:
            of_prefix.append([number, number])
    return _written(_joined(runs), len(names))


def ordered(names: Iterable[str]) -> list[str]:
    """By prefix, then by number: node-2 before node-10."""

    def place(name: str) -> tuple[str, int, str]:
        found = _NUMBERED.fullmatch(name)
        return (found[1], int(found[2]), name) if found else (name, -1, name)

    return sorted(names, key=place)


def _joined(runs: dict[tuple[str, int], list[list[int]]]) -> dict[tuple[str, int], list[list[int]]]:
    """`07–09` and `10–24` in one: what needs no zeros has the length of what has them."""
    for (prefix, length), padded in [*runs.items()]:
        plain = runs.get((prefix, 0))
        if length > 0 and plain and all(len(str(number)) == length for run in plain for number in run):
            for first, last in runs.pop((prefix, 0)):
                if padded[-1][1] + 1 == first:
                    padded[-1][1] = last
                else:
                    padded.append([first, last])
    return runs


def _written(runs: dict[tuple[str, int], list[list[int]]], count: int) -> str:
    words: list[str] = []
    told = shown = 0
    for (prefix, length), found in runs.items():
        parts = []
        for first, last in found:
            if shown < _MOST_RUNS:
                parts.append(_run(first, last, max(length, 0)))
                told += last - first + 1
                shown += 1
        if parts:
            words.append(short(prefix) if length < 0 else short(prefix) + ",".join(parts))
    more = count - told
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def _run(first: int, last: int, length: int) -> str:
    if first == last:
        return f"{first:0{length}d}"
    return f"{first:0{length}d}{',' if last == first + 1 else '–'}{last:0{length}d}"


def nodes_called(names: Sequence[str]) -> str:
    """`gpu-05`, or `24 nodes (gpu-01–24)`."""
    if len(names) == 1:
        return short(names[0])
    return f"{counted(len(names), 'node')} ({node_ranges(names)})"


def short(name: str, most: int = _LONGEST_NAME) -> str:
    """The name, harmless, and cut in its middle where it is long."""
    shown = clean(name)
    return shown if len(shown) <= most else f"{shown[: most // 2]}…{shown[-(most // 2 - 1) :]}"


def identity(name: str) -> str:
    """`7e2c…00f1` for a UUID; a short name as it is."""
    shown = clean(name)
    return shown if len(shown) <= 18 else f"{shown[:4]}…{shown[-4:]}"
