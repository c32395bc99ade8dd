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


def cut(blocks: Sequence[Sequence[str]]) -> str | None:
    """The number of the last GPU, where its block ends before those of all others of the same output do."""
    if len(blocks) < 2:
        return None
    last = list(blocks[-1][1:])
    alike = [list(block[1:]) for block in blocks[:-1] if block[1:2] == blocks[-1][1:2]] or [list(blocks[-2][1:])]
    is_short = all(len(block) > len(last) and block[: len(last)] == last for block in alike)
    return blocks[-1][0] if is_short else None
