"""The parent's side of the conductor: asks, and gives it up when it does not answer."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from raxl.collect import cluster
from raxl.errors import CannotStart

_PROGRAM = "import sys;sys.path[:0]=[{path!r}];from raxl.bench import conductor;conductor.main()"
_START_SECONDS, _LEAVE_SECONDS = 60.0, 10.0
_LOCAL = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
"""A Ray that raxl starts for itself listens to this machine alone, and asks for no token."""

Told = tuple[str, dict[str, Any]]


class Conducting:
    """A conductor that runs until the end of the block."""

    def __init__(
        self, address: str | None, entries: Mapping[str, str], object_store_bytes: int, variables: Mapping[str, str]
    ) -> None:
        """`address` None: a Ray of its own on this machine. `entries`: transports' plug-ins by name. `variables` are
        set for the child, and for each end."""
        self._address = address
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed where the block ends
        self._stream, descriptor = os.pipe()
        settings = {
            "address": address,
            "entries": dict(entries),
            "descriptor": descriptor,
            "variables": dict(variables),
            "object_store_bytes": object_store_bytes,
        }
        folder = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        self._child = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(path=folder), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(descriptor,),
            env={**cluster.environment(), **(_LOCAL if address is None else {}), **variables},
            cwd="/",
            start_new_session=True,
            text=True,
        )
        os.close(descriptor)
        self._folder: str | None = None
        self._rest = b""
        self._waiting: list[Told] = []

    def __enter__(self) -> Conducting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        assert self._child.stdin is not None
        self._child.terminate()
        try:
            self._child.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        with suppress(OSError):  # it may hold a question that nobody reads any more
            self._child.stdin.close()
        os.close(self._stream)
        self._errors.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def nodes(self) -> list[dict[str, Any]]:
        """The cluster's nodes that live: `id`, `name`, `address`. Raises where there is no cluster to be joined."""
        for word, values in self._lines(_START_SECONDS):
            if word == "error":
                raise cluster.error(values)
            if word == "starting":
                self._folder = values["folder"]
            if word == "nodes":
                return list(values["nodes"])
        raise self._gone()

    def ask(self, do: str, patience: float, **question: Any) -> Iterator[Told]:
        """What it tells to a question, until it is done with it. A silence of more than `patience` seconds raises."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps({"do": do, **question}) + "\n")
        self._child.stdin.flush()
        for told in self._lines(patience):
            if told[0] == "done":
                return
            yield told
        raise self._gone()

    def _lines(self, seconds: float) -> Iterator[Told]:
        since = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream, selectors.EVENT_READ)
            while True:
                while self._waiting:
                    yield self._waiting.pop(0)
                    since = time.monotonic()
                if not selector.select(max(0.0, since + seconds - time.monotonic())):
                    return
                data = os.read(self._stream, 1 << 20)
                if not data:
                    return
                *lines, self._rest = (self._rest + data).split(b"\n")
                self._waiting += [(word, values) for word, values in map(json.loads, lines)]

    def _gone(self) -> CannotStart:
        if self._child.poll() is None:
            return CannotStart("Ray answers no more", "what drives it is silent")
        self._errors.seek(0)
        words = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return CannotStart("what drives Ray ended", words[-1][:300] if words else "it says nothing")
