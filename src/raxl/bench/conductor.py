"""The process that holds the ends: Ray may hang, crash or print without taking raxl with it.

It takes questions from standard input and tells answers to a descriptor, JSON lines both. Terminated, it ends the
actors that it started, and the Ray that it started.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from typing import Any

from raxl.bench import injury
from raxl.collect import ray_cluster
from raxl.host import pack
from raxl.transfer import EndFailed, EndLost, Session, Transfer, Unavailable, counters, meeting, ray_ends, state
from raxl.transfer.ray_ends import RayEnd, RayPending

_IDLE_SECONDS = 0.2
"""So long the devices' counters are watched before anything is sent: what moves then is not raxl's."""
_CLOSE_SECONDS = 5.0
_AT_ENDS = tuple(
    f"raxl.transfer.{name}" for name in ("counters", "cutting", "leftovers", "meeting", "ray_ends", "state")
)
"""What runs at each end besides a transport."""
_FAILURES = (EndLost, EndFailed, TimeoutError, Unavailable)


def main() -> None:
    """Joins the cluster that its argument names, or starts a Ray of its own, and answers until its input ends."""
    settings: dict[str, Any] = json.loads(sys.argv[1])
    tell = ray_cluster.lines_to(int(settings["descriptor"]))
    conductor = Conductor(tell, settings["entries"], settings["variables"])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        conductor.begin(settings["address"], int(settings["object_store_bytes"]))
        for line in sys.stdin:
            question = json.loads(line)
            getattr(conductor, question.pop("do"))(**question)
            tell("done")
    except ray_cluster.Refused as refusal:
        tell("error", **dict(zip(("kind", "what", "why", "try"), refusal.args, strict=True)))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        conductor.end()
    os._exit(0)


class Conductor:
    """Ray's driver for as long as the measurement takes."""

    def __init__(self, tell: ray_cluster.Tell, entries: Mapping[str, str], variables: Mapping[str, str]) -> None:
        """`entries`: by transport, its plug-in as `module:Class`; `variables` are set for each end."""
        self._tell, self._entries, self._variables = tell, entries, variables
        self._folder: str | None = None
        self._nodes: dict[str, dict[str, Any]] = {}
        self._witnesses: dict[str, RayEnd] = {}
        self._own: dict[str, dict[str, Any]] = {}
        self._ends: list[RayEnd] = []
        self._modules: Any = None

    def begin(self, address: str | None, object_store_bytes: int) -> None:
        """Joins, or starts a Ray for this machine alone, and tells the nodes."""
        if address is None:
            self._start(object_store_bytes)
        else:
            ray_cluster.join(address, self._tell)
        named = [entry.partition(":")[0] for entry in self._entries.values()]
        self._modules = ray_ends.shared(pack.modules([*_AT_ENDS, *named]))
        for node in ray_ends.nodes():
            view = ray_cluster.node_view(node)
            if view["state"] == "alive":
                self._nodes[view["node_id"]] = {
                    "id": view["node_id"],
                    "name": view["name"],
                    "address": node["NodeManagerAddress"],
                    "labels": view["labels"],
                    "gpus": float(node.get("Resources", {}).get("GPU", 0.0)),
                }
        self._tell("nodes", nodes=list(self._nodes.values()))

    def _start(self, object_store_bytes: int) -> None:
        ray_cluster.imported()
        self._folder = tempfile.mkdtemp(prefix="raxl-ray-")
        self._tell("starting", folder=self._folder)
        ray_ends.start_ray(self._folder, object_store_bytes)

    def end(self) -> None:
        """Ends everything that it started."""
        self._end_ends()
        for witness in self._witnesses.values():
            with suppress(Exception):
                witness.end()
        with suppress(Exception):
            ray_cluster.leave()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def look(self, nodes: Sequence[str]) -> None:
        """What each node says of itself, and what its devices carry while nothing is measured."""
        for node_id in nodes:
            if node_id not in self._witnesses:
                self._witnesses[node_id] = RayEnd(self._nodes[node_id], self._modules, {}, has_tensors=False)
        asked = {node_id: self._asked(self._witnesses[node_id]) for node_id in nodes}
        looked = {node_id: self._looked(node_id, pending) for node_id, pending in asked.items()}
        time.sleep(_IDLE_SECONDS)
        asked = {node_id: [self._witnesses[node_id].start(counters.read)] for node_id in looked}
        for node_id, (pending,) in asked.items():
            self._idle(node_id, pending, *looked[node_id])

    def _asked(self, witness: RayEnd) -> list[RayPending]:
        return [witness.start(state.read, witness.address), witness.start(counters.read)]

    def _looked(self, node_id: str, pending: Sequence[RayPending]) -> tuple[dict[str, Any] | None, float]:
        """What the node said of itself, with its counters in `counted`, and when they were read; None where it said
        nothing."""
        try:
            told, counted = (one.result(ray_ends.START_SECONDS) for one in pending)
        except _FAILURES as error:
            self._tell("lost", id=node_id, why=str(error))
            return None, 0.0
        return {**told, "counted": counted}, time.monotonic()

    def _idle(self, node_id: str, pending: RayPending, told: dict[str, Any] | None, since: float) -> None:
        """Tells the node, with what its devices carried meanwhile."""
        if told is None:
            return
        try:
            after = pending.result(ray_ends.START_SECONDS)
        except _FAILURES as error:
            self._tell("lost", id=node_id, why=str(error))
            return
        seconds = time.monotonic() - since
        moved = _moved(told.pop("counted"), after)
        told["idle_bytes_per_second"] = {name: sum(both) / seconds for name, both in moved.items()}
        self._own[node_id] = told
        self._tell("node", id=node_id, **told)

    def measure(
        self, transport: str, nodes: Sequence[str], transfers: Sequence[Mapping[str, Any]], seconds: float
    ) -> None:
        """One transport between these nodes, the source first, row by row; at most so long."""
        worker = threading.Thread(target=self._measure, args=(transport, nodes, transfers), daemon=True)
        worker.start()
        worker.join(seconds)
        if worker.is_alive():
            self._tell("failed", why=f"it hangs: given up after {seconds:g} s")
            self._end_ends()
            worker.join(_CLOSE_SECONDS)

    def _measure(self, transport: str, nodes: Sequence[str], transfers: Sequence[Mapping[str, Any]]) -> None:
        session: Session | None = None
        try:
            session, ends = self._opened(transport, nodes)
            for number, given in enumerate(transfers):
                self._row(number, Transfer(**given), session, ends)
        except Unavailable as error:
            self._tell("unavailable", why=str(error))
        except _FAILURES as error:
            self._tell("failed", why=str(error) or type(error).__name__)
        except Exception as error:  # a plug-in of others may raise anything, and rows that were told before stand
            self._tell("failed", why=f"{type(error).__name__}: {ray_ends.first_line(error)}")
        finally:
            if session is not None:
                with suppress(Exception):
                    session.close()
            self._end_ends()

    def _opened(self, transport: str, nodes: Sequence[str]) -> tuple[Session, list[RayEnd]]:
        """New ends on these nodes, and the transport between them."""
        module, _, name = self._entries[transport].partition(":")
        plugin = getattr(import_module(module), name)()
        begun = time.monotonic()
        getattr(plugin, "prepare", _nothing)()
        gpus = self._gpus(plugin, nodes)
        ends = [self._end_at(node, plugin, gpus) for node in nodes]
        self._ends += ends
        for end in ends:
            end.ready()
        session: Session = plugin.open(ends)
        self._tell("opened", seconds=time.monotonic() - begun)
        return session, ends

    def hurt(
        self, transport: str, nodes: Sequence[str], kind: str, transfer: Mapping[str, Any], seconds: float
    ) -> None:
        """One fault of one transport; see `raxl.bench.injury`."""
        witnesses = (self._witnesses[nodes[0]], self._witnesses[nodes[-1]])
        try:
            told = injury.hurt(kind, lambda: self._opened(transport, nodes), witnesses, Transfer(**transfer), seconds)
            self._tell("hurt", **told)
        except Unavailable as error:
            self._tell("unavailable", why=str(error))
        except _FAILURES as error:
            self._tell("failed", why=str(error) or type(error).__name__)
        except Exception as error:
            self._tell("failed", why=f"{type(error).__name__}: {ray_ends.first_line(error)}")
        finally:
            self._end_ends()

    def _row(self, number: int, transfer: Transfer, session: Session, ends: Sequence[RayEnd]) -> None:
        self._tell("row", number=number)
        before, begun = _all(ends, counters.read), time.monotonic()
        taken = session.measure(transfer)
        seconds = time.monotonic() - begun
        after = _all(ends, counters.read)
        moved = [_moved(one, other) for one, other in zip(before, after, strict=True)]
        self._tell("taken", number=number, taken=asdict(taken), moved=moved, seconds=seconds)

    def screen(self, rounds: Sequence[Sequence[Sequence[str]]], part_bytes: int, seconds: float, limit: float) -> None:
        """All rounds of pairs of node ids, run by the ends themselves; `seconds` a direction of each."""
        nodes = list(dict.fromkeys(node for pairs in rounds for pair in pairs for node in pair))
        try:
            ends = {node: RayEnd(self._nodes[node], self._modules, {}, has_tensors=False) for node in nodes}
            self._ends = list(ends.values())
            self._screened(ends, rounds, part_bytes, seconds, limit)
        except _FAILURES as error:
            self._tell("failed", why=str(error) or type(error).__name__)
        finally:
            self._end_ends()

    def _screened(
        self,
        ends: Mapping[str, RayEnd],
        rounds: Sequence[Sequence[Sequence[str]]],
        part_bytes: int,
        seconds: float,
        limit: float,
    ) -> None:
        for end in ends.values():
            end.ready()
        asked = {node: end.start(meeting.listen, end.address) for node, end in ends.items()}
        ports = {node: one.result(ray_ends.START_SECONDS) for node, one in asked.items()}
        mine: dict[str, list[meeting.Meeting]] = {node: [] for node in ends}
        for number, pairs in enumerate(rounds):
            for first, second in pairs:
                mine[first].append(meeting.Meeting(number, second, ends[second].address, ports[second], True))
                mine[second].append(meeting.Meeting(number, first, ends[first].address, ports[first], False))
        before = dict(zip(ends, _all(list(ends.values()), counters.read), strict=True))
        begun = time.monotonic()
        meets = {node: end.start(meeting.meet, mine[node], part_bytes, seconds) for node, end in ends.items()}
        for node, one in meets.items():
            try:
                for sent in one.result(max(1.0, begun + limit - time.monotonic())):
                    self._tell("sent", source=node, **sent._asdict())
            except _FAILURES as error:
                self._tell("lost", id=node, why=str(error))
        for node, end in ends.items():
            with suppress(*_FAILURES):
                self._tell("carried", id=node, moved=_moved(before[node], end.call(counters.read)))
                end.call(meeting.leave)

    def _gpus(self, plugin: Any, nodes: Sequence[str]) -> float:
        """How much of a GPU each end gets. Raises `Unavailable` where it needs one and Ray has none for it."""
        if "cuda" not in plugin.devices:
            return 0.0
        each = float(getattr(plugin, "gpus", 1.0))
        lacking = [node for node in nodes if nodes.count(node) * each > self._nodes[node]["gpus"]]
        if not lacking:
            return each
        if "cpu" in plugin.devices:
            return 0.0
        needed, has = nodes.count(lacking[0]) * each, self._nodes[lacking[0]]["gpus"]
        node = self._nodes[lacking[0]]["name"]
        raise Unavailable(f"it needs {needed:g} GPU{'s' if needed > 1 else ''} and Ray has {has:g} on {node}")

    def _end_at(self, node_id: str, plugin: Any, gpus: float) -> RayEnd:
        node = self._nodes[node_id]
        interface = self._own.get(node_id, {}).get("interface") or ""
        own = plugin.environment({"address": node["address"], "interface": interface})
        variables = {**own, **self._variables}
        return RayEnd(node, self._modules, variables, plugin.needs_tensor_transport, gpus)

    def _end_ends(self) -> None:
        for end in self._ends:
            with suppress(Exception):
                end.end()
        self._ends = []


def _nothing() -> None:
    """Of a plug-in that has nothing to prepare."""


def _all(ends: Sequence[RayEnd], function: Callable[..., Any]) -> list[Any]:
    return [one.result(ray_ends.START_SECONDS) for one in [end.start(function) for end in ends]]


def _moved(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Bytes that came in and went out between two readings, by device."""
    return {
        name: (after[name][0] - received, after[name][1] - sent)
        for name, (received, sent) in before.items()
        if name in after
    }
