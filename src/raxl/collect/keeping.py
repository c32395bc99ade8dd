"""Snapshots written to files."""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Sequence

from raxl.errors import CannotStart
from raxl.host import archive, snapshot
from raxl.host.record import Recording

_SHARE = 0.9
"""Of what an archive may hold so much is written: headers and the manifest come on top."""


def packed(recordings: Sequence[Recording], redacted: bool = False) -> bytes:
    """The snapshot of these machines as a `.tar.gz`; the same machines give the same bytes."""
    buffer = io.BytesIO()
    archive.write(snapshot.members(recordings, redacted), buffer)
    return buffer.getvalue()


def write(recordings: Sequence[Recording], path: Path, redacted: bool = False) -> int:
    """Writes the snapshot: readable by its owner alone, whole or not at all, never through a symbolic link.

    More machines than `--from` takes in one archive make a folder of several, which it takes as well. Gives how many
    archives it wrote.
    """
    parts = _parts(recordings)
    if len(parts) == 1:
        save(packed(recordings, redacted), path)
    else:
        _write_folder([packed(part, redacted) for part in parts], path)
    return len(parts)


def _parts(recordings: Sequence[Recording]) -> list[list[Recording]]:
    """The machines in their order, as many together as an archive may hold to be read again."""
    if len(recordings) == 1:
        return [list(recordings)]
    parts: list[list[Recording]] = [[]]
    entries = size = 0
    for recording in recordings:
        own_entries, own_size = snapshot.extent(recording)
        entries, size = entries + own_entries, size + own_size
        if parts[-1] and (entries > _SHARE * archive.MOST_ENTRIES or size > _SHARE * archive.LARGEST):
            parts.append([])
            entries, size = own_entries, own_size
        parts[-1].append(recording)
    return parts


def _write_folder(contents: Sequence[bytes], path: Path) -> None:
    """The folder appears with all of its archives, or not at all."""
    folder = None
    try:
        if os.path.lexists(path):
            raise CannotStart(f"{path} is in the way", f"so many machines need a folder of {len(contents)} archives")
        folder = Path(tempfile.mkdtemp(prefix=".raxl-", dir=path.parent))
        for number, content in enumerate(contents, 1):
            _replace(content, folder / f"part-{number:04}.tar.gz")
        os.rename(folder, path)
    except OSError as error:
        raise CannotStart(f"{path} cannot be written", error.strerror or str(error)) from error
    finally:
        if folder is not None and folder.exists():
            shutil.rmtree(folder, ignore_errors=True)


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


def check(path: Path) -> None:
    """Raises CannotStart where `save` could not write there; leaves nothing behind, and what is there as it is."""
    try:
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            if stat.S_ISLNK(path.lstat().st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            if stat.S_ISDIR(path.lstat().st_mode):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        else:
            # What a folder's mode says is not all: a file system may be read-only, or full of files.
            descriptor, name = tempfile.mkstemp(prefix=".raxl-", dir=path.parent)
            os.close(descriptor)
            os.unlink(name)
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
