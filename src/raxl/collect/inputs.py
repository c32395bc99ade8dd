"""What `--from` names, opened: one recording a machine."""

from __future__ import annotations

import os
import sys
from itertools import groupby
from pathlib import Path
from typing import Iterable, Mapping, NamedTuple, Sequence, TypeVar

from raxl.collect import clock, log_stream, machines
from raxl.errors import CannotStart, NoNodes, TooLarge, UnknownForm, UnreadableInput
from raxl.host import Answer, CommandOutput, Question, allowed, archive, plain_archive, snapshot
from raxl.host.record import Recording
from raxl.intake import documents, forms, tree

LARGEST_TEXT = 256 << 20
STANDARD_INPUT = "-"


def opened(paths: Sequence[str], as_node: str | None = None) -> list[Recording]:
    """The recordings that the paths hold, those of one machine together.

    One unreadable path among several becomes a recording without answers that says so; the only one is raised.
    """
    parts = listed(paths)
    return machines.together(gathered(parts, [open_part(part) for part in parts]), as_node)


class Part(NamedTuple):
    """One thing to open: a path that was given, or an entry of a folder of recordings."""

    path: str
    given: str
    """The path that named it."""
    is_entry: bool
    is_alone: bool
    """Whether one path was given: what is wrong with it is raised."""


def listed(paths: Sequence[str]) -> list[Part]:
    """All that is to be opened, in its order."""
    parts = []
    for path in paths:
        entries = _entries(path)
        parts += [Part(one, path, entries is not None, len(paths) == 1) for one in entries or [path]]
    return parts


def open_part(part: Part) -> list[Recording] | UnknownForm:
    """The recordings that it holds; one without answers, that says so, for what cannot be read.

    An entry of a folder that is of no known form gives the error, which `gathered` weighs.
    """
    try:
        return _open_entry(part.path) if part.is_entry else _open(part.path)
    except UnknownForm as error:
        if part.is_entry:
            return error
        return _failed(part, error)
    except CannotStart as error:
        if part.is_entry:
            return [_unreadable(part.path, error)]
        return _failed(part, error)


_Held = TypeVar("_Held")


def gathered(parts: Sequence[Part], opened: Sequence[list[_Held] | UnknownForm]) -> list[_Held | Recording]:
    """What the parts hold, in one list. In a folder what is of no known form is passed over, unless all of it is."""
    found: list[_Held | Recording] = []
    for _, group in groupby(zip(parts, opened, strict=True), key=lambda pair: pair[0].given):
        pairs = list(group)
        held = [one for _, one in pairs if not isinstance(one, UnknownForm)]
        for one in held:
            found += one
        if not any(held):
            part, error = pairs[-1]
            if isinstance(error, UnknownForm):
                found += _failed(part._replace(path=part.given), error)
    return found


def _failed(part: Part, error: CannotStart) -> list[Recording]:
    if part.is_alone:
        raise error
    return [_unreadable(part.path, error)]


def _unreadable(path: str, error: CannotStart) -> Recording:
    recording = _empty(path)
    recording.notes = (("node", "failed", str(error)),)
    return recording


def _empty(path: str) -> Recording:
    name = Path(path).name or path
    for ending in (".gz", ".bz2", ".xz", ".tar", ".xml", ".txt"):
        name = name.removesuffix(ending)
    return Recording(
        name="standard input" if path == STANDARD_INPUT else name,
        source=path,
        created=clock.now(),
        unasked=Answer(None, "not-asked", "what was given does not say it"),
    )


def _open(path: str) -> list[Recording]:
    if path == STANDARD_INPUT:
        start = sys.stdin.buffer.read(log_stream.LARGEST_WHOLE)
        if len(start) == log_stream.LARGEST_WHOLE and log_stream.is_log(start):
            return _of_log(log_stream.condensed(sys.stdin.buffer, start), path)
        if len(start) == log_stream.LARGEST_WHOLE and log_stream.is_endless(start):
            raise _no_form(path)
        return _from_bytes(start + sys.stdin.buffer.read(archive.LARGEST + 1 - len(start)), path)
    if not os.path.lexists(path):
        raise UnreadableInput(f"{path or repr(path)}: no such file")
    try:
        return _open_folder(path) if Path(path).is_dir() else _open_file(path)
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error


def _open_file(path: str) -> list[Recording]:
    status = os.stat(path)
    if not os.path.isfile(path):
        raise UnreadableInput(f"{path} is no regular file")
    with open(path, "rb") as file:
        if archive.is_archive(file.read(512)):
            file.seek(0)
            if status.st_size <= plain_archive.LARGEST_PACKED:
                files = plain_archive.files(file.read()) or {}
                if snapshot.is_snapshot(files, top := _top(files)):
                    return snapshot.read(files, path, top)
                file.seek(0)
            return _from_archive(archive.entries(file, path), path)
        file.seek(0)
        head = file.read(log_stream.HEAD) if status.st_size > log_stream.LARGEST_WHOLE else b""
        if head and log_stream.is_log(head):
            file.seek(0)
            return _of_log(log_stream.condensed(file), path)
        if status.st_size > LARGEST_TEXT:
            raise TooLarge(f"{path} is larger than 256 MiB")
        if log_stream.is_endless(head):
            raise _no_form(path)
        file.seek(0)
        return _from_bytes(file.read(), path)


def _from_bytes(content: bytes, path: str) -> list[Recording]:
    if archive.is_archive(content[:512]):
        import io

        return _from_archive(archive.entries(io.BytesIO(content), path), path)
    if len(content) > LARGEST_TEXT:
        raise TooLarge(f"{path} is larger than 256 MiB")
    text = forms.decoded(content)
    held = forms.recognise(text)
    if not held and (form := forms.empty(text)):
        raise NoNodes(f"{path} is empty", f"{form} that lists no node")
    if not held:
        raise _no_form(path)
    recordings = [_empty(path)]
    for question, own in held:
        text, *others = documents.machines(question.subject, allowed.command_output(own))
        recordings[0].answers[question] = _answer(question, text)
        for other in others:
            recordings.append(_empty(path))
            recordings[-1].answers[question] = _answer(question, other)
    return recordings


def _no_form(path: str) -> UnknownForm:
    return UnknownForm(f"{path}: not a form that is known", f"known: {forms.KNOWN}")


def _of_log(logs: Sequence[str], path: str) -> list[Recording]:
    """A machine for each log that a file held."""
    recordings = [_empty(path) for _ in logs]
    for recording, text in zip(recordings, logs, strict=True):
        recording.answers[Question("document", log_stream.FORM)] = Answer(text)
    return recordings


def _answer(question: Question, text: str) -> Answer:
    return Answer(CommandOutput(0, text, "") if question.kind == "command" else text)


def _from_archive(entries: Iterable[archive.Entry], path: str) -> list[Recording]:
    held = list(entries)
    if held and held[-1].kind == archive.CUT:
        return [_cut(recording) for recording in _from_archive(held[:-1], path)]
    files = {entry.path: entry.content for entry in held if entry.kind == "file"}
    top = _top(files)
    if snapshot.is_snapshot(files, top):
        return snapshot.read(files, path, top)
    top_folder = tree.top_of(entry.path for entry in held)
    if top_folder is None:
        raise UnknownForm(
            f"{path}: not a form that is known", "the archive holds neither a raxl snapshot nor a sysfs tree"
        )
    return [_of_tree(tree.ArchiveTree(held, top_folder), path)]


def _cut(recording: Recording) -> Recording:
    words = "the archive is cut off: it lacks a tar's end, and what stood behind is not known"
    recording.notes = (*recording.notes, ("recording", "failed", words))
    return recording


def _top(files: Mapping[str, bytes]) -> str:
    """What stands before the paths of a snapshot's files: its folder, where it does not lie bare."""
    top = f"{snapshot.FOLDER}/"
    return top if snapshot.is_snapshot(files, top) else ""


def _of_tree(source: tree.Tree, path: str) -> Recording:
    empty = _empty(path)
    return tree.TreeRecording(source, name=empty.name, source=path, created=empty.created)


def _entries(path: str) -> list[str] | None:
    """What is to be opened of a folder that holds recordings and is none itself; None for anything else."""
    folder = Path(path)
    if path == STANDARD_INPUT or not path or not folder.is_dir():
        return None
    try:
        if _is_snapshot(folder) or _tree_in(folder) is not None:
            return None
        return sorted(str(child) for child in folder.iterdir() if not child.name.startswith(".")) or None
    except OSError:
        return None  # opening it tells why


def _is_snapshot(folder: Path) -> bool:
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        return False
    with manifest.open("rb") as file:
        return snapshot.is_snapshot({manifest.name: file.read(archive.KEPT)})


def _tree_in(folder: Path) -> Path | None:
    """The root of a sysfs tree in the folder: itself, or one below it."""
    for root in (folder, *sorted(child for child in folder.iterdir() if child.is_dir())):
        if any((root / top).is_dir() for top in tree.TOPS):
            return root
    return None


def _open_folder(path: str) -> list[Recording]:
    """A folder that is a recording itself, or holds none."""
    folder = Path(path)
    if _is_snapshot(folder):
        files = _files_of(folder)
        return snapshot.read(files, path)
    root = _tree_in(folder)
    if root is not None:
        return [_of_tree(tree.FolderTree(str(root)), path)]
    raise UnknownForm(f"{path}: not a form that is known", "the folder is empty")


def _open_entry(path: str) -> list[Recording]:
    try:
        return _open_file(path) if os.path.isfile(path) else _open_snapshot_folder(path)
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error


def _open_snapshot_folder(path: str) -> list[Recording]:
    files = _files_of(Path(path)) if os.path.isfile(os.path.join(path, "manifest.json")) else {}
    if not snapshot.is_snapshot(files):
        raise UnknownForm(f"{path}: not a form that is known", "a folder without a manifest")
    return snapshot.read(files, path)


def _files_of(folder: Path) -> dict[str, bytes]:
    """The regular files of an unpacked snapshot, within the limits of an archive; links in it are not followed."""
    files: dict[str, bytes] = {}
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                content = file.read(archive.KEPT)
            total += len(content)
            files[os.path.relpath(path, folder)] = content
            if total > archive.LARGEST or len(files) > archive.MOST_ENTRIES:
                raise TooLarge(f"{folder} holds more than 512 MiB or 200,000 files")
    return files
