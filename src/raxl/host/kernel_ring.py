"""The kernel's own log of this machine: read record by record, and only lines of the catalogue kept.

https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg. Standard library, Python 3.8.
"""

from __future__ import annotations

import errno
import os
from itertools import islice
from typing import Any, Dict, Iterator

from raxl.host.kernel_condense import Condenser

PATH = "/dev/kmsg"
_RECORD_BYTES = 8192
"""The longest record that the kernel gives."""
_TOGETHER = 1 << 12
_MOST = 1 << 20
"""Records; a ring of 64 MiB holds fewer."""


def read() -> Dict[str, Any]:
    """What is kept of the log, as `kernel_condense` gives it. Raises OSError where it may not be read."""
    descriptor = os.open(PATH, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    condenser = Condenser()
    try:
        for records in _batches(_records(descriptor)):
            condenser.take(records)
    finally:
        os.close(descriptor)
    return condenser.log()


def _batches(records: Iterator[str]) -> Iterator[str]:
    batch = list(islice(records, _TOGETHER))
    while batch:
        yield "".join(batch)
        batch = list(islice(records, _TOGETHER))


def _records(descriptor: int) -> Iterator[str]:
    """The records in their order, each a line; its dictionary of devices is left out."""
    for _ in range(_MOST):
        try:
            record = os.read(descriptor, _RECORD_BYTES)
        except OSError as error:
            if error.errno == errno.EPIPE:  # overwritten while it was read: the next one is there
                continue
            if error.errno == errno.EAGAIN:
                return
            raise
        if not record:
            return
        yield record.decode("utf-8", "replace").split("\n", 1)[0] + "\n"
