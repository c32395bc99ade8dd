"""Memory at an end: pages that were never touched, and the address of a buffer."""

from __future__ import annotations

import ctypes
import mmap

_SMALL = 64 << 10
"""Below this an allocator of anyone's gives what it has."""


def fresh(size: int) -> memoryview:
    """Zeros in pages that the kernel has yet to give: a `bytearray` may lie where an earlier one was freed."""
    if size < _SMALL:
        return memoryview(bytearray(size))
    return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def address(buffer: memoryview) -> int:
    """Where it lies; good for as long as the buffer is kept."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer))
