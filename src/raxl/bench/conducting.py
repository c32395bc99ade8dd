"""The parent's side of the conductor: asks, and gives it up when it does not answer."""

from __future__ import annotations

import json
import selectors
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import Any

from raxl.collect import cluster
from raxl.collect.ray_process import RayProcess
from raxl.errors import CannotStart

_START_SECONDS, _LEAVE_SECONDS = 60.0, 10.0
_LOCAL = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}
"""A Ray that raxl starts for itself listens to this machine alone, and asks for no token."""

Told = tuple[str, dict[str, Any]]


class Conducting:
    """A conductor that runs until the end of the block."""

    def __init__(
        self,
        address: str | None,
        entries: Mapping[str, str],
        object_store_bytes: int,
        variables: Mapping[str, str],
        unset: Collection[str] = (),
    ) -> None:
        """`address` None: a Ray of its own on this machine. `entries`: transports' plug-ins by name. `variables` are
        set for the child, and for each end; those of `unset` the child does not inherit."""
        settings = {
            "address": address,
            "entries": dict(entries),
            "variables": dict(variables),
            "object_store_bytes": object_store_bytes,
        }
        own = {**(_LOCAL if address is None else {}), **variables}
        self._process = RayProcess(settings, "raxl.bench.conductor", own, unset)
        self._folder: str | None = None
        self._waiting: list[Told] = []

    def __enter__(self) -> Conducting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.end(time.monotonic() + _LEAVE_SECONDS)
        self._process.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def nodes(self) -> list[dict[str, Any]]:
        """The cluster's nodes that live: `id`, `name`, `address`, `labels`. Raises where no cluster can be joined."""
        for word, values in self._told(_START_SECONDS):
            if word == "error":
                raise cluster.error(values)
            if word == "starting":
                self._folder = values["folder"]
            if word == "nodes":
                return list(values["nodes"])
        raise self._gone()

    def ask(self, do: str, patience: float, **question: Any) -> Iterator[Told]:
        """What it tells to a question, until it is done with it. A silence of more than `patience` seconds raises."""
        self._process.say(json.dumps({"do": do, **question}))
        for told in self._told(patience):
            if told[0] == "done":
                return
            yield told
        raise self._gone()

    def _told(self, patience: float) -> Iterator[Told]:
        since = time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stream, selectors.EVENT_READ)
            while True:
                while self._waiting:
                    yield self._waiting.pop(0)
                    since = time.monotonic()
                if not selector.select(max(0.0, since + patience - time.monotonic())):
                    return
                heard = self._process.heard()
                if heard is None:
                    return
                self._waiting += heard

    def _gone(self) -> CannotStart:
        words = self._process.last_words()
        if words is None:
            return CannotStart("Ray answers no more", "what drives it is silent")
        return CannotStart("what drives Ray ended", words.splitlines()[-1][:300] if words else "it says nothing")
