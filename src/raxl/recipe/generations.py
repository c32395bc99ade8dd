"""What is in force below a root: read, never written.

    current -> generations/<id>                 what is in force; replaced in one step, and that is the commit
    generations/<id>/NAME.env … receipt.json    one apply: never changed once it is there
    generations/<id>/baseline.json report.json  what the verifications of it found
    generations/.staged-…                       one that is being written
    .lock                                       there while somebody writes
    recipes/                                    what `raxl recipe fetch` fetched: `raxl.recipe.shelf`

`<id>` is the beginning of the receipt's SHA-256: a receipt that was edited no longer fits its folder. The receipt
holds what was applied, so that what somebody edited is told from it. A generation that `current` does not lead to, by
itself or over the receipts' `previous`, is what a killed run left; `raxl.recipe.writing` sweeps it. These names are
raxl's; everything else below the root is somebody's, and is left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from raxl.errors import RecipeError, UnreadableInput
from raxl.model import codec
from raxl.model.printable import clean
from raxl.model.receipt import RECEIPT, Receipt, ReceiptFile
from raxl.recipe.folder import STAGED, Folder, opened, resolved

CURRENT, GENERATIONS, RECEIPT_FILE, LOCK = "current", "generations", "receipt.json", ".lock"
RECIPES = "recipes"
BASELINE_FILE, REPORT_FILE = "baseline.json", "report.json"
NOTES = (BASELINE_FILE, REPORT_FILE)
"""What `raxl recipe verify` keeps beside a receipt, which does not list them: they change, and go with it."""
LARGEST_RECEIPT = 1 << 23
_ID = re.compile(r"[0-9a-f]{16}")
_STAGED = re.compile(re.escape(STAGED) + r"[0-9a-f]{8}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_OFTEN = 10


@dataclass(frozen=True)
class StandingFile:
    """A file that was applied."""

    path: str
    applied: str
    """Its content as it was applied."""
    applied_sha256: str
    now: str | None
    """Its content as it is; None where it is gone. Bytes that are no UTF-8 are escaped surrogates."""
    now_sha256: str | None

    @property
    def edited(self) -> bool:
        """Whether somebody changed it since, or removed it."""
        return self.now_sha256 != self.applied_sha256


@dataclass(frozen=True)
class State:
    """What is in force below a root. Equal to another where the same is in force, with the same content."""

    root: Path
    """Absolute, and reached through no symbolic link."""
    generation: str | None = None
    """None where nothing is in force, and then nothing of what follows."""
    receipt: Receipt | None = None
    files: tuple[StandingFile, ...] = ()
    added: tuple[str, ...] = ()
    """Names that somebody put beside the files."""
    leftovers: tuple[str, ...] = field(default=(), compare=False)
    """What a killed run left, relative to the root: the next one sweeps it."""
    foreign: tuple[str, ...] = field(default=(), compare=False)
    """What is not raxl's, relative to the root: it stays."""

    @property
    def edited(self) -> tuple[str, ...]:
        """The names of files that are not as they were applied: changed, gone or added."""
        return (*(one.path for one in self.files if one.edited), *self.added)

    @property
    def edited_told(self) -> str:
        """`a.env and b.yaml were changed by hand`"""
        *others, last = map(clean, self.edited)
        names = f"{', '.join(others)} and {last}" if others else last
        return f"{names} {'were' if others else 'was'} changed by hand since raxl wrote there"

    @property
    def contents(self) -> dict[str, str]:
        """By name, what the files hold now that are there."""
        return {one.path: one.now for one in self.files if one.now is not None}

    @property
    def applied(self) -> dict[str, str]:
        """By name, what was applied."""
        return {one.path: one.applied for one in self.files}

    @property
    def sums(self) -> dict[str, str]:
        """By name, their SHA-256."""
        return {one.path: one.now_sha256 for one in self.files if one.now_sha256 is not None}


def state(root: Path) -> State:
    """What is in force below the root; nothing where there is no root. The root itself may be reached through symbolic
    links, which are resolved once; below it none is followed.

    Raises RecipeError where something lies there that raxl did not leave so, UnreadableInput where it cannot be read.
    """
    place = resolved(root)
    with reading(place):
        try:
            folder = opened(place)
        except FileNotFoundError:
            return State(place)
        with folder:
            return standing(folder)


@contextlib.contextmanager
def reading(root: Path) -> Iterator[None]:
    """Tells an OSError in a line of its own."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename and error.filename != str(root) else ""
        raise UnreadableInput(f"{root} cannot be read", f"{where}{error.strerror or error}") from error


def standing(root: Folder) -> State:
    """The same of a root that is open. Another run may take back meanwhile what is in force: then it is read again."""
    for _ in range(_OFTEN):
        name = linked(root)
        with contextlib.ExitStack() as held:
            is_same = _watched(root, name, held)
            try:
                found = generation(root, name) if name else State(root.path)
                leftovers, foreign = _around(root, name)
            except (OSError, RecipeError):
                if is_same():
                    raise
                continue
            if is_same():
                return replace(found, leftovers=leftovers, foreign=foreign)
    raise RecipeError(f"{root.path} changes all the time", "another raxl writes there")


def _watched(root: Folder, name: str | None, held: contextlib.ExitStack) -> Callable[[], bool]:
    """Says whether the generation has been in force all the while. Its folder is held open: one that came back under
    the same name is another."""
    folders: list[Folder] = []
    if name is not None:
        with contextlib.suppress(FileNotFoundError, RecipeError):
            folders.append(held.enter_context(root.folder(GENERATIONS)))
            folders.append(held.enter_context(folders[0].folder(name)))

    def is_same() -> bool:
        if linked(root) != name:
            return False
        return len(folders) < 2 or folders[0].is_open_as(str(name), folders[1].descriptor)

    return is_same


def linked(root: Folder) -> str | None:
    """The id of the generation that is in force."""
    target = root.target(CURRENT)
    if target is None:
        return None
    folder, _, name = target.partition("/")
    if folder != GENERATIONS or not _ID.fullmatch(name):
        told = f"{root.path / CURRENT} is no link of raxl's"
        raise RecipeError(told, f"it points to {clean(target)}", "Move it away")
    return name


def generation(root: Folder, name: str) -> State:
    """What one generation holds now, whether or not it is in force."""
    try:
        with root.folder(GENERATIONS) as generations, generations.folder(name) as folder:
            receipt = receipt_of(folder, name)
            files = tuple(_file(folder, one) for one in receipt.files if one.after_sha256 is not None)
            own = {RECEIPT_FILE, *NOTES, *(one.path for one in files)}
            added = tuple(clean(one) for one in folder.names() if one not in own and not is_staged(one))
            return State(root.path, name, receipt, files, added)
    except FileNotFoundError as error:
        told = f"{root.path / GENERATIONS / name} is not whole"
        raise RecipeError(told, "its folder or its receipt is gone", "Put it back, or remove the whole root") from error


def receipt_of(folder: Folder, name: str) -> Receipt:
    """The receipt of a generation, which is as it was written."""
    content = folder.read(RECEIPT_FILE, LARGEST_RECEIPT)
    where = folder.path / RECEIPT_FILE
    if identity(content) != name:
        raise RecipeError(f"{where} was edited", "its sum is not the name of its folder", "Put it back as it was")
    try:
        receipt = codec.decode(content.decode(), Receipt)
    except ValueError as error:
        raise RecipeError(f"{where} is no receipt", str(error)) from error
    if receipt.schema != RECEIPT or not all(is_name(one.path) for one in receipt.files):
        raise RecipeError(f"{where} is no receipt of this raxl's", f"it says {receipt.schema}")
    return receipt


def chain(root: Folder, generations: Folder, first: str | None) -> set[str] | None:
    """The generations that rollback can reach; None where one of them is missing or damaged, and it is not known."""
    reached: set[str] = set()
    while first is not None and first not in reached:
        reached.add(first)
        try:
            with generations.folder(first) as folder:
                first = receipt_of(folder, first).previous
        except (FileNotFoundError, RecipeError):
            return None
    return reached


def left(root: Folder, name: str, although_edited: bool = False) -> State | None:
    """A generation that nothing reaches and that may go; None where it is not raxl's, or not any more."""
    if not is_id(name):
        return None
    try:
        found = generation(root, name)
    except RecipeError:
        with root.folder(GENERATIONS) as generations, generations.folder(name) as folder:
            return None if folder.names() else State(root.path, name)
    kept = found.added or any(one.edited and one.now is not None for one in found.files)
    return None if kept and not although_edited else found


def identity(receipt: bytes) -> str:
    """The id of the generation with this receipt."""
    return sha256(receipt)[:16]


def sha256(content: bytes) -> str:
    """In hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def is_name(path: str) -> bool:
    """Whether a generation may have a file of this name: one plain name, and none of raxl's own."""
    return _FILE.fullmatch(path) is not None and path not in (RECEIPT_FILE, *NOTES)


def is_id(name: str) -> bool:
    """Whether a generation may have this name."""
    return _ID.fullmatch(name) is not None


def is_staged(name: str) -> bool:
    """Whether it is one that raxl gives to what is not yet in force."""
    return _STAGED.fullmatch(name) is not None


def _file(folder: Folder, one: ReceiptFile) -> StandingFile:
    content = None
    with contextlib.suppress(FileNotFoundError):
        content = folder.read(one.path)
    now = None if content is None else content.decode("utf-8", "surrogateescape")
    found = None if content is None else sha256(content)
    return StandingFile(one.path, one.content or "", one.after_sha256 or "", now, found)


def _around(root: Folder, current: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of what killed runs left, and of what is not raxl's."""
    leftovers, foreign = [], []
    for name in root.names():
        if name == LOCK or (is_staged(name) and root.is_link(name)):
            leftovers.append(name)
        elif name not in (CURRENT, GENERATIONS, RECIPES):
            foreign.append(name)
    with contextlib.suppress(FileNotFoundError), root.folder(GENERATIONS) as generations:
        reached = chain(root, generations, current)
        names = generations.names()
        leftovers += [] if names or current else [GENERATIONS]
        for name in names:
            unreached = reached is not None and name not in reached
            if is_staged(name) or (unreached and left(root, name) is not None):
                leftovers.append(f"{GENERATIONS}/{name}")
            elif unreached or not is_id(name):
                foreign.append(f"{GENERATIONS}/{name}")
    return tuple(leftovers), tuple(map(clean, foreign))
