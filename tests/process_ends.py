"""Ends that are plain processes of this machine, for what needs no Ray."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from raxl.transfer import EndFailed, EndLost

_SPAWN = multiprocessing.get_context("spawn")


class ProcessEnd:
    """A process that runs functions, one after the other."""

    handle = None
    is_of_raxl = False

    def __init__(self, node: str, environment: Mapping[str, str]) -> None:
        self.node = self.node_id = node
        self.address = "127.0.0.1"
        self._connection, other = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_run, args=(other, dict(environment)), daemon=True)
        self._process.start()
        other.close()
        self.pid = self._process.pid or 0

    def start(self, function: Callable[..., Any], *arguments: Any) -> ProcessPending:
        self._connection.send((function, arguments))
        return ProcessPending(self._connection, self.node)

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float = 60.0) -> Any:
        return self.start(function, *arguments).result(seconds)

    def kill(self) -> None:
        """SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self._connection.close()


class ProcessPending:
    """Its answer."""

    def __init__(self, connection: Connection[Any, Any], node: str) -> None:
        self._connection, self._node = connection, node

    def result(self, seconds: float) -> Any:
        try:
            if not self._connection.poll(seconds):
                raise TimeoutError(f"no answer from {self._node} within {seconds:g} s")
            is_right, answer = self._connection.recv()
        except (EOFError, ConnectionResetError) as error:
            raise EndLost(self._node) from error
        if not is_right:
            raise EndFailed(answer)
        return answer


@contextmanager
def ends(*nodes: str, **environment: str) -> Iterator[list[ProcessEnd]]:
    """One for each of these nodes."""
    made = [ProcessEnd(node, environment) for node in nodes]
    try:
        yield made
    finally:
        for end in made:
            end.close()


def _run(connection: Connection[Any, Any], environment: Mapping[str, str]) -> None:
    os.environ.update(environment)
    state: dict[str, Any] = {}
    while True:
        try:
            function, arguments = connection.recv()
        except EOFError:
            os._exit(0)
        try:
            connection.send((True, function(state, *arguments)))
        except Exception as error:
            connection.send((False, f"{type(error).__name__}: {error}"))
