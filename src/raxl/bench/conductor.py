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

from raxl.bench import injury, looking
from raxl.bench.rounds import Rounds
from raxl.bench.rounds import run as run_rounds
from raxl.collect import ray_cluster
from raxl.host import pack
from raxl.transfer import FAILURES, Session, Transfer, Unavailable, counters, ray_ends
from raxl.transfer.ray_ends import RayEnd

_CLOSE_SECONDS = 5.0
_AT_ENDS = tuple(
    f"raxl.transfer.{name}" for name in ("counters", "cutting", "leftovers", "meeting", "ray_ends", "state")
)
"""What runs at each end besides a transport."""


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
                    "is_of_raxl": address is None,
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
        self._own.update(looking.look({node_id: self._witnesses[node_id] for node_id in nodes}, self._tell))

    def measure(
        self,
        transport: str,
        nodes: Sequence[str],
        transfers: Sequence[Mapping[str, Any]],
        seconds: float,
        trainers: int | None = None,
    ) -> None:
        """One transport between these nodes, the source first, row by row; at most so long. Of weight-sync so many are
        the trainers', and the others the readers'."""
        worker = threading.Thread(target=self._measure, args=(transport, nodes, transfers, trainers), daemon=True)
        worker.start()
        worker.join(seconds)
        if worker.is_alive():
            self._tell("failed", why=f"it hangs: given up after {seconds:g} s")
            self._end_ends()
            worker.join(_CLOSE_SECONDS)

    def _measure(
        self, transport: str, nodes: Sequence[str], transfers: Sequence[Mapping[str, Any]], trainers: int | None
    ) -> None:
        session: Session | None = None
        try:
            session, ends = self._opened(transport, nodes, trainers)
            counted = ends if trainers is None else [ends[0], ends[trainers]]
            for number, given in enumerate(transfers):
                self._row(number, Transfer(**given), session, counted)
        except Unavailable as error:
            self._tell("unavailable", why=str(error))
        except FAILURES as error:
            self._tell("failed", why=str(error) or type(error).__name__)
        except Exception as error:  # a plug-in of others may raise anything, and rows that were told before stand
            self._tell("failed", why=f"{type(error).__name__}: {ray_ends.first_line(error)}")
        finally:
            if session is not None:
                with suppress(Exception):
                    session.close()
            self._end_ends()

    def _opened(
        self, transport: str, nodes: Sequence[str], trainers: int | None = None
    ) -> tuple[Session, list[RayEnd]]:
        """New ends on these nodes, and the transport between them, or from the first of them to the others."""
        module, _, name = self._entries[transport].partition(":")
        plugin = getattr(import_module(module), name)()
        begun = time.monotonic()
        getattr(plugin, "prepare", _nothing)()
        gpus = self._gpus(plugin, nodes)
        ends = [self._end_at(node, plugin, gpus) for node in nodes]
        self._ends += ends
        for end in ends:
            end.ready()
        session: Session
        session = plugin.open(ends) if trainers is None else plugin.open_sync(ends[:trainers], ends[trainers:])
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
        except FAILURES as error:
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
        moved = [counters.moved(one, other) for one, other in zip(before, after, strict=True)]
        self._tell("taken", number=number, taken=asdict(taken), moved=moved, seconds=seconds)

    def screen(self, rounds: Rounds, part_bytes: int, seconds: float, limit: float) -> None:
        """All rounds, with an end on each node that they name; see `raxl.bench.rounds`."""
        nodes = list(dict.fromkeys(node for pairs in rounds for pair in pairs for node in pair))
        ends = {node: RayEnd(self._nodes[node], self._modules, {}, has_tensors=False) for node in nodes}
        self._ends = list(ends.values())
        try:
            run_rounds(ends, rounds, part_bytes, seconds, limit, self._tell)
        finally:
            self._end_ends()

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
