"""The kernel's own log of this machine: read record by record, and only lines of the catalogue kept.

https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg. Standard library, Python 3.8.
"""

from __future__ import annotations

import errno
import os
from typing import Any, Dict

from raxl.host.kernel_condense import condensed

PATH = "/dev/kmsg"
_RECORD_BYTES = 8192
"""The longest record that the kernel gives."""
_MOST = 1 << 20
"""Records; a ring of 64 MiB holds fewer."""


def read() -> Dict[str, Any]:
    """What is kept of the log, as `kernel_condense` gives it. Raises OSError where it may not be read."""
    descriptor = os.open(PATH, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return condensed(_records(descriptor))
    finally:
        os.close(descriptor)


def _records(descriptor: int) -> Any:
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
        yield record.decode("utf-8", "replace").split("\n", 1)[0]
