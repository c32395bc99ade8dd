"""A copy of `/sys` and `/proc`: a folder, or a tar of one, answering like the machine that it was copied from.

hwloc's hwloc-gather-topology makes such copies. Links are followed inside the copy only; a path that the copy lacks was
not captured, which is not the same as absent on the machine.
"""

from __future__ import annotations

import os
import stat
from typing import Iterable, NamedTuple, Protocol

from raxl.host import Answer, Question, allowed
from raxl.host.archive import KEPT, Entry
from raxl.host.live import DATA_LIMIT, NO_DATA, read, refusal
from raxl.host.record import Recording

MOST_LINKS = 40
MOST_STEPS = 2000
"""Of one question: links that lead through links can make a path of any length."""
TOPS = ("sys", "proc")
NOT_CAPTURED = Answer(None, "not-asked", "the recording does not hold it")
_TOO_MANY = Answer(None, "failed", "Too many levels of symbolic links")


class Tree(Protocol):
    """Files, folders and links by their path below the root, without a leading slash."""

    def kind(self, path: str) -> str | None:
        """file | folder | link | other; None where there is nothing."""

    def target(self, path: str) -> str:
        """A link's target."""

    def content(self, path: str) -> bytes:
        """A file's first MiB; may raise OSError."""

    def names(self, path: str) -> list[str]:
        """A folder's names; may raise OSError."""


class FolderTree:
    """A tree in a folder of this machine. Only regular files are opened: a pipe in it would block for ever."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root)

    def _path(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    def kind(self, path: str) -> str | None:
        try:
            mode = os.lstat(self._path(path)).st_mode
        except (OSError, ValueError):
            return None
        for test, name in ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "link")):
            if test(mode):
                return name
        return "other"

    def target(self, path: str) -> str:
        return os.readlink(self._path(path))

    def content(self, path: str) -> bytes:
        descriptor = os.open(self._path(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return read(descriptor, KEPT)
        finally:
            os.close(descriptor)

    def names(self, path: str) -> list[str]:
        return os.listdir(self._path(path))


class ArchiveTree:
    """A tree in memory, from an archive's entries; `top` is the folder inside the archive that holds sys and proc."""

    def __init__(self, entries: Iterable[Entry], top: str) -> None:
        self._files: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._folders: dict[str, set[str]] = {"": set()}
        skip = len(top) + 1 if top else 0
        for entry in entries:
            if top and not entry.path.startswith(top + "/"):
                continue
            path = entry.path[skip:]
            if entry.kind == "file":
                self._files[path] = entry.content
            elif entry.kind == "link":
                self._links[path] = _below(entry.target, top)
            else:
                self._folders.setdefault(path, set())
            self._enter(path)

    def _enter(self, path: str) -> None:
        while path:
            parent, _, name = path.rpartition("/")
            names = self._folders.setdefault(parent, set())
            if name in names:
                return
            names.add(name)
            path = parent

    def kind(self, path: str) -> str | None:
        if path in self._files:
            return "file"
        if path in self._links:
            return "link"
        return "folder" if path in self._folders else None

    def target(self, path: str) -> str:
        return self._links[path]

    def content(self, path: str) -> bytes:
        return self._files[path]

    def names(self, path: str) -> list[str]:
        return list(self._folders[path])


def _below(target: str, top: str) -> str:
    """A hard link names its target from the archive's top; below `top` it is an absolute path of the tree."""
    return target[len(top) + 1 :] if top and target.startswith(f"/{top}/") else target


def top_of(paths: Iterable[str]) -> str | None:
    """The folder that holds `sys` or `proc`, the outermost; None when no such folder is there."""
    best: str | None = None
    for path in paths:
        parts = path.split("/")
        for depth, part in enumerate(parts[:3]):
            if part in TOPS and len(parts) > depth + 1:
                top = "/".join(parts[:depth])
                if best is None or top.count("/") + bool(top) < best.count("/") + bool(best):
                    best = top
                break
        if best == "":
            break
    return best


class _Resolved(NamedTuple):
    path: str
    kind: str


class TreeRecording(Recording):
    """A recording that answers from a tree, and keeps what it was asked."""

    def __init__(self, tree: Tree, *, name: str, source: str, created: str) -> None:
        super().__init__(name=name, source=source, created=created, unasked=NOT_CAPTURED)
        self._tree = tree
        self._real: dict[str, _Resolved | Answer] = {"": _Resolved("", "folder")}
        self._steps = 0

    def _look(self, question: Question) -> Answer | None:
        return self._ask(question) if question.kind in ("text", "data", "names", "link") else None

    def _ask(self, question: Question) -> Answer:
        self._steps = 0
        if question.kind == "data" and not allowed.is_data(question.subject):
            return NO_DATA
        found = self._resolve(question.subject.strip("/"))
        if isinstance(found, Answer):
            return found
        if question.kind == "link":
            return Answer("/" + found.path)
        try:
            if question.kind == "names":
                return Answer(sorted(self._tree.names(found.path))) if found.kind == "folder" else NOT_CAPTURED
            if found.kind != "file":
                return NOT_CAPTURED if found.kind == "folder" else Answer(None, "failed", "it is no regular file")
            content = self._tree.content(found.path)
        except OSError as error:
            return refusal(error)
        if question.kind == "data":
            return Answer(content[:DATA_LIMIT].hex())
        return Answer(allowed.file_text(question.subject, content.decode("utf-8", "surrogateescape")))

    def _resolve(self, path: str, links: int = 0) -> _Resolved | Answer:
        """The path with every link followed, or why there is none. Folders are remembered: questions share them."""
        known = self._real.get(path)
        if known is not None:
            return known
        parent, _, name = path.rpartition("/")
        found = self._resolve(parent, links)
        if isinstance(found, _Resolved):
            found = self._step(found, name, links)
        if isinstance(found, Answer) or found.kind == "folder":
            self._real[path] = found
        return found

    def _step(self, parent: _Resolved, name: str, links: int) -> _Resolved | Answer:
        self._steps += 1
        if self._steps > MOST_STEPS:
            return _TOO_MANY
        if name in ("", "."):
            return parent
        if name == "..":
            above = parent.path.rpartition("/")[0]
            return _Resolved(above, "folder")
        path = f"{parent.path}/{name}" if parent.path else name
        kind = self._tree.kind(path) if parent.kind == "folder" else None
        if kind is None:
            return NOT_CAPTURED
        if kind != "link":
            return _Resolved(path, kind)
        target = self._tree.target(path)
        if links >= MOST_LINKS or len(target) > MOST_STEPS:
            return _TOO_MANY
        start = _Resolved("", "folder") if target.startswith("/") else parent
        return self._walk(start, target, links + 1)

    def _walk(self, start: _Resolved, target: str, links: int) -> _Resolved | Answer:
        found: _Resolved | Answer = start
        for name in target.split("/"):
            if isinstance(found, Answer):
                return found
            found = self._step(found, name, links)
        return found
