"""`shared-memory`: two processes of one node, one copy.

The source writes into memory that the target maps, and says so by a socket; the target reads the bytes where they are.
The source's clock runs from the first byte that is written until the target's acknowledgement; of small sizes the
target writes as much back, and half of the round trip is taken.

The memory has no name: an anonymous file that is handed over by the socket, whose own name is of the kernel's abstract
space. So nothing stays behind, however the ends end.
"""

from __future__ import annotations

import array
import mmap
import os
import socket
import time
from typing import Any, Mapping

from raxl.model.measurement import FRESH, P2P
from raxl.transfer import MEMORY, Ends, Taken, Transfer, Unavailable, channel, payload
from raxl.transfer.channel import ACK, CONNECT_SECONDS, END
from raxl.transfer.timing import timed

_PING_BYTES = 64 << 10


class SharedMemory:
    """Memory that two processes map."""

    transport = "shared-memory"
    patterns = (P2P,)
    devices = ("cpu",)
    needs_tensor_transport = False
    way = MEMORY

    def environment(self, own: Mapping[str, str]) -> Mapping[str, str]:
        return {}

    def open(self, ends: Ends) -> SharedMemorySession:
        source, target = ends
        if source.node_id != target.node_id:
            raise Unavailable("the ends are on two nodes")
        return SharedMemorySession(ends)


class SharedMemorySession:
    """A socket between the two processes."""

    def __init__(self, ends: Ends) -> None:
        self._source, self._target = ends
        begun = time.monotonic()
        name = self._target.call(listen)
        accepting = self._target.start(accept)
        self._source.call(connect, name, seconds=CONNECT_SECONDS + 5)
        accepting.result(CONNECT_SECONDS + 5)
        self._setup_seconds = time.monotonic() - begun

    def measure(self, transfer: Transfer) -> Taken:
        seconds = 3 * (transfer.seconds + transfer.least_seconds) + 60.0
        serving = self._target.start(serve, transfer)
        taken: Taken = self._source.call(drive, transfer, seconds=seconds)
        wrong, verify_seconds = serving.result(CONNECT_SECONDS + seconds)
        taken.wrong, taken.verified = wrong, wrong is None
        taken.phases.update(setup=self._setup_seconds, verify=verify_seconds)
        taken.remark = "one copy: the target reads the bytes where the source wrote them"
        return taken

    def close(self) -> None:
        for end in (self._source, self._target):
            end.call(hang_up)


def listen(state: dict[str, Any]) -> str:
    """A socket without a file; its name."""
    name = f"raxl-{os.getpid()}-{os.urandom(8).hex()}"
    server = state["server"] = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind("\0" + name)
    server.listen(1)
    server.settimeout(CONNECT_SECONDS)
    return name


def accept(state: dict[str, Any]) -> None:
    """Takes the source's connection."""
    state["connection"], _ = state["server"].accept()
    state["connection"].settimeout(None)
    state.pop("server").close()


def connect(state: dict[str, Any], name: str) -> None:
    """Connects to the target."""
    connection = state["connection"] = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(CONNECT_SECONDS)
    connection.connect("\0" + name)
    connection.settimeout(None)


def hang_up(state: dict[str, Any]) -> None:
    """Closes what is open."""
    if "connection" in state:
        state.pop("connection").close()


def drive(state: dict[str, Any], transfer: Transfer) -> Taken:
    """The source's part of a row."""
    connection, size = state["connection"], transfer.size_bytes
    is_ping = size <= _PING_BYTES
    buffer, back = bytearray(size), bytearray(size)
    payload.fill(buffer, transfer.seed)
    shared: list[memoryview] = []

    def step(iteration: int) -> float:
        payload.stamp(buffer, transfer.seed, iteration)
        channel.tell(connection, iteration)
        if not shared or transfer.destination == FRESH:
            shared[:] = [_given(connection, size)]
        channel.exactly(connection, len(ACK))
        view = shared[0]
        begun = time.perf_counter()
        view[:size] = buffer
        connection.sendall(ACK)
        channel.exactly(connection, len(ACK))
        if is_ping:
            memoryview(back)[:] = view[size:]
            return (time.perf_counter() - begun) / 2
        return time.perf_counter() - begun

    told = timed(step, transfer.most_samples, transfer.seconds, transfer.least_seconds)
    channel.tell(connection, END)
    return Taken().took(told)


def serve(state: dict[str, Any], transfer: Transfer) -> tuple[str | None, float]:
    """The target's part: where bytes were wrong, and how long it took to compare them."""
    connection, size = state["connection"], transfer.size_bytes
    is_ping = size <= _PING_BYTES
    view: memoryview | None = None
    wrong, last = None, 0
    while (iteration := channel.told(connection)) != END:
        if view is None or transfer.destination == FRESH:
            view = _taken(connection, size)
            if transfer.destination != FRESH:
                payload.poison(view)
        connection.sendall(ACK)
        channel.exactly(connection, len(ACK))
        if is_ping:
            view[size:] = view[:size]
        connection.sendall(ACK)
        wrong, last = wrong or payload.stamps_differ(view[:size], transfer.seed, iteration), iteration
    assert view is not None
    at_last, seconds = payload.verified(view[:size], transfer.seed, last, transfer.is_damaged)
    return wrong or at_last, seconds


def _given(connection: socket.socket, size: int) -> memoryview:
    """New memory, which the other end gets too: twice the size, the second half for what is written back."""
    descriptor = os.memfd_create("raxl", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, 2 * size)
        connection.sendmsg([b"m"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))])
        return memoryview(mmap.mmap(descriptor, 2 * size))
    finally:
        os.close(descriptor)


def _taken(connection: socket.socket, size: int) -> memoryview:
    """The memory that the source gives."""
    words = array.array("i")
    _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(words.itemsize))
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            words.frombytes(data[: words.itemsize])
    try:
        return memoryview(mmap.mmap(words[0], 2 * size))
    finally:
        os.close(words[0])
