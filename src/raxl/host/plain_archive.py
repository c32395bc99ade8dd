"""The quick way into an archive of plain files as raxl writes them: one pass over its bytes.

Whatever is out of the ordinary (a link, a long header, a damaged one, a size over the limits) gives None, and
`raxl.host.archive` decides over it with all its care. Of the rest both give the same.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Dict, Iterable, Optional
from zlib import adler32

from raxl.host.archive import KEPT

LARGEST_PACKED = 4 << 20
_LARGEST = 64 << 20
"""Of one machine; what is larger takes the other way."""
_BLOCK = 512
_END = bytes(_BLOCK)
_AFTER_TYPE = bytes(100) + b"ustar  \0" + bytes(247)
_FILE, _LONG_NAME = b"\0 0" + _AFTER_TYPE, b"\0 L" + _AFTER_TYPE
"""What follows the checksum in the header of a plain file without an owner's name, and of the next one's long name."""
_LONGEST_NAME = 4096


def files(packed: bytes) -> Optional[Dict[str, bytes]]:
    """The files of a `.tar.gz` by path; None where it is not as plain as that."""
    raw = _unpacked(packed)
    return None if raw is None else _files(raw)


def _unpacked(packed: bytes) -> Optional[bytes]:
    """The one gzip member, whole and with the right checksum."""
    if not packed.startswith(b"\x1f\x8b"):
        return None
    stream = zlib.decompressobj(wbits=31)
    try:
        raw = stream.decompress(packed, _LARGEST)
    except zlib.error:
        return None
    return raw if stream.eof and not stream.unused_data else None


def _files(raw: bytes) -> Optional[Dict[str, bytes]]:
    found: Dict[str, bytes] = {}
    place, end, long_name = 0, len(raw), b""
    while place < end:
        header = raw[place : place + _BLOCK]
        is_file = header.endswith(_FILE)
        if not is_file and (long_name or not header.endswith(_LONG_NAME)):
            is_end = header == _END and not long_name and not raw[place:].strip(b"\0")
            return found if is_end and _are_plain(found) else None
        start = place + _BLOCK
        length = _length(header[124:135])
        place = start + (length + _BLOCK - 1) // _BLOCK * _BLOCK
        # An Adler-32 of 512 bytes of ASCII does not wrap around, so that its lower half is their sum, and one more.
        is_whole = header.isascii() and adler32(header) & 0xFFFF == _sum(header[148:154]) and place <= end
        if not is_whole or not 0 <= length <= KEPT:
            return None
        if not is_file:
            long_name = raw[start : start + min(length, _LONGEST_NAME)].partition(b"\0")[0]
            if not long_name.isascii() or not long_name or length > _LONGEST_NAME:
                return None
            continue
        path = (long_name or header[:100].partition(b"\0")[0]).decode("ascii")
        long_name = b""
        found[path] = raw[start : start + length]
    return None


def _are_plain(paths: Iterable[str]) -> bool:
    """Whether none of them needs a second look: it leads inside, and is spelled in one way only."""
    all_of_them = "\n".join(("", *paths, ""))
    return not any(part in all_of_them for part in ("/.", "//", "\n.", "\n/", "/\n", "\n\n"))


@lru_cache(1 << 12)
def _length(octal: bytes) -> int:
    """The size of a file as its header writes it; -1 for what is no number."""
    return _number(octal)


@lru_cache(1 << 14)
def _sum(stated: bytes) -> int:
    """What the lower half of a header's Adler-32 has to be, by the checksum that it states; -1 for what is none.

    The checksum counts its own field as blanks, and not as its six digits, a NUL and a blank.
    """
    checksum = _number(stated)
    return -1 if checksum < 0 else checksum + (adler32(stated) & 0xFFFF) + 0x20 - 8 * 0x20


def _number(octal: bytes) -> int:
    try:
        return int(octal, 8) if octal.isdigit() else -1
    except ValueError:
        return -1
