"""The bytes that are sent, and the proof that they are the ones that arrived.

The pattern follows from a seed and the size; its period is a prime, so that no shift by a page, a chunk or a word looks
right. Three words carry the number of the transfer: the first, the last, and one in between that moves.
"""

from __future__ import annotations

import random
import struct
import time
from functools import lru_cache
from typing import Union

Buffer = Union[bytearray, memoryview]
_PERIOD = 1048573
"""The largest prime below 1 MiB."""
_WORD = struct.Struct("<Q")
_THREE = 3 * _WORD.size
"""A shorter buffer has the first word alone."""
_POISON = 0xA5


def fill(buffer: Buffer, seed: int) -> None:
    """Writes the whole pattern."""
    view, block = memoryview(buffer).cast("B"), _block(seed, len(buffer))
    for start in range(0, len(view), _PERIOD):
        part = view[start : start + _PERIOD]
        part[:] = block[: len(part)]


def poison(buffer: Buffer) -> None:
    """Writes what no pattern holds for long, so that bytes that never came are seen."""
    view = memoryview(buffer).cast("B")
    block = bytes([_POISON]) * min(len(view), 1 << 20)
    for start in range(0, len(view), len(block) or 1):
        part = view[start : start + len(block)]
        part[:] = block[: len(part)]


def stamp(buffer: Buffer, seed: int, iteration: int) -> None:
    """Writes the number of the transfer into its three words; what an earlier one wrote in between is put right."""
    view = memoryview(buffer).cast("B")
    if len(view) < _WORD.size:
        view[:] = _WORD.pack(_value(seed, iteration))[: len(view)]
        return
    if iteration > 0 and len(view) >= _THREE:
        _restore(view, seed, _between(seed, len(view), iteration - 1))
    for place in _places(seed, len(view), iteration):
        _WORD.pack_into(view, place, _value(seed, iteration))


def stamps_differ(buffer: Buffer, seed: int, iteration: int) -> str | None:
    """Where one of the three words is not of this transfer; None where all are."""
    view = memoryview(buffer).cast("B")
    wanted = _WORD.pack(_value(seed, iteration))
    if len(view) < _WORD.size:
        return None if view == wanted[: len(view)] else f"transfer {iteration} brought other bytes"
    for place in _places(seed, len(view), iteration):
        if view[place : place + _WORD.size] != wanted:
            return f"transfer {iteration} did not bring its word at byte {place}"
    return None


def differs(buffer: Buffer, seed: int, iteration: int) -> str | None:
    """Where any byte is another than was sent in this transfer; None where all are right."""
    view = memoryview(buffer).cast("B")
    block = _block(seed, len(view))
    for start in range(0, len(view), _PERIOD):
        part = bytes(view[start : start + _PERIOD])  # views are compared element by element, bytes at once
        expected = block[: len(part)]
        for place, value in _stamped(len(view), seed, iteration, start, len(part)):
            expected = expected[:place] + value + expected[place + 1 :]
        if part != expected:
            place = next(index for index in range(len(part)) if part[index] != expected[index])
            return f"byte {start + place} of {len(view)} is {part[place]:#04x}, {expected[place]:#04x} was sent"
    return None


def verified(buffer: Buffer, seed: int, iteration: int, is_damaged: bool) -> tuple[str | None, float]:
    """Where any byte of the last transfer is wrong, and the seconds of the comparison. `is_damaged`: one is turned
    before, as a proof."""
    if is_damaged:
        damage(buffer)
    begun = time.perf_counter()
    return differs(buffer, seed, iteration), time.perf_counter() - begun


def damage(buffer: Buffer) -> None:
    """Turns one bit in the middle."""
    view = memoryview(buffer).cast("B")
    view[len(view) // 2] ^= 0x10


@lru_cache(4)
def _block(seed: int, size: int) -> bytes:
    return random.Random(seed * 1_000_003 + size).randbytes(min(size, _PERIOD))  # noqa: S311 - no secret


def _value(seed: int, iteration: int) -> int:
    return (seed * 0x9E3779B97F4A7C15 + iteration * 0xBF58476D1CE4E5B9 + 1) % (1 << 64)


def _between(seed: int, size: int, iteration: int) -> int:
    return _WORD.size + _value(seed, iteration) // 7 % (size - _THREE + 1)


def _places(seed: int, size: int, iteration: int) -> tuple[int, ...]:
    return (0, _between(seed, size, iteration), size - _WORD.size) if size >= _THREE else (0,)


def _restore(view: memoryview, seed: int, place: int) -> None:
    block = _block(seed, len(view))
    for index in range(place, place + _WORD.size):
        view[index] = block[index % _PERIOD]


def _stamped(size: int, seed: int, iteration: int, start: int, length: int) -> list[tuple[int, bytes]]:
    """Bytes of the three words that lie in a part, by their place in it."""
    word = _WORD.pack(_value(seed, iteration))
    if size < _WORD.size:
        return [(place, word[place : place + 1]) for place in range(size)]
    return [
        (first + index - start, word[index : index + 1])
        for first in _places(seed, size, iteration)
        for index in range(_WORD.size)
        if start <= first + index < start + length
    ]
