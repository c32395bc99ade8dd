"""A long kernel log, read piece by piece: neither the file nor its lines are ever held as a whole."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

from raxl.intake import forms, kernel_log

FORM = kernel_log.FORM
HEAD = 1 << 16
"""Bytes by which such a log is known."""
LARGEST_WHOLE = 4 << 20
"""A smaller file is read whole: it may hold other tools' outputs beside a log."""
_PIECE = 1 << 20


def is_log(start: bytes) -> bool:
    """Whether what begins so is a kernel's log and nothing else."""
    return kernel_log.is_log(forms.decoded(start[:HEAD]))


def is_endless(start: bytes) -> bool:
    """Whether a long file that begins so is of no known form: without an end of its first line only documents go on
    for so long."""
    head = start[:HEAD]
    return len(head) == HEAD and b"\n" not in head and b"\r" not in head and head.lstrip()[:1] not in b"{[<\xef\xff"


def condensed(file: BinaryIO, start: bytes = b"") -> list[str]:
    """What is kept of the log in the file, by host; `start` was read from it before."""
    return kernel_log.condensed(_pieces(file, start))


def _pieces(file: BinaryIO, start: bytes) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    piece = start or file.read(_PIECE)
    while piece:
        yield decoder.decode(piece)
        piece = file.read(_PIECE)
    yield decoder.decode(b"", True)
