"""The process that asks. It runs the asking half of sources and plug-ins and streams every answer to its parent.

A question may hang in the kernel, a library may print, crash or leave: all of that happens here, and costs the parent
one answer. The protocol is JSON lines on a descriptor of its own, which nothing that prints to descriptor 1 can harm:

    ["task", NAME]                   the asking half that now begins
    ["ask", KIND, SUBJECT]           the question that is now put
    ["answer", VALUE, REASON, TEXT]  its answer; the same write carries the next question
    ["note", TASK, REASON, TEXT]     a task that raised
    ["end"]                          all tasks are through
"""

from __future__ import annotations

import importlib
import json
import os
from typing import Any, Callable, Mapping, Sequence, Tuple

from raxl.host import Answer, Question
from raxl.host.live import LiveHost
from raxl.host.record import RecordedHost, ask_host, plain, revived


class _Stream:
    """Lines to the parent. An answer waits for the next question, so that both cost one write."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting = ""

    def hold(self, *line: Any) -> None:
        self._waiting += json.dumps(line) + "\n"

    def send(self, *line: Any) -> None:
        self.hold(*line)
        data, self._waiting = self._waiting.encode("ascii"), ""
        while data:
            data = data[os.write(self._descriptor, data) :]


def run(
    descriptor: int,
    root: str,
    tasks: Sequence[str],
    known: Sequence[Sequence[Any]],
    libraries: Mapping[str, str],
    given_up: Mapping[str, Sequence[str]],
    recording: str | None = None,
) -> None:
    """Runs every task (`module:function`, called with a host) and streams what it asks.

    `known` holds answers that an earlier asker already gave, as `[kind, subject, answer]`: they are not asked again.
    `given_up` names libraries, and devices of them (`nvml 3`), that are not asked any more, each with the reason and
    the words that answer for it. `recording` is a snapshot file that answers instead of the machine: at the end
    everything that it holds besides is streamed too, since another's question may have been put to it.
    """
    stream = _Stream(descriptor)
    answer_of, held = _machine(root, libraries) if recording is None else _recorded(recording)
    memory = {Question(kind, subject): revived(Question(kind, subject), stored) for kind, subject, stored in known}

    def ask(question: Question) -> Answer:
        if question in memory:
            return memory[question]
        stream.send("ask", *question)
        silent = _given_up(question, given_up)
        answer = Answer(None, *silent) if silent else answer_of(question)
        stream.hold("answer", *plain(answer))
        return answer

    host = RecordedHost(ask)
    environment = dict(os.environ)
    for task in tasks:
        if os.environ != environment:  # what one plug-in edits is nothing to the next
            os.environ.clear()
            os.environ.update(environment)
        stream.send("task", task)
        try:
            asking_half(task)(host)
        except Exception as error:  # a broken plug-in costs its own answers
            reason = "not-installed" if isinstance(error, ImportError) else "failed"
            stream.hold("note", task, reason, f"{type(error).__name__}: {error}"[:500])
    for question in held:
        if question not in host.answers:
            ask(question)
    stream.send("end")


_Machine = Tuple[Callable[[Question], Answer], Sequence[Question]]
"""What answers, and the questions that are put to it in any case."""


def _machine(root: str, libraries: Mapping[str, str]) -> _Machine:
    live = LiveHost(root, libraries=libraries)
    return lambda question: ask_host(live, question), ()


def _recorded(path: str) -> _Machine:
    from raxl.host import served

    recording = served.opened(path)
    return recording.answer, sorted(recording.answers)


def _given_up(question: Question, given_up: Mapping[str, Sequence[str]]) -> Sequence[str] | None:
    """Why nobody is asked: the library, or a device that the call names, hung or crashed before."""
    if question.kind != "library":
        return None
    name, _, *devices = question.subject.split(" ")
    places = (name, *(f"{name} {device}" for device in devices))
    return next((given_up[place] for place in places if place in given_up), None)


def asking_half(name: str) -> Callable[[RecordedHost], Any]:
    """What an entry-point string has asked: the function that it names; of a class, an instance's `probe` and `ask`;
    of `module:Class.method`, that method."""
    module, _, attribute = name.partition(":")
    attribute, _, method = attribute.partition(".")
    found = getattr(importlib.import_module(module), attribute)
    if not isinstance(found, type):
        return found  # type: ignore[no-any-return]
    plugin: Any = found()
    if method:
        return getattr(plugin, method)  # type: ignore[no-any-return]

    def both(host: RecordedHost) -> None:
        if hasattr(plugin, "probe"):
            plugin.probe(host)
        plugin.ask(host)

    return both
