"""A folder held open: what lies in it is reached by one name, and never through a symbolic link.

Everything that is read or written below a root goes through here. A folder is a descriptor, so it stays the one that
was looked at, whatever is renamed or linked meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from types import TracebackType

from raxl.errors import RecipeError

LARGEST = 1 << 20
"""Of a file: what is larger is no file of raxl's."""
STAGED = ".staged-"
"""How the name of what is not yet in force begins."""
_LONGEST = 3800
"""Bytes of a root's path: Linux takes 4096, and what lies below is to have room."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PASSED = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""A folder on the way: it may be one that lets pass and cannot be listed."""
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


class Folder:
    """An open folder. Raises OSError, and RecipeError where something else lies where raxl has its own."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.path = path

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self.descriptor)

    def names(self) -> list[str]:
        """Of everything in it."""
        return sorted(os.listdir(self.descriptor))

    def folder(self, name: str) -> Folder:
        """One in it."""
        self._expect(name, stat.S_IFDIR)
        return Folder(os.open(name, _FOLDER, dir_fd=self.descriptor), self.path / name)

    def read(self, name: str, largest: int = LARGEST) -> bytes:
        """What a file holds."""
        self._expect(name, stat.S_IFREG)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=self.descriptor), "rb") as file:
            content = file.read(largest + 1)
        if len(content) > largest:
            raise RecipeError(f"{self.path / name} is larger than {largest} bytes", "raxl wrote no such file")
        return content

    def target(self, name: str) -> str | None:
        """Where a symbolic link points; None where there is nothing of that name."""
        try:
            self._expect(name, stat.S_IFLNK)
        except FileNotFoundError:
            return None
        return os.readlink(name, dir_fd=self.descriptor)

    def is_link(self, name: str) -> bool:
        """Whether it is a symbolic link, wherever it points."""
        return stat.S_ISLNK(os.stat(_single(name), dir_fd=self.descriptor, follow_symlinks=False).st_mode)

    def is_open_as(self, name: str, descriptor: int) -> bool:
        """Whether the name still is that of the file that is open there."""
        try:
            named = os.stat(_single(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(descriptor))

    def make(self, name: str) -> None:
        """Makes a folder for its owner alone."""
        os.mkdir(_single(name), 0o700, dir_fd=self.descriptor)

    def write(self, name: str, content: bytes) -> os.stat_result:
        """Writes a file that did not exist, for its owner alone, down to the disk; gives what it became."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(_single(name), flags, 0o600, dir_fd=self.descriptor), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            return os.fstat(file.fileno())

    def point(self, name: str, target: str) -> None:
        """Makes a symbolic link, or puts it in the place of one that is there: from one moment to the next."""
        staged = staged_name()
        os.symlink(target, staged, dir_fd=self.descriptor)
        self.rename(staged, name)

    def rename(self, name: str, new: str) -> None:
        """Gives what lies in it another name there."""
        os.rename(_single(name), _single(new), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Removes a file, or a link and not what it points to."""
        os.unlink(_single(name), dir_fd=self.descriptor)

    def remove_folder(self, name: str) -> None:
        """Removes a folder, if it is empty."""
        try:
            os.rmdir(_single(name), dir_fd=self.descriptor)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise

    def sync(self) -> None:
        """Has the disk know which names it holds."""
        _sync(self.descriptor)

    def _expect(self, name: str, kind: int) -> None:
        """Raises FileNotFoundError where there is nothing of that name."""
        found = stat.S_IFMT(os.stat(_single(name), dir_fd=self.descriptor, follow_symlinks=False).st_mode)
        if found != kind:
            told = f"{self.path / name} is {_KINDS.get(found, 'a device')}"
            raise RecipeError(told, f"raxl has {_KINDS[kind]} there, and touches no other", "Move it away")


def resolved(root: Path) -> Path:
    """The absolute path of a root, through whatever links lead to it: this once."""
    try:
        path = os.path.realpath(root.expanduser())
        length = len(path.encode())
    except (ValueError, RuntimeError) as error:
        raise RecipeError(f"{str(root)!r} is no name of a folder", str(error).split(":")[0]) from error
    except FileNotFoundError as error:
        raise RecipeError(f"{str(root)!r} leads nowhere", "the folder that this runs in is gone") from error
    if length > _LONGEST:
        raise RecipeError(f"{path[:80]}… is too long for a root", f"it has {length} bytes")
    return Path(path)


def opened(path: Path, made: list[Path] | None = None) -> Folder:
    """The folder of an absolute path, reached name by name and through no symbolic link.

    What is missing is made where `made` is given, and added to it, the outermost first; else it is a FileNotFoundError.
    """
    way = os.open(path.anchor, _PASSED)
    here = Path(path.anchor)
    try:
        for name in path.parts[1:]:
            here /= name
            if made is not None and _made(way, name):
                made.append(here)
                with Folder(os.open(".", _FOLDER, dir_fd=way), here.parent) as parent:
                    parent.sync()
            following = os.open(name, _PASSED, dir_fd=way)
            os.close(way)
            way = following
        return Folder(os.open(".", _FOLDER, dir_fd=way), path)
    finally:
        os.close(way)


def remove_empty(path: Path) -> None:
    """Removes a folder of an absolute path, if it is empty and may be removed."""
    with contextlib.suppress(OSError), opened(path.parent) as parent:
        if path.name:
            parent.remove_folder(path.name)


def staged_name() -> str:
    """A name that nothing has."""
    return f"{STAGED}{secrets.token_hex(4)}"


def _made(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):  # another raxl made it meanwhile: then it is that one's
            os.mkdir(name, 0o700, dir_fd=parent)
            return True
    return False


def _single(name: str) -> str:
    """The name, which is one of something that lies in the folder itself."""
    if "/" in name or name in ("", ".", ".."):
        raise ValueError(f"{name!r} is no name in a folder")
    return name


def _sync(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # file systems that cannot sync a folder say that
            raise
