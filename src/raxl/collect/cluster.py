"""Every node of a running Ray cluster, recorded now: through one child that joins it and can be given up."""

from __future__ import annotations

import base64
import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from raxl import __version__
from raxl.collect import clock, machines, ray_nodes
from raxl.errors import CannotStart, ClusterLocked, ClusterUnreachable, MissingDependency, UsageError
from raxl.host import Answer, Question, archive, pack, snapshot
from raxl.host.record import Recording
from raxl.plugins import registry
from raxl.plugins.discovery import Installed

VARIABLE = "RAY_ADDRESS"
VIEW, WHOLE = Question("ray", "node"), Question("ray", "cluster")
"""What Ray says of a node, and of its cluster: answers in the node's own recording."""
_ERRORS: dict[str, type[CannotStart] | type[UsageError]] = {
    "unreachable": ClusterUnreachable,
    "locked": ClusterLocked,
    "missing": MissingDependency,
    "usage": UsageError,
}
_PROGRAM = "import sys;sys.path[:0]=[{path!r}];from raxl.collect import ray_child;ray_child.main()"
_NOT_KEPT = ("RAY_JOB_CONFIG_JSON_ENV_VAR", "RAY_RUNTIME_ENV_HOOK", "RAY_JOB_ID")
"""Of a job that raxl runs in: its runtime environment would be merged with that of the tasks."""
_SECONDS = {"": 20.0, "found": 4.5, "alive": 40.0}
"""How long the child may take for its next line, by the last one; Ray itself is imported before the first."""
_LATER_SECONDS = 3.0
"""Beyond a node's budget, before the whole cluster is taken for gone."""


_LEAVE_SECONDS = 3.0
_begun: list[Asking] = []
"""Those whose child may still run: it takes back what it started on a cluster, while what it told is shown."""


def leave() -> None:
    """Waits for their children a little, then ends them."""
    until = time.monotonic() + _LEAVE_SECONDS
    while _begun:
        _begun.pop().end(until)


def address_of(given: str | None) -> str:
    """The address that was given, else `RAY_ADDRESS`, else `auto`."""
    return given or os.environ.get(VARIABLE) or "auto"


def environment() -> dict[str, str]:
    """That of a child that joins a cluster."""
    return {name: value for name, value in os.environ.items() if name not in _NOT_KEPT}


def asker(address: str, timeout: float, plugins: Sequence[Installed] = ()) -> Asking:
    """A process that has begun to join the cluster and to ask its nodes; `timeout` is a node's whole budget."""
    begun = Asking(address, timeout)
    tasks = [*registry.ask_tasks(), *(one.entry for one in plugins)]
    begun.give(pack.collector(__version__, tasks, registry.LIBRARIES))
    return begun


class Asking:
    """A child that joins the cluster; it is ended with the block."""

    def __init__(self, address: str, timeout: float) -> None:
        self.address = address
        self._timeout = timeout
        self._begin = time.monotonic()
        self._has_ended = False
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed where the block ends
        self._stream, descriptor = os.pipe()
        settings = {
            "address": address,
            "timeout": timeout,
            "begun": self._begin,
            "descriptor": descriptor,
        }
        folder = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
        self._child = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(path=folder), json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(descriptor,),
            env=environment(),
            cwd="/",
            start_new_session=True,
        )
        os.close(descriptor)
        _begun.append(self)

    def give(self, collector: str) -> None:
        """Hands the child the packed asker, which it needs once it has joined: it is made while the child imports
        Ray."""
        assert self._child.stdin is not None
        with suppress(BrokenPipeError):  # its last line says why it is gone
            self._child.stdin.write(zlib.compress(collector.encode("utf-8"), 6))
            self._child.stdin.close()

    def __enter__(self) -> Asking:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        os.close(self._stream)
        self._errors.close()
        if not self._has_ended:
            self._child.terminate()

    def end(self, until: float) -> None:
        """Waits for the child until then (`time.monotonic`), and kills it if it is still there."""
        if not self._has_ended:
            self._child.terminate()
        while self._child.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
        if self._child.poll() is None:
            self._child.kill()

    def recordings(self, told_progress: Callable[[int, int], None] = lambda done, total: None) -> list[Recording]:
        """One a node, by name; of a node that did not answer, one that says so. Raises where the cluster cannot be
        joined.

        `told_progress` is given how many nodes of how many that are known so far have answered, or never will.
        """
        whole: dict[str, Any] = {}
        views: dict[str, dict[str, Any]] = {}
        told: dict[str, Recording] = {}
        word = ""
        for word, values in self._lines():
            if word == "error":
                raise error(values)
            if word == "cluster":
                whole = values
            elif word == "node":
                views[str(values["node_id"])] = values
            elif word == "snapshot":
                told[values["id"]] = _opened(values["data"])
            elif word == "lost":
                told[values["id"]] = silent(values["reason"], values["message"])
            told_progress(len(told), len(views))
        if not whole:
            raise self._gone(word)
        for node_id in views:
            told.setdefault(node_id, silent("failed", "the cluster went away before this node answered"))
        found = [_with_view(told[node_id], view, whole) for node_id, view in views.items()]
        return machines.renamed(sorted(found, key=_place))

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The child's lines, until `end`, its end, or a silence that is longer than anything it may wait for."""
        rest, last, since = b"", "", self._begin
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream, selectors.EVENT_READ)
            while True:
                patience = _SECONDS.get(last, self._timeout + _LATER_SECONDS)
                if not selector.select(max(0.0, since + patience - time.monotonic())):
                    return
                data = os.read(self._stream, 1 << 20)
                if not data:
                    return
                since = time.monotonic()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    last, values = json.loads(line)
                    if last == "end":
                        self._has_ended = True
                        return
                    yield last, values

    def _gone(self, last: str) -> CannotStart:
        """Why nothing was heard: the child died, or hangs."""
        if self._child.poll() is None:
            why = f"no answer within {_SECONDS.get(last, self._timeout):g} s"
            what = "Ray lets raxl not join the cluster" if last == "alive" else "no Ray cluster"
            return ClusterUnreachable(f"{what} at {self.address}", why)
        self._errors.seek(0)
        words = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return CannotStart(f"the cluster at {self.address} cannot be joined", words[-1][:300] if words else "Ray died")


def _place(recording: Recording) -> tuple[str, bool, str]:
    """By name; one that has left gives it to whoever has it now."""
    return recording.name, ray_nodes.seen(recording).has_left, str(recording.source)


def silent(reason: str, message: str) -> Recording:
    """The recording of a node that did not answer."""
    return Recording(
        created=clock.now(),
        recorded_by=__version__,
        unasked=Answer(None, reason, message),
        notes=(("node", reason, message),),
    )


def _opened(data: str) -> Recording:
    """A node's own recording; what it answers may be anything."""
    import io

    try:
        entries = archive.entries(io.BytesIO(base64.b64decode(data)), "its answer")
        top = f"{snapshot.FOLDER}/"
        files = {one.path.removeprefix(top): one.content for one in entries if one.kind == "file"}
        (recording,) = snapshot.read(files, "its answer")
    except (CannotStart, ValueError) as error:
        return silent("failed", f"it answered with no snapshot: {error}"[:300])
    return recording


def _with_view(recording: Recording, view: dict[str, Any], whole: dict[str, Any]) -> Recording:
    recording.answers[VIEW], recording.answers[WHOLE] = Answer(view), Answer(whole)
    recording.source = recording.source if recording.source.startswith("recording:") else f"ray:{view['node_id']}"
    recording.name = (
        _short(str(view.get("name") or "")) or recording.name or str(view.get("address") or view["node_id"])
    )
    return recording


def _short(name: str) -> str:
    """A host's name without its domain; an address as it is."""
    return name if re.fullmatch("[0-9.]+|.*:.*", name) else name.partition(".")[0]


def error(values: dict[str, str]) -> CannotStart | UsageError:
    return _ERRORS.get(values["kind"], CannotStart)(values["what"], values["why"], values["try"])
