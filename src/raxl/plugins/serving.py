"""The process of a plug-in of others, as `raxl.plugins.apart` starts it: does what it is told, and answers.

The plug-in's asking half has run in the asker; here it runs again, on the recorded answers, and then its parsing half.
Both sides speak JSON lines over pipes that nothing else knows:

    to it:    ["probe"]  ["report", FUNCTIONS]         what it shall do
    from it:  ["ask", KIND, SUBJECT]                   a question; the next line to it is the answer
              ["about", VENDOR, FAMILY]                it is loaded
              ["edits"]                                it changed the environment
              ["done", RESULT]  ["failed", REASON, MESSAGE]
"""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import signal
import sys
from importlib import import_module
from typing import Any, Callable

from raxl.host import Answer, Question
from raxl.host.record import RecordedHost, revived
from raxl.model import codec
from raxl.model.component import PciFunction


def _leave() -> None:
    """Ends this process at once, whatever threads it has, and what it started: it leads a session of its own."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _leave_with_parent(watched: int) -> None:
    os.read(watched, 1)
    _leave()


def serve(entry: str, reading: int, writing: int, watched: int) -> None:
    """The other side: does what it is told until nobody tells it anything, and leaves."""
    _thread.start_new_thread(_leave_with_parent, (watched,))
    try:
        _serve(entry, reading, writing)
    finally:
        _leave()


def _serve(entry: str, reading: int, writing: int) -> None:
    lines = os.fdopen(reading, "rb")

    def send(data: bytes) -> None:
        while data:
            data = data[os.write(writing, data) :]

    def ask(question: Question) -> Answer:
        send(_line("ask", *question))
        line = lines.readline()
        if not line:
            _leave()
        return revived(question, json.loads(line))

    environment = dict(os.environ)
    plugin: Any = None
    for line in lines:
        try:
            if plugin is None:
                module, _, name = entry.partition(":")
                plugin = getattr(import_module(module), name)()
                send(_line("about", plugin.vendor, plugin.family))
            told = _line("done", _done(plugin, json.loads(line), ask))
        except BaseException as error:  # a plug-in may raise SystemExit as well
            reason = "not-installed" if isinstance(error, ImportError) else "failed"
            told = _line("failed", reason, f"{type(error).__name__}: {error}"[:500])
        with contextlib.suppress(Exception):  # it may have closed it, or put something else there
            sys.stdout.flush()
        if os.environ != environment:
            told = _line("edits") + told
        send(told)


def _line(*words: Any) -> bytes:
    return json.dumps(words).encode("ascii") + b"\n"


def _done(plugin: Any, request: list[Any], ask: Callable[[Question], Answer]) -> Any:
    word, *rest = request
    host = RecordedHost(ask)
    if word == "probe":
        return list(plugin.probe(host))
    functions = codec.decode(rest[0], tuple[PciFunction, ...])
    return codec.encode(plugin.parse(plugin.ask(host), functions), _odd)


def _odd(value: Any) -> dict[str, str]:
    """What stands for a value that JSON cannot hold: it is no value of any field."""
    return {"type": type(value).__name__}
