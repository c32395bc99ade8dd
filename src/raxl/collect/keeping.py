"""Snapshots written to files."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import Sequence

from raxl.errors import CannotStart
from raxl.host import archive, snapshot
from raxl.host.record import Recording


def packed(recordings: Sequence[Recording], redacted: bool = False) -> bytes:
    """The snapshot of these machines as a `.tar.gz`; the same machines give the same bytes."""
    buffer = io.BytesIO()
    archive.write(snapshot.members(recordings, redacted), buffer)
    return buffer.getvalue()


def write(recordings: Sequence[Recording], path: Path, redacted: bool = False) -> None:
    """Writes the snapshot: readable by its owner alone, whole or not at all, never through a symbolic link."""
    save(packed(recordings, redacted), path)


def save(content: bytes, path: Path) -> None:
    """Writes a file of mode 0600 beside its place and moves it there."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise CannotStart(f"{path} cannot be written", error.strerror or str(error)) from error
