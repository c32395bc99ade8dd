"""This machine, recorded now."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Callable, Sequence

from raxl import __version__
from raxl.collect import clock
from raxl.errors import CannotStart, UnreadableInput
from raxl.host import served, stand_in
from raxl.host.asker import ANSWER_SECONDS, Asker
from raxl.host.record import Recording
from raxl.plugins import registry
from raxl.plugins.discovery import Installed

BUDGET_SECONDS = 20.0
QUICK_SECONDS, _QUICK_ANSWER_SECONDS = 0.7, 0.15
"""A node's budget, and an answer's, where no driver is asked: files of the kernel come at once or never."""
ROOT_VARIABLE = "RAXL_HOST_ROOT"
"""Where the host's file system is mounted, for a raxl that runs in a container beside it."""


_begun: dict[str, Asker] = {}
"""The asker that began before the command line was read, by which questions it asks."""


def begin(questions: str = registry.COMMON) -> None:
    """Begins to ask this machine, for an `asker` to come. What is wrong with its variables is told by that one."""
    with suppress(CannotStart):
        _begun[questions] = asker(budget(questions), questions=questions)


def budget(questions: str) -> float:
    """A node's whole budget in seconds, unless somebody gives another."""
    return QUICK_SECONDS if questions == registry.QUICK else BUDGET_SECONDS


def leave() -> None:
    """Ends an asker that began and was not wanted."""
    while _begun:
        with _begun.popitem()[1]:
            pass


def asker(budget_seconds: float, plugins: Sequence[Installed] = (), questions: str = registry.COMMON) -> Asker:
    """An asker of this machine that has begun; `budget_seconds` count from its beginning. `plugins`: those that raxl
    does not ship; they ask last. `questions`: which, in the registry's words."""
    if questions in _begun and not plugins:
        early = _begun.pop(questions)
        early.allow(budget_seconds)
        return early
    leave()
    tasks = [*registry.ask_tasks(questions), *(one.entry for one in plugins)]
    patience = _QUICK_ANSWER_SECONDS if questions == registry.QUICK else ANSWER_SECONDS
    return _started(tasks, budget_seconds, plugins, patience)


def prober(entries: Sequence[str], budget_seconds: float, plugins: Sequence[Installed] = ()) -> Asker:
    """The same, of what the probes of these plug-ins (`module:Class`) ask alone."""
    return _started([f"{entry}.probe" for entry in entries], budget_seconds, plugins)


def _started(
    tasks: Sequence[str],
    budget_seconds: float,
    plugins: Sequence[Installed],
    answer_seconds: float = ANSWER_SECONDS,
) -> Asker:
    root = os.environ.get(ROOT_VARIABLE) or "/"
    if not os.path.isdir(root):
        raise UnreadableInput(f"{ROOT_VARIABLE} names {root}, which is no folder")
    begun = Asker(
        tasks,
        root=root,
        budget_seconds=budget_seconds,
        libraries=registry.LIBRARIES,
        packages=[*_folders(registry.BINDINGS), *dict.fromkeys(one.folder for one in plugins if one.folder)],
        recording=os.environ.get(served.VARIABLE) or None,
        answer_seconds=answer_seconds,
    )
    begun.start()
    return begun


def _folders(packages: Sequence[str]) -> list[str]:
    """Where the packages are installed, those that are; none of them is imported here."""
    found = [spec for spec in map(find_spec, packages) if spec is not None and spec.origin]
    return list(
        dict.fromkeys(str(Path(str(spec.origin)).parents[bool(spec.submodule_search_locations)]) for spec in found)
    )


def recorded(begun: Asker, told_slow: Callable[[str], None] | None = None) -> Recording:
    """Everything that it asked. `told_slow` is given a line where an answer lets itself be waited for."""
    recording = begun.record(lambda question: told_slow(f"waiting for {question.subject} …") if told_slow else None)
    recording.created = clock.now()
    if recording.source == "local":
        recording.source, recording.recorded_by = stand_in.source(), __version__
    return recording
