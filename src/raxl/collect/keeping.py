"""Snapshots written to files."""

from __future__ import annotations

import io
import os
import stat
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
    """Writes a file, all of it or nothing, mode 0600, never through a symbolic link; a device or pipe is written to."""
    try:
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_NOFOLLOW), "wb") as file:
                file.write(content)
        else:
            _replace(content, path)
    except OSError as error:
        raise CannotStart(f"{path} cannot be written", error.strerror or str(error)) from error


def _replace(content: bytes, path: Path) -> None:
    # mkstemp opens with O_EXCL, O_NOFOLLOW and mode 0600, under a name that nobody can foresee.
    descriptor, name = tempfile.mkstemp(prefix=".raxl-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
