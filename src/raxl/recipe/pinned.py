"""Files beside which their SHA-256 lies, as `raxl recipe fetch` keeps them: what is read is what was fetched."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from raxl.errors import UnreadableInput
from raxl.recipe import document
from raxl.recipe.document import Fault, Place

_LARGEST = 1024
_LINE = re.compile(rb"([0-9a-f]{64}) [ *]([^\n]+)\n?")


def fault(path: Path, data: bytes) -> Fault | None:
    """What is wrong where the sum that lies beside a file is another one; None where it fits, or none lies there."""
    beside = path.with_name(f"{path.name}.sha256")
    try:
        told = _LINE.fullmatch(document.content(beside, _LARGEST))
    except UnreadableInput:
        return None
    found = hashlib.sha256(data).hexdigest()
    if told is None or told[2] != path.name.encode() or told[1].decode() == found:
        return None
    what = f"was changed: expected {told[1].decode()}, got {found} (remove {beside.name} if that was you)"
    return Fault(Place(str(path), 0), (), what)
