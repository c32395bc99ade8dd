"""A plug-in of others, run in a process of its own, which it may hang, crash or leave without harm to raxl.

The asking half of it has run in the asker; here it runs again, on the recorded answers, and then its parsing half. Both
sides speak JSON lines over pipes that nothing else knows:

    to it:    ["probe"]  ["report", FUNCTIONS]         what it shall do
    from it:  ["ask", KIND, SUBJECT]                   a question; the next line to it is the answer
              ["about", VENDOR, FAMILY]                it is loaded
              ["done", RESULT]  ["failed", REASON, MESSAGE]
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from importlib import import_module
from typing import Any, Callable

from raxl.errors import PluginError
from raxl.host import Answer, Host, Question
from raxl.host.record import RecordedHost, ask_host, plain, revived
from raxl.model import codec
from raxl.model.component import PciFunction

SECONDS = 4.0
"""How long it may say nothing."""
WHOLE_SECONDS = 20.0
"""How long one thing may take."""
_LONGEST = 64 << 20
_PROGRAM = (
    "import json, sys; a = json.loads(sys.argv[1]); sys.path[:] = a['path']; "
    "from raxl.plugins.apart import serve; serve(a['entry'], a['reading'], a['writing'])"
)


class Apart:
    """One plug-in's process. It is started when it is needed, and again after it hung or died."""

    def __init__(self, entry: str, package: str) -> None:
        self._entry, self._package = entry, package
        self._child: subprocess.Popen[bytes] | None = None
        self._pipes: tuple[int, int] = (-1, -1)
        self._rest = b""
        self.about: tuple[str, str] | None = None
        """The vendor and the family that it says it is for, once it was loaded."""

    def ask(self, host: Host, *request: Any) -> Any:
        """Has it done, its questions answered by the host. Raises PluginError, which names the package."""
        try:
            if self._child is None:
                self._start()
            self._send(list(request))
            return self._converse(host)
        except PluginError:
            raise
        except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
            raise self._failure(f"it broke off: {type(error).__name__}: {error}") from error
        except BaseException:  # interrupted: it may never end by itself
            self.end()
            raise

    def _failure(self, message: str, reason: str = "failed") -> PluginError:
        self.end()
        return PluginError(f"the plug-in of the package {self._package}", message[:500], reason)

    def _converse(self, host: Host) -> Any:
        until = time.monotonic() + WHOLE_SECONDS
        while True:
            word, *rest = self._line(until)
            if word == "ask":
                self._send(plain(ask_host(host, Question(str(rest[0]), str(rest[1])))))
            elif word == "about":
                self.about = str(rest[0]), str(rest[1])
            elif word == "done":
                return rest[0]
            else:
                raise self._failure(str(rest[1]), "not-installed" if rest[0] == "not-installed" else "failed")

    def _start(self) -> None:
        reading, send = os.pipe()
        receive, writing = os.pipe()
        settings = {"path": sys.path, "entry": self._entry, "reading": reading, "writing": writing}
        try:
            self._child = subprocess.Popen(  # noqa: S603 - this interpreter, and a program that stands above
                [sys.executable, "-I", "-S", "-c", _PROGRAM, json.dumps(settings)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(reading, writing),
                env={k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON"))},
                start_new_session=True,
            )
        finally:
            os.close(reading)
            os.close(writing)
        self._pipes, self._rest = (receive, send), b""

    def _send(self, line: Any) -> None:
        data = json.dumps(line).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._pipes[1], data) :]

    def _line(self, until: float) -> Any:
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipes[0], selectors.EVENT_READ)
            while b"\n" not in self._rest:
                wait = min(SECONDS, until - time.monotonic())
                if wait <= 0 or not selector.select(wait):
                    raise self._failure(f"it did not answer within {SECONDS:g} s", "timed-out")
                data = os.read(self._pipes[0], 1 << 16)
                if not data or len(self._rest) > _LONGEST:
                    raise self._failure("it ended its process")
                self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def end(self) -> None:
        """Ends the process, and does not wait for what cannot die."""
        child, self._child = self._child, None
        if child is None:
            return
        for descriptor in self._pipes:
            os.close(descriptor)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        until = time.monotonic() + 0.5
        while child.poll() is None and time.monotonic() < until:
            time.sleep(0.002)

    def __del__(self) -> None:
        self.end()


def serve(entry: str, reading: int, writing: int) -> None:
    """The other side: does what it is told until nobody tells it anything."""
    lines = os.fdopen(reading, "rb")

    def send(*line: Any) -> None:
        data = json.dumps(line).encode("ascii") + b"\n"
        while data:
            data = data[os.write(writing, data) :]

    def ask(question: Question) -> Answer:
        send("ask", *question)
        line = lines.readline()
        if not line:
            os._exit(0)
        return revived(question, json.loads(line))

    plugin: Any = None
    for line in lines:
        try:
            if plugin is None:
                module, _, name = entry.partition(":")
                plugin = getattr(import_module(module), name)()
                send("about", plugin.vendor, plugin.family)
            send("done", _done(plugin, json.loads(line), ask))
        except BaseException as error:  # a plug-in may raise SystemExit as well
            reason = "not-installed" if isinstance(error, ImportError) else "failed"
            send("failed", reason, f"{type(error).__name__}: {error}"[:500])


def _done(plugin: Any, request: list[Any], ask: Callable[[Question], Answer]) -> Any:
    word, *rest = request
    host = RecordedHost(ask)
    if word == "probe":
        return list(plugin.probe(host))
    functions = codec.decode(rest[0], tuple[PciFunction, ...])
    return codec.encode(plugin.parse(plugin.ask(host), functions))
