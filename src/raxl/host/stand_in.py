"""For tests alone: the server that answers in place of the clouds' metadata services, on this machine's loopback."""

from __future__ import annotations

import os
import re
from typing import Optional, Tuple

VARIABLE = "RAXL_METADATA_SERVER"
"""`http://127.0.0.1:PORT`"""
_HERE = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\]):([0-9]{1,5})/?")


def server() -> str:
    """What the environment names; empty where nothing stands in."""
    return os.environ.get(VARIABLE, "")


def place() -> Optional[Tuple[str, int]]:
    """Its host and port; None for one that is not on the loopback address: the clouds' headers go nowhere else."""
    found = _HERE.fullmatch(server())
    return (found[1].strip("[]"), int(found[2])) if found and int(found[2]) < 1 << 16 else None


def source() -> str:
    """What a recording of this machine calls its source: nobody shall be deceived."""
    return f"local, metadata of {server()}" if server() else "local"
