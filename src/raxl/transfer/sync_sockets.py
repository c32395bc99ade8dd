"""Weight-sync by plain sockets: a connection from each trainer to each reader, all at once."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from raxl.model.measurement import FRESH
from raxl.transfer import Ends, channel, memory, payload, sync
from raxl.transfer.sync import Carrier, Moved, SyncSession

_SILENT_SECONDS = 60.0
"""A peer that sends or takes nothing for so long is given up."""


def opened(trainers: Ends, readers: Ends) -> SyncSession:
    """The connections are made here."""
    begun = time.monotonic()
    seconds = channel.CONNECT_SECONDS + 5
    listening = [end.start(listen, end.address) for end in readers]
    addresses = [(end.address, one.result(seconds)) for end, one in zip(readers, listening)]
    accepting = [end.start(accept, len(trainers)) for end in readers]
    connecting = [end.start(connect, addresses, number) for number, end in enumerate(trainers)]
    for one in (*connecting, *accepting):
        one.result(seconds * len(readers))
    return SyncSession(trainers, readers, Sockets(), time.monotonic() - begun)


class Sockets(Carrier):
    """Both sides are told at once; what was sent before the other one listens waits in the kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.clear = clear

    def move(self, trainers: Ends, readers: Ends, iteration: int, seconds: float) -> Moved:
        sending = [end.start(send) for end in trainers]
        receiving = [end.start(receive) for end in readers]
        return Moved([one.result(seconds) for one in receiving], left=sending)


def listen(state: dict[str, Any], address: str) -> int:
    """At a reader: its port."""
    server = state["server"] = channel.listening(address)
    return int(server.getsockname()[1])


def accept(state: dict[str, Any], count: int) -> None:
    """At a reader: the trainers, by the numbers that they tell."""
    found: dict[int, socket.socket] = {}
    for _ in range(count):
        connection = channel.accepted(state["server"])
        connection.settimeout(_SILENT_SECONDS)
        found[channel.told(connection)] = connection
    state.pop("server").close()
    state["peers"] = [found[number] for number in range(count)]


def connect(state: dict[str, Any], readers: Sequence[tuple[str, int]], number: int) -> None:
    """At a trainer: to each reader."""
    state["peers"] = []
    for address, port in readers:
        connection = channel.connected(address, port)
        connection.settimeout(_SILENT_SECONDS)
        channel.tell(connection, number)
        state["peers"].append(connection)


def send(state: dict[str, Any]) -> None:
    """At a trainer: all of its tensors to each reader, at the same time."""
    views = [memoryview(buffer) for buffer in state["buffers"]]
    _together([partial(_send, connection, views) for connection in state["peers"]])


def clear(state: dict[str, Any], iteration: int) -> str | None:
    """At a reader: memory for what comes, fresh or that of the transfer before."""
    before = state["got"]
    wrong = sync.clear(state, iteration)
    if before is None or state["destination"] == FRESH:
        before = None
        state["got"] = [[memory.fresh(size) for size in part.sizes] for part in state["parts"]]
        if state["destination"] != FRESH:
            for view in (view for views in state["got"] for view in views):
                payload.poison(view)
    else:
        state["got"] = before
    return wrong


def receive(state: dict[str, Any]) -> str | None:
    """At a reader: the parts of all trainers, at the same time; what is missing then."""
    _together([partial(_receive, connection, views) for connection, views in zip(state["peers"], state["got"])])
    return sync.holds(state)


def _send(connection: socket.socket, views: Sequence[memoryview]) -> None:
    for view in views[:-1]:
        connection.sendall(view, socket.MSG_MORE)  # small tensors share packets
    connection.sendall(views[-1])


def _receive(connection: socket.socket, views: Sequence[memoryview]) -> None:
    for view in views:
        channel.receive(connection, view)


def _together(calls: Sequence[Callable[[], None]]) -> None:
    if len(calls) == 1:
        calls[0]()
        return
    with ThreadPoolExecutor(len(calls)) as pool:
        for one in [pool.submit(call) for call in calls]:
            one.result()
