"""Asks a live machine through one child process, which may hang, crash or leave without taking raxl with it."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

from raxl.host import Answer, Question, served
from raxl.host.record import Recording, plain, revived

ANSWER_SECONDS = 2.0
COMMAND_SECONDS = 12.0
"""A command ends itself after 10 s (`raxl.host.live`); two more say that the asker itself hangs."""
LIBRARY_SECONDS = 10.0
"""A vendor library's first call: it may have to wake every device."""
SLOW_SECONDS = 3.0
"""What takes longer is told while it is waited for."""
REPLACEMENTS = 2
_PROGRAM = """
import _thread, json, os, sys
a = json.load(sys.stdin)
def leave_with_parent():
    os.read(a["watched"], 1)
    os.killpg(0, 9)
_thread.start_new_thread(leave_with_parent, ())
sys.path += a["packages"]
if a["modules"] is None:
    sys.path[:0] = a["path"]
else:
    import importlib.abc, importlib.machinery
    class Packed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
        def find_spec(self, name, path, target=None):
            if name in a["modules"]:
                return importlib.machinery.ModuleSpec(name, self, is_package=a["modules"][name][0])
        def create_module(self, spec):
            return None
        def exec_module(self, module):
            exec(compile(a["modules"][module.__name__][1], module.__name__, "exec"), module.__dict__)
    sys.meta_path.insert(0, Packed())
from raxl.host.child import run
run(a["descriptor"], a["root"], a["tasks"], a["known"], a["libraries"], a["given_up"], a["recording"])
"""


class Asker:
    """One recording of the live machine, made by at most three children in a row."""

    def __init__(
        self,
        tasks: Sequence[str],
        *,
        root: str = "/",
        budget_seconds: float = 20.0,
        path: Sequence[str] = (),
        modules: Mapping[str, Sequence[Any]] | None = None,
        libraries: Mapping[str, str] | None = None,
        packages: Sequence[str] = (),
        recording: str | None = None,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        """`path` names folders with tasks that are not raxl's; `modules` holds raxl's own modules by name (is it a
        package, its text) where they are not installed; `libraries` the class of each vendor library by its name,
        and `packages` the folders where the bindings of those are. `recording` is a snapshot file that answers instead
        of the machine; raises `CannotStart` where it cannot be read. `answer_seconds`: how long a plain question is
        waited for."""
        self._recording = recording
        self._served = None if recording is None else served.opened(recording)
        self._path = [str(Path(__file__).resolve().parents[2]), *path] if modules is None else list(path)
        self._tasks = list(tasks)
        self._answer_seconds = answer_seconds
        self._modules = modules
        self._libraries = dict(libraries or {})
        self._packages = list(packages)
        self._hangs = 0
        self._given_up: dict[str, tuple[str, str]] = {}
        self._crashed: dict[str, str] = {}
        """By library, the device at which it first ended a child."""
        self._root = root
        self._beginning = time.monotonic()
        self.allow(budget_seconds)
        self._answers: dict[Question, Answer] = {}
        self._notes: list[tuple[str, str, str]] = []
        self._child: subprocess.Popen[bytes] | None = None
        self._stream: int | None = None
        self._alive: int | None = None
        """Held open while this process wants the child: when it closes, however that comes, the child leaves."""
        self._told_slow: Callable[[Question], None] = lambda _: None
        self._question: Question | None = None
        """What the child was last seen to ask."""
        self._woken: set[str] = set()
        """The libraries that answered this child."""

    def allow(self, budget_seconds: float) -> None:
        """Sets the whole budget, counted from the asker's beginning."""
        self._budget = budget_seconds
        self._deadline = self._beginning + budget_seconds

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        if self._stream is not None:
            os.close(self._stream)

    def record(self, told_slow: Callable[[Question], None] | None = None) -> Recording:
        """Everything that the tasks asked. What they did not come to within the budget is `timed-out`.

        `told_slow` is given the question that is being waited for, where its answer takes more than three seconds.
        """
        self._told_slow = told_slow or self._told_slow
        unasked = self._served.unasked if self._served else Answer(None, "not-asked", "raxl did not ask this")
        try:
            for attempt in range(REPLACEMENTS + 1):
                if attempt or self._stream is None:
                    self.start()
                if self._converse():
                    break
                if time.monotonic() >= self._deadline:
                    unasked = Answer(
                        None, "timed-out", f"the node's {self._budget:g} s were over before this was asked"
                    )
                    break
            else:
                unasked = self._given_up_for_good()
        finally:
            self._leave()
        recording = Recording(self._answers, notes=self._notes, unasked=unasked)
        if self._served is not None:
            recording.credit(self._served, f"recording:{self._recording}")
        return recording

    def _given_up_for_good(self) -> Answer:
        """What answers for all that three children did not come to."""
        if self._hangs > REPLACEMENTS:
            return Answer(None, "timed-out", f"not asked any more after {self._hangs} answers that never came")
        return Answer(None, "failed", f"the asking process died or hung {REPLACEMENTS + 1} times")

    def _converse(self) -> bool:
        """Runs one child to its end (true), or until it hangs, dies or the budget is over (false)."""
        stream, self._stream = self._stream, None
        assert stream is not None
        task: str | None = None
        self._question, self._woken = None, set()
        try:
            for line in self._lines(stream):
                word, *rest = line
                if word == "ask":
                    self._question = Question(*rest)
                elif word == "answer" and self._question is not None:
                    self._answers[self._question] = _revived(self._question, rest)
                    if self._question.kind == "library":
                        self._woken.add(self._question.subject.split(" ", 1)[0])
                    self._question = None
                elif word == "task" and rest[0] in self._tasks:
                    task = rest[0]
                elif word == "note":
                    self._notes.append((rest[0], rest[1], rest[2]))
                elif word == "end":
                    return True
        except _Broken:  # it ends like a crash, at the question that it was at
            if task is not None and not task.startswith(_OWN):
                self._question = None  # which another's plug-in may have forged: it is the task that is given up
        except _Hung as hung:
            self._hangs += 1
            if self._question is not None:
                self._answers[self._question] = Answer(None, "timed-out", f"no answer within {hung.seconds:g} s")
                self._judge_library(self._question, "timed-out", f"did not answer within {hung.seconds:g} s")
            elif task is not None:
                self._give_up(task, "timed-out", f"it did not go on within {hung.seconds:g} s")
            return False
        finally:
            os.close(stream)
            self._leave()
        if self._question is not None:
            self._answers[self._question] = Answer(None, "failed", "the asking process died at this question")
            self._judge_library(self._question, "failed", "ended the asking process")
        elif task is not None:
            self._give_up(task, "failed", "it ended the asking process")
        else:
            self._notes.append(("asker", "failed", "the asking process could not start"))
        return False

    def _judge_library(self, question: Question, reason: str, deed: str) -> None:
        """Asks no more where each call could cost as much again: of the device at which a library hung, or crashed
        twice, and of the whole library where that was another device, or none."""
        if question.kind != "library":
            return
        name, call, *devices = question.subject.split(" ")
        place = " ".join((name, *devices)) if len(devices) == 1 else name
        if reason != "timed-out" and name not in self._crashed:
            self._crashed[name] = place
            return
        before = {self._crashed.get(name, place), *(gone for gone in self._given_up if gone.startswith(name))}
        gone = place if before == {place} else name
        self._given_up[gone] = (reason, f"{name} {deed} at {' '.join((call, *devices))!r}, and was asked no more")

    def _give_up(self, task: str, reason: str, message: str) -> None:
        self._notes.append((task, reason, message))
        self._tasks.remove(task)

    def start(self) -> None:
        """Starts a child now, so that it asks while the caller does something else; `record` does it otherwise."""
        self._stream, descriptor = os.pipe()
        watched, self._alive = os.pipe()
        try:
            self._spawn(descriptor, watched)
        finally:
            os.close(descriptor)
            os.close(watched)

    def _spawn(self, descriptor: int, watched: int) -> None:
        settings = {
            "path": self._path,
            "modules": self._modules,
            "descriptor": descriptor,
            "watched": watched,
            "root": self._root,
            "tasks": self._tasks,
            "libraries": self._libraries,
            "packages": self._packages,
            "given_up": self._given_up,
            "recording": self._recording,
            "known": [[*question, plain(answer)] for question, answer in self._answers.items()],
        }
        with tempfile.TemporaryFile() as file:
            file.write(json.dumps(settings).encode("ascii"))
            file.seek(0)
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(descriptor, watched),
                env={k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON"))},
                start_new_session=True,
            )

    def _lines(self, stream: int) -> Any:
        """The child's lines as they come; ends when it closes the stream, raises `_Hung` when it goes silent."""
        rest = b""
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            silent_since = time.monotonic()
            while True:
                until = min(silent_since + self._patience(), self._deadline)
                slow = silent_since + SLOW_SECONDS
                if until > slow and not self._speaks(selector, slow) and self._question:
                    self._told_slow(self._question)
                if not self._speaks(selector, until):
                    if self._is_gone():  # what it started may hold the stream open
                        return
                    raise _Hung(until - silent_since)
                data = os.read(stream, 1 << 20)
                if not data:
                    return
                silent_since = time.monotonic()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    yield _words(line)

    def _speaks(self, selector: selectors.BaseSelector, until: float) -> bool:
        """Waits for the child to say something; false when it says nothing until then, or is gone."""
        while not selector.select(min(_GLANCE_SECONDS, max(0.0, until - time.monotonic()))):
            if time.monotonic() >= until or self._is_gone():
                return bool(selector.select(0))
        return True

    def _is_gone(self) -> bool:
        return self._child is None or self._child.poll() is not None

    def _patience(self) -> float:
        """How long the question may take that the child asks now. A library that hung before is not waited for."""
        kind, subject = self._question or ("", "")
        name = subject.split(" ", 1)[0]
        if kind == "library" and name not in self._woken and not any(gone.startswith(name) for gone in self._given_up):
            return LIBRARY_SECONDS
        return COMMAND_SECONDS if kind == "command" else self._answer_seconds

    def _leave(self) -> None:
        """Ends the child and all that it started, and does not wait for what cannot die."""
        child, self._child = self._child, None
        if self._alive is not None:
            os.close(self._alive)
            self._alive = None
        if child is None:
            return
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        until = time.monotonic() + 0.2
        while child.poll() is None and time.monotonic() < until:
            time.sleep(0.002)


def _words(line: bytes) -> Any:
    """One line of the protocol; a library may have written into the stream."""
    try:
        words = json.loads(line)
    except ValueError as error:
        raise _Broken from error
    if not (isinstance(words, list) and words and isinstance(words[0], str) and len(words) == _LENGTHS.get(words[0])):
        raise _Broken
    if words[0] != "answer" and not all(isinstance(one, str) for one in words):
        raise _Broken
    return words


def _revived(question: Question, stored: Sequence[Any]) -> Answer:
    """The answer of a line; a plug-in may have forged it."""
    try:
        answer = revived(question, stored)
    except (TypeError, ValueError) as error:
        raise _Broken from error
    if not isinstance(answer.reason, (str, type(None))) or not isinstance(answer.message, str):
        raise _Broken
    return answer


_LENGTHS = {"task": 2, "ask": 3, "answer": 4, "note": 4, "end": 1}
_GLANCE_SECONDS = 0.25
_OWN = "raxl."


class _Broken(Exception):
    """The stream holds what is no line of the protocol."""


class _Hung(Exception):
    """The child has said nothing for `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = max(0.0, round(seconds, 1))
