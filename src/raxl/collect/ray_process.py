"""A process in which Ray runs for raxl, from outside: it is told what to do and heard, and ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, BinaryIO

_PROGRAM = "import sys;sys.path[:0]=[{path!r}];from {room} import {name};{name}.main()"
_NOT_KEPT = ("RAY_JOB_CONFIG_JSON_ENV_VAR", "RAY_RUNTIME_ENV_HOOK", "RAY_JOB_ID")
"""Of a job that raxl runs in: its runtime environment would be merged with that of the tasks."""
_DEATH_SECONDS = 1.0
"""Between the end of a process's words and its own, where it writes down why it crashed."""


class RayProcess:
    """One that has begun with these settings."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        module: str = "raxl.collect.ray_child",
        variables: Mapping[str, str] | None = None,
        unset: Collection[str] = (),
    ) -> None:
        """`module` is the one whose `main` runs there; `variables` are added to its environment, and those of `unset`
        are left out of it."""
        self._errors = _unnamed_file()
        self.stream, descriptor = os.pipe()
        self._rest = b""
        room, _, name = module.rpartition(".")
        folder = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        program = _PROGRAM.format(path=folder, room=room, name=name)
        kept = {name: value for name, value in os.environ.items() if name not in (*_NOT_KEPT, *unset)}
        self._child = subprocess.Popen(
            [sys.executable, "-c", program, json.dumps({**settings, "descriptor": descriptor})],
            stdin=subprocess.PIPE,
            bufsize=0,  # a thread that waits in a buffered file's lock would crash Python's end
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(descriptor,),
            env={**kept, **(variables or {})},
            cwd="/",
            start_new_session=True,
        )
        os.close(descriptor)

    def give(self, packed: bytes) -> None:
        """Hands it what it reads once it has joined: more than a pipe holds, and what hangs in Ray never takes it."""
        threading.Thread(target=self._hand, args=(packed,), daemon=True).start()

    def _hand(self, packed: bytes) -> None:
        assert self._child.stdin is not None
        with suppress(OSError, ValueError):  # its last line says why it is gone; or nobody waits for it any more
            left = memoryview(packed)
            while left:
                left = left[self._child.stdin.write(left) :]
            self._child.stdin.close()

    def say(self, line: str) -> None:
        """Hands it a line, which it reads while it waits for nothing else."""
        assert self._child.stdin is not None
        with suppress(OSError):
            self._child.stdin.write(line.encode("utf-8") + b"\n")

    def heard(self) -> list[tuple[str, dict[str, Any]]] | None:
        """What it has said since, once `stream` has something; None at its end."""
        data = os.read(self.stream, 1 << 20)
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [(word, values) for word, values in map(json.loads, lines)]

    def last_words(self) -> str | None:
        """What it wrote to standard error, where it died; None where it still runs."""
        until = time.monotonic() + _DEATH_SECONDS
        if not self._has_ended_by(until):
            return None
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", "replace").strip()

    def close(self) -> None:
        """Hears it no more, and tells it nothing."""
        assert self._child.stdin is not None
        with suppress(OSError):
            self._child.stdin.close()
        os.close(self.stream)
        self._errors.close()

    def terminate(self) -> None:
        """Has it take back what it started on the cluster, and end."""
        self._child.terminate()

    def kill(self) -> None:
        """Ends it at once."""
        self._child.kill()

    def end(self, until: float) -> None:
        """Waits for its end until then (`time.monotonic`), and kills it if it is still there."""
        if not self._has_ended_by(until):
            self._child.kill()

    def _has_ended_by(self, until: float) -> bool:
        while self._child.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        return self._child.poll() is not None


def _unnamed_file() -> BinaryIO:
    """A file in memory where the system has such, else in the temporary folder, which may be missing or full."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("raxl"), "w+b")
    return tempfile.TemporaryFile()
