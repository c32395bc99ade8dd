"""The bytes of a list of tensors, and the proof that they are the ones that arrived, each in its place.

All tensors of a trainer have one pattern, which begins at another place in each, so that two of the same size are told
apart. Three words of each carry the number of the transfer: the last, the first, and one in between that moves. A
tensor of a device is read by slices, so that a word costs no copy of the whole.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

_PERIOD = 1048573
"""The largest prime below 1 MiB."""
_APART = 65537
"""So far into the pattern each tensor begins after the one before."""
_WORD = struct.Struct("<Q")
_SIZE = _WORD.size
_THREE = 3 * _SIZE
"""A shorter tensor has the last word alone."""

Read = Callable[[Any], memoryview]
"""The bytes of a tensor, or of a slice of it."""


class Part(NamedTuple):
    """The tensors that one trainer holds."""

    seed: int
    sizes: tuple[int, ...]


class Word(NamedTuple):
    """Bytes at a place of a tensor."""

    place: int
    value: bytes


def fill(buffers: Sequence[bytearray], part: Part) -> None:
    """Writes the pattern into all tensors."""
    for index, buffer in enumerate(buffers):
        with memoryview(buffer) as view:
            for start in range(0, len(view), _PERIOD):
                stop = min(start + _PERIOD, len(view))
                view[start:stop] = _pattern(part.seed, index, start, stop)


def stamp(buffers: Sequence[bytearray], part: Part, iteration: int) -> None:
    """Writes the number of the transfer; what an earlier one wrote is put right."""
    for index, buffer in enumerate(buffers):
        if iteration:
            for place, value in words(part, index, iteration - 1):
                buffer[place : place + len(value)] = _pattern(part.seed, index, place, place + len(value))
        for place, value in words(part, index, iteration):
            buffer[place : place + len(value)] = value


def words(part: Part, index: int, iteration: int) -> list[Word]:
    """The words of one tensor in this transfer, the last of its bytes first."""
    size = part.sizes[index]
    value = _value(part.seed, index, iteration)
    word = _WORD.pack(value)
    if size < _SIZE:
        return [Word(0, word[:size])] if size else []
    if size < _THREE:
        return [Word(size - _SIZE, word)]
    return [Word(size - _SIZE, word), Word(0, word), Word(_SIZE + value // 7 % (size - _THREE + 1), word)]


def lasts(part: Part, iteration: int) -> list[list[Word]]:
    """By tensor its last word alone."""
    return [words(part, index, iteration)[:1] for index in range(len(part.sizes))]


def words_differ(tensors: Sequence[Any], expected: Sequence[Sequence[Word]], read: Read) -> str | None:
    """Which tensor does not have these words; None where all have."""
    if len(tensors) != len(expected):
        return f"{len(tensors)} tensors came, {len(expected)} were sent"
    for index, wanted in enumerate(expected):
        tensor = tensors[index]
        for place, value in wanted:
            if read(tensor[place : place + len(value)]) != value:
                return f"tensor {index} did not bring the word of this transfer at byte {place}"
    return None


def differs(tensors: Iterable[Any], part: Part, iteration: int, read: Read) -> str | None:
    """Which byte of which tensor is another than was sent in this transfer; None where all are right."""
    count = 0
    for index, tensor in enumerate(tensors):
        count += 1
        if index >= len(part.sizes):
            continue
        view = read(tensor)
        if len(view) != part.sizes[index]:
            return f"tensor {index} has {len(view)} bytes, {part.sizes[index]} were sent"
        stamped = words(part, index, iteration)
        for start in range(0, len(view), _PERIOD):
            stop = min(start + _PERIOD, len(view))
            if (wrong := _differs(view, start, _expected(part.seed, index, start, stop, stamped))) is not None:
                return f"tensor {index}: {wrong}"
    return None if count == len(part.sizes) else f"{count} tensors came, {len(part.sizes)} were sent"


def _differs(view: memoryview, start: int, expected: bytes) -> str | None:
    found = bytes(view[start : start + len(expected)])  # views are compared element by element, bytes at once
    if found == expected:
        return None
    place = next(index for index in range(len(found)) if found[index] != expected[index])
    return f"byte {start + place} of {len(view)} is {found[place]:#04x}, {expected[place]:#04x} was sent"


def _expected(seed: int, index: int, start: int, stop: int, stamped: Sequence[Word]) -> bytes:
    expected = bytearray(_pattern(seed, index, start, stop))
    for place, value in reversed(stamped):
        first, last = max(place, start), min(place + len(value), stop)
        if first < last:
            expected[first - start : last - start] = value[first - place : last - place]
    return bytes(expected)


def _pattern(seed: int, index: int, start: int, stop: int) -> bytes:
    """At most one period of it."""
    begin = (index * _APART + start) % _PERIOD
    return _twice(seed)[begin : begin + stop - start]


@lru_cache(4)
def _twice(seed: int) -> bytes:
    return random.Random(seed).randbytes(_PERIOD) * 2  # noqa: S311 - no secret


def _value(seed: int, index: int, iteration: int) -> int:
    return (seed * 0x9E3779B97F4A7C15 + index * 0x94D049BB133111EB + iteration * 0xBF58476D1CE4E5B9 + 1) % (1 << 64)
