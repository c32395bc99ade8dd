"""A plug-in of others, run in a process of its own, which it may hang, crash or leave without harm to raxl.

`raxl.plugins.serving` is the other side, and tells how both speak. What the plug-in prints goes to a pipe of its own,
and is thrown away; another one, on which nobody writes, closes when raxl is gone.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
from typing import Any, NamedTuple

from raxl.errors import PluginError
from raxl.host import Host, Question
from raxl.host.record import ask_host, plain

SECONDS = 4.0
"""How long it may say nothing."""
WHOLE_SECONDS = 20.0
"""How long one thing may take."""
_LONGEST = 64 << 20
_PROGRAM = (
    "import json, sys; a = json.loads(sys.argv[1]); sys.path[:] = a['path']; "
    "from raxl.plugins.serving import serve; serve(a['entry'], a['reading'], a['writing'], a['watched'])"
)
_CHUNK = 1 << 16


class _Pipes(NamedTuple):
    """This side's ends of the four pipes."""

    receive: int
    send: int
    printed: int
    alive: int


class Apart:
    """One plug-in's process. It is started when it is needed, and again after it hung or died."""

    def __init__(self, entry: str, package: str, folder: str | None = None) -> None:
        """`folder`: from where its module is imported, where that is known."""
        self._entry, self._package, self._folder = entry, package, folder
        self._child: subprocess.Popen[bytes] | None = None
        self._pipes = _Pipes(-1, -1, -1, -1)
        self._rest = b""
        self.about: tuple[str, str] | None = None
        """The vendor and the family that it says it is for, once it was loaded."""
        self.has_printed = False
        """Whether it wrote to its standard output."""
        self.has_edited = False
        """Whether it changed its environment."""
        _every.add(self)

    def ask(self, host: Host, *request: Any) -> Any:
        """Has it done, its questions answered by the host. Raises PluginError, which names the package."""
        try:
            if self._child is None:
                self._start()
            self._send(list(request))
            return self._converse(host)
        except PluginError:
            raise
        except Exception as error:  # it may have written anything into its pipe
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
            elif word == "edits":
                self.has_edited = True
            elif word == "done":
                return rest[0]
            else:
                raise self._failure(str(rest[1]), "not-installed" if rest[0] == "not-installed" else "failed")

    def _start(self) -> None:
        (reading, send), (receive, writing), (printed, output), (watched, alive) = (os.pipe() for _ in range(4))
        settings = {
            "path": [*sys.path, *([self._folder] if self._folder else [])],
            "entry": self._entry,
            "reading": reading,
            "writing": writing,
            "watched": watched,
        }
        try:
            self._child = subprocess.Popen(  # noqa: S603 - this interpreter, and a program that stands above
                [sys.executable, "-I", "-S", "-c", _PROGRAM, json.dumps(settings)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL,
                pass_fds=(reading, writing, watched),
                env={k: v for k, v in os.environ.items() if not k.startswith(("LD_", "PYTHON"))},
                start_new_session=True,
            )
        finally:
            for descriptor in (reading, writing, output, watched):
                os.close(descriptor)
        self._pipes, self._rest = _Pipes(receive, send, printed, alive), b""

    def _send(self, line: Any) -> None:
        data = json.dumps(line).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._pipes.send, data) :]

    def _line(self, until: float) -> Any:
        silent_since = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._pipes.receive, selectors.EVENT_READ)
            selector.register(self._pipes.printed, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                wait = min(silent_since + SECONDS, until) - time.monotonic()
                ready = selector.select(wait) if wait > 0 else []
                if not ready:
                    raise self._failure(f"it did not answer within {SECONDS:g} s", "timed-out")
                speaks = {key.fd for key, _ in ready}
                if self._pipes.printed in speaks and not self._has_drained():
                    selector.unregister(self._pipes.printed)
                if self._pipes.receive in speaks:
                    data = os.read(self._pipes.receive, _CHUNK)
                    if not data or len(self._rest) > _LONGEST:
                        raise self._failure("it ended its process")
                    self._rest += data
                    silent_since = time.monotonic()
            if any(key.fd == self._pipes.printed for key, _ in selector.select(0)):
                self._has_drained()
        line, self._rest = self._rest.split(b"\n", 1)
        return json.loads(line)

    def _has_drained(self) -> bool:
        """Throws away what it printed; false where it closed its output."""
        data = os.read(self._pipes.printed, _CHUNK)
        self.has_printed = self.has_printed or bool(data)
        return bool(data)

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


_every: weakref.WeakSet[Apart] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    for one in list(_every):
        one.end()
