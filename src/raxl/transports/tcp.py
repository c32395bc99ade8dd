"""`tcp`: plain sockets, one or several connections.

The source's clock runs from the first byte that is sent until an acknowledgement of eight bytes has come back; of
small sizes both ends send the whole size, and half of the round trip is taken. Python adds nothing to what the kernel
takes at these buffer sizes.
"""

from __future__ import annotations

import socket
import threading
import time
from itertools import pairwise
from typing import Any, Mapping

from raxl.model.measurement import FRESH, P2P, SINGLE, STREAM
from raxl.transfer import Ends, Taken, Transfer, channel, memory, payload
from raxl.transfer.channel import ACK, CONNECT_SECONDS, END
from raxl.transfer.timing import Timed, timed

_PING_BYTES = 64 << 10
"""Up to this size it is the latency that counts."""


class Tcp:
    """Sockets between two processes."""

    transport = "tcp"
    patterns = (P2P,)
    devices = ("cpu",)
    needs_tensor_transport = False
    way = "loopback"

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> TcpSession:
        return TcpSession(ends)


class TcpSession:
    """Connections from the source to the target, made when the first row tells how many."""

    def __init__(self, ends: Ends) -> None:
        self._source, self._target = ends
        self._streams = 0
        self.setup_seconds = 0.0

    def measure(self, transfer: Transfer) -> Taken:
        begun = time.monotonic()
        if self._streams != transfer.streams:
            self._connect(transfer.streams)
        seconds = 3 * (transfer.seconds + transfer.least_seconds) + 60.0
        serving = self._target.start(serve, transfer)
        taken: Taken = self._source.call(drive, transfer, seconds=seconds)
        wrong, received = serving.result(CONNECT_SECONDS + seconds)
        taken.wrong, taken.verified = wrong, wrong is None
        taken.phases.update(received)
        if self.setup_seconds:
            taken.phases["setup"] = self.setup_seconds
        self.measured_seconds = time.monotonic() - begun
        return taken

    def close(self) -> None:
        for end in (self._source, self._target):
            end.call(hang_up)

    def _connect(self, streams: int) -> None:
        begun = time.monotonic()
        port = self._target.call(listen, self._target.address)
        accepting = self._target.start(accept, streams)
        self._source.call(connect, self._target.address, port, streams, seconds=CONNECT_SECONDS + 5)
        accepting.result(CONNECT_SECONDS + 5)
        self._streams = streams
        self.setup_seconds = time.monotonic() - begun


def listen(state: dict[str, Any], address: str) -> int:
    """Opens a port on the address that the peers use."""
    server = state["server"] = channel.listening(address)
    return int(server.getsockname()[1])


def accept(state: dict[str, Any], streams: int) -> None:
    """Takes the connections, in the order of the numbers that they begin with."""
    connections = {}
    for _ in range(streams):
        connection = channel.accepted(state["server"])
        connections[channel.told(connection)] = connection
    state.pop("server").close()
    state["connections"] = [connections[number] for number in sorted(connections)]


def connect(state: dict[str, Any], address: str, port: int, streams: int) -> None:
    """Connects to the target."""
    state["connections"] = []
    for number in range(streams):
        connection = channel.connected(address, port)
        channel.tell(connection, number)
        state["connections"].append(connection)


def hang_up(state: dict[str, Any]) -> None:
    """Closes what is open."""
    for connection in state.pop("connections", []):
        connection.close()


def drive(state: dict[str, Any], transfer: Transfer) -> Taken:
    """The source's part of a row."""
    connections = state["connections"]
    buffer = bytearray(transfer.size_bytes)
    payload.fill(buffer, transfer.seed)
    views = _parts(memoryview(buffer), len(connections))
    control = connections[0]
    is_ping = transfer.size_bytes <= _PING_BYTES and len(connections) == 1

    def ping(iteration: int) -> float:
        payload.stamp(buffer, transfer.seed, iteration)
        channel.tell(control, iteration)
        channel.exactly(control, len(ACK))
        begun = time.perf_counter()
        control.sendall(buffer)
        channel.receive(control, memoryview(back))
        return (time.perf_counter() - begun) / 2

    def send(iteration: int) -> float:
        payload.stamp(buffer, transfer.seed, iteration)
        channel.tell(control, iteration)
        channel.exactly(control, len(ACK))
        begun = time.perf_counter()
        _together([(_send, connection, view) for connection, view in zip(connections, views)])
        channel.exactly(control, len(ACK))
        return time.perf_counter() - begun

    back = bytearray(transfer.size_bytes if is_ping else 0)
    told: Timed = timed(ping if is_ping else send, transfer.most_samples, transfer.seconds, transfer.least_seconds)
    channel.tell(control, END)
    return Taken(
        samples=told.samples,
        warmup=told.warmup,
        cold=told.cold,
        stopped=told.stopped,
        transfers=told.warmup + 1 + len(told.samples),
        mode=SINGLE if len(connections) == 1 else STREAM,
        window=len(connections) if len(connections) > 1 else None,
    )


def serve(state: dict[str, Any], transfer: Transfer) -> tuple[str | None, dict[str, float]]:
    """The target's part: where bytes were wrong, and how long it took to compare them."""
    connections = state["connections"]
    control = connections[0]
    is_ping = transfer.size_bytes <= _PING_BYTES and len(connections) == 1
    buffer = memoryview(bytearray(transfer.size_bytes))
    payload.poison(buffer)
    wrong, last = None, 0
    while True:
        iteration = channel.told(control)
        if iteration == END:
            break
        if transfer.destination == FRESH:
            buffer = memory.fresh(transfer.size_bytes)
        views = _parts(buffer, len(connections))
        control.sendall(ACK)
        _together([(channel.receive, connection, view) for connection, view in zip(connections, views)])
        control.sendall(buffer if is_ping else ACK)
        wrong = wrong or payload.stamps_differ(buffer, transfer.seed, iteration)
        last = iteration
    if transfer.is_damaged:
        payload.damage(buffer)
    begun = time.perf_counter()
    wrong = wrong or payload.differs(buffer, transfer.seed, last)
    return wrong, {"verify": time.perf_counter() - begun}


def _parts(view: memoryview, count: int) -> list[memoryview]:
    edges = [len(view) * number // count for number in range(count + 1)]
    return [view[start:end] for start, end in pairwise(edges)]


def _together(calls: list[tuple[Any, socket.socket, memoryview]]) -> None:
    """The first here, the others in threads: sockets leave the interpreter alone while they wait."""
    failed: list[BaseException] = []

    def guarded(call: tuple[Any, socket.socket, memoryview]) -> None:
        try:
            call[0](*call[1:])
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls[1:]]
    for thread in threads:
        thread.start()
    calls[0][0](*calls[0][1:])
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _send(connection: socket.socket, view: memoryview) -> None:
    connection.sendall(view)
