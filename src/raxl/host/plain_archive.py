"""The quick way into an archive of plain files as raxl writes them: one pass over its bytes.

Whatever is out of the ordinary (a link, a long header, a damaged one, a size over the limits) gives None, and
`raxl.host.archive` decides over it with all its care. Of the rest both give the same.
"""

from __future__ import annotations

import zlib
from typing import Dict, Optional
from zlib import adler32

from raxl.host.archive import KEPT, inside

LARGEST_PACKED = 4 << 20
_LARGEST = 64 << 20
"""Of one machine; what is larger takes the other way."""
_BLOCK = 512
_END = bytes(_BLOCK)
_AFTER_TYPE = bytes(100) + b"ustar  \0" + bytes(247)
_FILE, _LONG_NAME = b"\0 0" + _AFTER_TYPE, b"\0 L" + _AFTER_TYPE
"""What follows the checksum in the header of a plain file without an owner's name, and of the next one's long name."""
_LONGEST_NAME = 4096
_BLANKS = 8 * 0x20
"""The checksum counts its own field as blanks: these, and not its six digits, a NUL and a blank."""


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
        size, stated = header[124:135], header[148:154]
        is_file = header.endswith(_FILE)
        if not is_file and (long_name or not header.endswith(_LONG_NAME)):
            return found if header == _END and not long_name and not raw[place:].strip(b"\0") else None
        if not (size.isdigit() and stated.isdigit() and header.isascii()):
            return None
        # The lower half of an Adler-32 is one more than the sum of the bytes, and 512 of ASCII do not wrap it around.
        total = (adler32(header) & 0xFFFF) - (adler32(stated) & 0xFFFF) - 0x20 + _BLANKS
        try:
            length, checksum = int(size, 8), int(stated, 8)
        except ValueError:
            return None
        start = place + _BLOCK
        place = start + (length + _BLOCK - 1) // _BLOCK * _BLOCK
        if checksum != total or length > KEPT or place > end:
            return None
        if not is_file:
            long_name = raw[start : start + min(length, _LONGEST_NAME)].partition(b"\0")[0]
            if not long_name.isascii() or not long_name or length > _LONGEST_NAME:
                return None
            continue
        path = (long_name or header[:100].partition(b"\0")[0]).decode("ascii")
        long_name = b""
        if not path:
            return None
        if "/." in path or "//" in path or path[0] in "./" or path[-1] == "/":
            known = inside(path)
            if not known:
                return None
            path = known
        found[path] = raw[start : start + length]
    return None
