"""Every node of a running Ray cluster, recorded now: through one child that joins it and can be given up."""

from __future__ import annotations

import base64
import os
import re
import selectors
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from raxl import __version__
from raxl.collect import clock, machines, ray_cluster, ray_nodes
from raxl.collect.ray_process import RayProcess
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
_IMPORT_SECONDS, _FOUND_SECONDS, _READY_SECONDS = 20.0, 4.5, 5.0
"""How long the child may take for its first line, for the one after `found`, and for the one after `joined`."""
_JOIN_SECONDS, _JOB_SECONDS = 10.0, 40.0
"""At least, to join, and until a job runs. Ray Client starts a server on the head for each who joins, which takes 2 s
there and much longer on a busy one: 5 s would keep raxl out of clusters that it can read. Who waits longer than
`--timeout` for that gets no node's answer in it either, so this is the bound, and a larger one waits longer."""
_AGAIN_SECONDS, _MOST_CLIENTS = 5.0, 3
"""Until Ray Client is asked once more, beside the times before, and how often at most. The head forks its server
among the threads of its own gRPC, of which the fork sometimes dies (`ev_epoll1_linux.cc: Check failed`); nobody tells
the client, which waits."""
_LATER_SECONDS, _LATER_JOB_SECONDS = 1.0, 10.0
"""Beyond what the child promised, before the whole cluster is taken for gone; what a job says comes in pieces, and who
follows it gives up by itself."""
_LEAVE_SECONDS = 3.0
_begun: list[Asking] = []
"""Those whose process may still run: it takes back what it started on a cluster, while what it told is shown."""


def leave() -> None:
    """Waits for their processes a little, then ends them."""
    until = time.monotonic() + _LEAVE_SECONDS
    while _begun:
        _begun.pop().end(until)


def address_of(given: str | None) -> str:
    """The address that was given, else `RAY_ADDRESS`, else `auto`."""
    return given or os.environ.get(VARIABLE) or "auto"


def asker(address: str, timeout: float, plugins: Sequence[Installed] = (), questions: str = registry.COMMON) -> Asking:
    """A process that has begun to join the cluster and to ask its nodes; `timeout` is a node's whole budget."""
    begun = Asking(address, timeout)
    tasks = [*registry.ask_tasks(questions), *(one.entry for one in plugins)]
    begun.give(pack.collector(__version__, tasks, registry.LIBRARIES))
    return begun


class Asking:
    """A process that joins the cluster; it is ended with the block."""

    def __init__(self, address: str, timeout: float) -> None:
        self.address = address
        self._timeout = timeout
        self._begin = time.monotonic()
        self._is_job = address.startswith(("http://", "https://"))
        self._is_client = address.startswith("ray://")
        self._has_ended = False
        self._packed = b""
        self._processes: list[RayProcess] = []
        self._one = self._another()
        """The one that is heard: the first, until another joins before it."""
        _begun.append(self)

    def _another(self) -> RayProcess:
        self._processes.append(
            RayProcess({"address": self.address, "timeout": self._timeout, "begun": self._begin}),
        )
        return self._processes[-1]

    def give(self, collector: str) -> None:
        """Hands over the packed asker, which is made while the process imports Ray."""
        self._packed = zlib.compress(collector.encode("utf-8"), 6)
        self._one.give(self._packed)

    def __enter__(self) -> Asking:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.close()
            if not self._has_ended:
                process.terminate()

    def end(self, until: float) -> None:
        """Waits for the process until then (`time.monotonic`), and kills it if it is still there."""
        for process in self._processes:
            if not self._has_ended:
                process.terminate()
            process.end(until)

    def recordings(self, told_progress: Callable[[int, int], None] = lambda done, total: None) -> list[Recording]:
        """One a node, by name; of a node that did not answer, one that says so. Raises where the cluster cannot be
        joined.

        `told_progress` is given how many nodes of how many that are known so far have answered, or never will.
        """
        whole: dict[str, Any] = {}
        views: dict[str, dict[str, Any]] = {}
        told: dict[str, Recording] = {}
        refusal: CannotStart | UsageError | None = None
        word = ""
        for word, values in self._lines():
            if word == "error":
                refusal = error(values)
            elif word == "cluster":
                whole = values
            elif word == "node":
                views[str(values["node_id"])] = values
            elif word == "snapshot":
                told[values["id"]] = _opened(values["data"])
            elif word == "lost":
                told[values["id"]] = silent(values["reason"], values["message"])
            told_progress(len(told), len(views))
        is_gone = not self._has_ended or refusal is not None
        if not whole or (is_gone and not any(one.answers for one in told.values())):
            raise refusal or self._gone(word, bool(whole))
        for node_id in views:
            told.setdefault(node_id, silent("failed", "the cluster went away before this node answered"))
        found = [_with_view(told[node_id], view, whole) for node_id, view in views.items()]
        return machines.renamed(sorted(found, key=_place))

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What is told, until `end` or `error`, its end, or a silence that is longer than what may be waited for."""
        last, since, promised = "", self._begin, self._begin + self._timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self._one.stream, selectors.EVENT_READ, self._one)
            while selector.get_map():
                until = self._until(last, since, promised)
                asks_again = self._is_client and last == "alive" and len(self._processes) < _MOST_CLIENTS
                wakes = min(until, since + _AGAIN_SECONDS * len(self._processes)) if asks_again else until
                ready = selector.select(max(0.0, wakes - time.monotonic()))
                if not ready and asks_again and wakes < until:
                    other = self._another()
                    other.give(self._packed)
                    selector.register(other.stream, selectors.EVENT_READ, other)
                elif not ready:
                    if last not in ("", "found", "alive"):
                        self._one.kill()  # Ray hangs in it, and the cluster has nothing left to take back
                    return
                for process, word, values in _heard(ready, selector):
                    if word == "joined" or (word == "error" and process is self._one and last == "alive"):
                        self._one = self._chosen(process, word == "joined", selector)
                    if process is not self._one:
                        continue
                    last, since = word, time.monotonic()
                    if word == "asking":
                        promised = since + float(values["seconds"])
                        continue
                    self._has_ended = word in ("end", "error")
                    if word != "end":
                        yield word, values
                    if self._has_ended:
                        return

    def _chosen(self, process: RayProcess, has_joined: bool, selector: selectors.BaseSelector) -> RayProcess:
        """Of two that would join: the one that has, and the other is ended; where this one was refused, the other."""
        others = [one for one in self._processes if one is not process and one.stream in selector.get_map()]
        if not has_joined:
            return others[0] if others else process
        for other in others:
            selector.unregister(other.stream)
            other.kill()  # Ray holds it up, and on the head what was started for it ends by itself
        return process

    def _until(self, last: str, since: float, promised: float) -> float:
        """When (`time.monotonic`) it has been silent for too long: by its last line, when that came, and when it
        promised the next."""
        if last == "":
            return since + _IMPORT_SECONDS
        if last == "found":
            return since + _FOUND_SECONDS
        if last == "alive":
            return since + _JOB_SECONDS if self._is_job else max(since + _JOIN_SECONDS, self._begin + self._timeout)
        if last == "joined":
            return max(since + _READY_SECONDS, promised)
        return max(since, promised) + (_LATER_JOB_SECONDS if self._is_job else _LATER_SECONDS)

    def _gone(self, last: str, is_joined: bool) -> CannotStart:
        """Why nothing was heard: the process died, or hangs, or the cluster did."""
        if is_joined:
            why = "before any node had answered"
            return ClusterUnreachable(f"the cluster at {self.address} went away", why, ray_cluster.WITHOUT_RAY)
        words = self._one.last_words()
        if words is not None:
            return _died(self.address, words)
        why = f"no answer within {max(0.0, time.monotonic() - self._begin):.0f} s"
        if last != "alive":
            return ClusterUnreachable(f"no Ray cluster at {self.address}", why)
        return ClusterUnreachable(f"Ray does not let raxl join the cluster at {self.address}", why, self._another_try())

    def _another_try(self) -> str:
        """What may help where the cluster answers and lets nobody in."""
        if not self.address.startswith("ray://"):
            return ""
        host = urlsplit(self.address).hostname
        return f"its head is busy: a longer --timeout, or --address http://{host}:8265"


def _heard(
    ready: Sequence[tuple[selectors.SelectorKey, int]], selector: selectors.BaseSelector
) -> Iterator[tuple[RayProcess, str, dict[str, Any]]]:
    """What those say that have something to say; one that has ended is heard no more."""
    for key, _ in ready:
        process: RayProcess = key.data
        if process.stream not in selector.get_map():
            continue
        heard = process.heard()
        if heard is None:
            selector.unregister(process.stream)
        for word, values in heard or ():
            yield process, word, values


def _died(address: str, words: str) -> CannotStart:
    """Why Ray took the process with it, by what that wrote last."""
    what = f"the cluster at {address} cannot be joined"
    if (
        log := re.search(r"Failed opening file (\S+) for writing: ([^\n]+?)(?: /\S+\(.*)?$", words, re.MULTILINE)
    ) is not None:
        why = f"Ray must write {os.path.dirname(log[1])} for it: {log[2]}"
        return CannotStart(what, why, "run raxl as the user that runs Ray, or with --address http://host:8265")
    return CannotStart(what, words.splitlines()[-1][:300] if words else "Ray died")


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
