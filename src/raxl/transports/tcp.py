"""`tcp`: plain sockets, one or several connections.

The source's clock runs from the first byte that is sent until an acknowledgement of eight bytes has come back; of
small sizes both ends send the whole size, and half of the round trip is taken. Python adds nothing to what the kernel
takes at these buffer sizes.

In both directions at once each has connections of its own, so that no acknowledgement waits behind the data of the
other one, and each sender has its own clock.
"""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Mapping, Sequence

from raxl.model.measurement import FRESH, P2P, SINGLE, STREAM, WEIGHT_SYNC
from raxl.transfer import Ends, Session, Taken, Transfer, channel, memory, payload, sync_sockets
from raxl.transfer.channel import ACK, CONNECT_SECONDS, END
from raxl.transfer.statistics import median
from raxl.transfer.timing import Timed, timed

_PING_BYTES = 64 << 10
"""Up to this size it is the latency that counts."""
_RATES = ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s"))


class Tcp:
    """Sockets between two processes."""

    transport = "tcp"
    patterns = (P2P, WEIGHT_SYNC)
    devices = ("cpu",)
    needs_tensor_transport = False
    way = "loopback"
    takes = ("streams", "bidirectional")

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> TcpSession:
        return TcpSession(ends)

    def open_sync(self, trainers: Ends, readers: Ends) -> Session:
        return sync_sockets.opened(trainers, readers)


class TcpSession:
    """Connections from the source to the target, made when the first row tells how many."""

    def __init__(self, ends: Ends) -> None:
        self._source, self._target = ends
        self._streams = 0
        self.setup_seconds = 0.0

    def measure(self, transfer: Transfer) -> Taken:
        streams = transfer.streams * (2 if transfer.is_bidirectional else 1)
        if self._streams != streams:
            self._connect(streams)
        seconds = 3 * (transfer.seconds + transfer.least_seconds) + 60.0
        serving = self._target.start(serve, transfer)
        taken: Taken = self._source.call(drive, transfer, seconds=seconds)
        wrong, received, back = serving.result(CONNECT_SECONDS + seconds)
        taken.wrong = wrong or taken.wrong
        taken.verified = taken.wrong is None
        taken.phases.update(received)
        if transfer.is_bidirectional:
            taken.back = back[-len(taken.samples) :]
            taken.remark = _both_ways(transfer.size_bytes, taken)
        if self.setup_seconds:
            taken.phases["setup"] = self.setup_seconds
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
    connections = state["connections"][: transfer.streams]
    buffer = bytearray(transfer.size_bytes)
    payload.fill(buffer, transfer.seed)
    views = _parts(memoryview(buffer), len(connections))
    control = connections[0]
    is_ping = _is_ping(transfer)
    back = _Back(state["connections"][transfer.streams :], transfer) if transfer.is_bidirectional else None

    def begin(iteration: int) -> None:
        payload.stamp(buffer, transfer.seed, iteration)
        channel.tell(control, iteration)
        channel.exactly(control, len(ACK))

    def ping(iteration: int) -> float:
        begin(iteration)
        begun = time.perf_counter()
        control.sendall(buffer)
        channel.receive(control, memoryview(echo))
        return (time.perf_counter() - begun) / 2

    def send(iteration: int) -> float:
        begin(iteration)
        receiving = back.begin(iteration) if back is not None else None
        begun = time.perf_counter()
        _together([(channel.send, connection, view) for connection, view in zip(connections, views)])
        channel.exactly(control, len(ACK))
        seconds = time.perf_counter() - begun
        if receiving is not None:
            receiving.result()
        return seconds

    echo = bytearray(transfer.size_bytes if is_ping else 0)
    told: Timed = timed(ping if is_ping else send, transfer.most_samples, transfer.seconds, transfer.least_seconds)
    channel.tell(control, END)
    return Taken(
        mode=SINGLE if len(connections) == 1 else STREAM,
        window=len(connections) if len(connections) > 1 else None,
        wrong=back.verify() if back is not None else None,
    ).took(told)


def serve(state: dict[str, Any], transfer: Transfer) -> tuple[str | None, dict[str, float], list[float]]:
    """The target's part: where bytes were wrong, how long it took to compare them, and the seconds of each transfer of
    its own, where both directions are measured."""
    connections = state["connections"][: transfer.streams]
    control = connections[0]
    buffer = memoryview(bytearray(transfer.size_bytes))
    payload.poison(buffer)
    wrong, last = None, 0
    forth = _Forth(state["connections"][transfer.streams :], transfer) if transfer.is_bidirectional else None
    while True:
        iteration = channel.told(control)
        if iteration == END:
            break
        if transfer.destination == FRESH:
            buffer = memory.fresh(transfer.size_bytes)
        views = _parts(buffer, len(connections))
        sending = forth.begin(iteration) if forth is not None else None
        control.sendall(ACK)
        _together([(channel.receive, connection, view) for connection, view in zip(connections, views)])
        control.sendall(buffer if _is_ping(transfer) else ACK)
        if forth is not None and sending is not None:
            forth.samples.append(sending.result())
        wrong = wrong or payload.stamps_differ(buffer, transfer.seed, iteration)
        last = iteration
    at_last, seconds = payload.verified(buffer, transfer.seed, last, transfer.is_damaged)
    return wrong or at_last, {"verify": seconds}, forth.samples if forth is not None else []


class _Forth:
    """What the target sends at the same time, with a pattern of its own."""

    def __init__(self, connections: Sequence[socket.socket], transfer: Transfer) -> None:
        self._connections, self._seed = connections, transfer.seed + 1
        self._buffer = bytearray(transfer.size_bytes)
        payload.fill(self._buffer, self._seed)
        self._views = _parts(memoryview(self._buffer), len(connections))
        self._thread = ThreadPoolExecutor(1)
        self.samples: list[float] = []

    def begin(self, iteration: int) -> Future[float]:
        """It waits until the source is ready."""
        payload.stamp(self._buffer, self._seed, iteration)
        return self._thread.submit(self._sent)

    def _sent(self) -> float:
        channel.exactly(self._connections[0], len(ACK))
        begun = time.perf_counter()
        _together([(channel.send, connection, view) for connection, view in zip(self._connections, self._views)])
        channel.exactly(self._connections[0], len(ACK))
        return time.perf_counter() - begun


class _Back:
    """The same at the source, which receives it."""

    def __init__(self, connections: Sequence[socket.socket], transfer: Transfer) -> None:
        self._connections, self._seed = connections, transfer.seed + 1
        self._buffer = bytearray(transfer.size_bytes)
        payload.poison(self._buffer)
        self._views = _parts(memoryview(self._buffer), len(connections))
        self._thread = ThreadPoolExecutor(1)
        self._wrong: str | None = None
        self._last = 0

    def begin(self, iteration: int) -> Future[None]:
        self._connections[0].sendall(ACK)
        return self._thread.submit(self._received, iteration)

    def _received(self, iteration: int) -> None:
        _together([(channel.receive, one, view) for one, view in zip(self._connections, self._views)])
        self._connections[0].sendall(ACK)
        self._wrong = self._wrong or payload.stamps_differ(self._buffer, self._seed, iteration)
        self._last = iteration

    def verify(self) -> str | None:
        """Where a byte is wrong."""
        wrong = self._wrong or payload.differs(self._buffer, self._seed, self._last)
        return f"on the way back: {wrong}" if wrong is not None else None


def _is_ping(transfer: Transfer) -> bool:
    return transfer.size_bytes <= _PING_BYTES and transfer.streams == 1 and not transfer.is_bidirectional


def _both_ways(size: int, taken: Taken) -> str:
    there, back = (size / median(samples) for samples in (taken.samples, taken.back))
    scale, unit = next((one for one in _RATES if there + back >= one[0]), _RATES[-1])
    told = (
        f"{rate / scale:.4g} {words}" for rate, words in ((there, "there"), (back, "back"), (there + back, "together"))
    )
    return f"both ways at once, {unit}: {', '.join(told)}"


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
