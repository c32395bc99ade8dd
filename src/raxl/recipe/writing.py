"""What changes something below a root: one lock, one way into force, one way out.

A generation is written whole beside the others, every file and folder of it down to the disk, and then takes effect in
one step: the link `current` is replaced. Whatever ends the process before that step leaves what was in force, and after
it what is new. Nothing is ever changed in place. What is no longer reached is removed by `sweep` alone, and it removes
nothing but what a receipt lists, as it was written.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from raxl.errors import CannotStart, RecipeError
from raxl.recipe import generations
from raxl.recipe.folder import Folder, opened, remove_empty, staged_name
from raxl.recipe.generations import CURRENT, GENERATIONS, LOCK, NOTES, RECEIPT_FILE, State


class Held(NamedTuple):
    """A root in which nobody else writes."""

    folder: Folder
    going: list[Path]
    """Folders that are removed when the lock is let go, those of them that are empty: at first what was made to get
    here. Whoever succeeds takes them out."""


@contextlib.contextmanager
def locked(root: Path, make: bool = False) -> Iterator[Held]:
    """The root, open, its lock held. Raises CannotStart where it cannot be written, RecipeError where another raxl is
    at it; then nothing was changed."""
    going: list[Path] = []
    try:
        with opened(root, going if make else None) as folder, _lock(folder):
            yield Held(folder, going)
    except OSError as error:
        where = f"{error.filename}: " if error.filename and error.filename != str(root) else ""
        told = f"{where}{error.strerror or error}"
        raise CannotStart(f"{root} cannot be written", told, "Nothing was changed") from error
    finally:
        for path in reversed(going):
            remove_empty(path)


def put(root: Folder, contents: Mapping[str, bytes], receipt: Callable[[Mapping[str, os.stat_result]], bytes]) -> bytes:
    """Writes a generation and puts it in force: all of it, or nothing is changed. `receipt` makes the receipt of what
    the files became; gives that."""
    try:
        with contextlib.suppress(FileExistsError):
            root.make(GENERATIONS)
        with root.folder(GENERATIONS) as every:
            staged = staged_name()
            every.make(staged)
            with every.folder(staged) as folder:
                written = {name: folder.write(name, content) for name, content in contents.items()}
                told = receipt(written)
                folder.write(RECEIPT_FILE, told)
                folder.sync()
            name = generations.identity(told)
            every.rename(staged, name)
            every.sync()
        root.sync()
        switch(root, name)
        return told
    except BaseException:
        # A link that was replaced already leads there: then it stays.
        with contextlib.suppress(OSError, RecipeError):
            sweep(root)
        raise


def switch(root: Folder, name: str | None) -> None:
    """Puts a generation in force that is there and whole, or none: one step."""
    if name is None:
        root.remove(CURRENT)
    else:
        generations.generation(root, name)
        root.point(CURRENT, f"{GENERATIONS}/{name}")
    try:
        root.sync()
    except OSError as error:
        told = f"{root.path} has changed, and the disk does not confirm it"
        raise CannotStart(told, error.strerror or str(error), "After a power failure it may be as before") from error


def sweep(root: Folder, undone: str | None = None) -> list[Path]:
    """Removes what is not reached from `current`: what a killed run left, and the generation that was `undone`. Gives
    the folders that were made for it, the outermost first: nobody else will know.

    A generation in which somebody changed something stays, if it is not the undone one. What somebody put there stays
    in any case, and the folder around it.
    """
    made: set[str] = set()
    for name in root.names():
        if generations.is_staged(name) and root.is_link(name):
            root.remove(name)
    current = generations.linked(root)
    try:
        every = root.folder(GENERATIONS)
    except FileNotFoundError:
        return []
    with every:
        reached = generations.chain(root, every, current)
        for name in every.names():
            if generations.is_staged(name):
                _clear_staged(every, name)
            elif name == undone or (reached is not None and name not in reached):
                going = generations.left(root, name, although_edited=name == undone)
                if going is not None:
                    _clear(every, name, going.sums)
                    made |= set(going.receipt.made_folders) if going.receipt else set()
    if current is None:
        root.remove_folder(GENERATIONS)
    return ways(root.path, made)


def ways(root: Path, made: Iterable[str]) -> list[Path]:
    """The root and the folders above it, those of them that were made for it, the outermost first."""
    known = set(made)
    return [path for path in (*reversed(root.parents), root) if str(path) in known]


def tidy(state: State) -> None:
    """Removes what a killed run left, if there is any."""
    if state.leftovers:
        with locked(state.root) as held:
            held.going.extend(sweep(held.folder))


def _clear_staged(every: Folder, name: str) -> None:
    """Removes the files of a generation that was never in force."""
    with every.folder(name) as folder:
        for one in folder.names():
            if generations.is_name(one) or one == RECEIPT_FILE:
                folder.remove(one)
    every.remove_folder(name)


def _clear(every: Folder, name: str, paths: Iterable[str]) -> None:
    """Removes these files of a generation, and its receipt last: what is killed on the way is gone on with."""
    with every.folder(name) as folder:
        staged = [one for one in folder.names() if generations.is_staged(one)]
        for path in (*paths, *NOTES, *staged, RECEIPT_FILE):
            with contextlib.suppress(FileNotFoundError):
                folder.remove(path)
    every.remove_folder(name)


@contextlib.contextmanager
def _lock(root: Folder) -> Iterator[None]:
    """Holds the lock, without waiting for it. Its file is there only meanwhile."""
    descriptor = _locked(root)
    while not root.is_open_as(LOCK, descriptor):  # whoever held it removed the file before this one locked it
        os.close(descriptor)
        descriptor = _locked(root)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if root.is_open_as(LOCK, descriptor):
                root.remove(LOCK)
        os.close(descriptor)


def _locked(root: Folder) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(LOCK, flags, 0o600, dir_fd=root.descriptor)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size:
            raise RecipeError(f"{root.path / LOCK} is no lock of raxl's", "raxl's is an empty file", "Move it away")
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        told = f"another raxl recipe writes below {root.path}"
        raise RecipeError(told, f"it holds {LOCK}", "Try again when it has ended") from error
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
