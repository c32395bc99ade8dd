"""The indented half of amd-smi's text: `GPU: 0`, sections below it, `KEY: value` below them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from raxl.intake.amd_words import Told
from raxl.sources.numbers import MOST_PLACES, whole

_HEAD = re.compile(r"(GPU|CPU)[ \t]*:[ \t]*([0-9]{1,5})[ \t]*")
_KEY = re.compile(r"([ \t]*)([A-Za-z][\w ./()-]{0,60}?)[ \t]*:(.*)")
_PROCESSES = re.compile(r"PROCESS(_INFO|_LIST|ES)?", re.IGNORECASE)


def keep(lines: Iterable[str]) -> Iterator[str]:
    """The lines of such blocks. Processes and their arguments are left out."""
    inside, hidden = False, None
    for line in lines:
        if _HEAD.fullmatch(line):
            inside, hidden = True, None
            yield line
            continue
        found = _KEY.fullmatch(line) if inside else None
        if not found:
            continue
        depth = len(found[1].expandtabs())
        if hidden is not None and depth > hidden:
            continue
        hidden = depth if _PROCESSES.fullmatch(found[2]) else None
        if hidden is None and (depth > 0 or found[2].isupper()):
            yield line


def read(lines: Sequence[str]) -> tuple[Told, list[list[str]]]:
    """The words of each GPU by dotted path in lower case, and the paths of each block in their order."""
    told: Told = {}
    blocks: list[list[str]] = []
    card: dict[str, str] | None = None
    above: list[tuple[int, str]] = []
    for line in lines:
        head = _HEAD.fullmatch(line)
        if head:
            number = whole(head[2], MOST_PLACES)
            card = told.setdefault(number, {}) if head[1] == "GPU" and number is not None else None
            above = []
            if card is not None:
                blocks.append([head[2]])
            continue
        found = _KEY.fullmatch(line)
        if card is None or not found:
            continue
        depth, key, words = len(found[1].expandtabs()), found[2].lower(), found[3].strip()
        if not words:
            above = [one for one in above if one[0] < depth] + [(depth, key)]
        elif depth or not above:
            above = [one for one in above if one[0] < depth]
        path = ".".join([name for _, name in above] + ([key] if words else []))
        blocks[-1].append(path)
        if words:
            card[path] = words
    return told, blocks


def cut(blocks: Sequence[Sequence[str]]) -> set[int]:
    """The GPUs inside whose block an output ends: the last of a command's, and shorter than all others of it."""
    runs: list[list[Sequence[str]]] = []
    for block in blocks:
        if runs and int(block[0]) > int(runs[-1][-1][0]):
            runs[-1].append(block)
        else:
            runs.append([block])
    return {int(run[-1][0]) for run in runs if len(run) > 1 and _is_short(run[-1][1:], [one[1:] for one in run[:-1]])}


def _is_short(last: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    return all(len(other) > len(last) and other[: len(last)] == last for other in others)
