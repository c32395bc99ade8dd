"""Ends that meet each other in pairs, round by round, without a driver in between: for screening.

Each end is given its whole schedule once. In a round the first of a pair connects to the second; then either sends to
the other in turn, in parts that are acknowledged one by one. A driver's call an end and round would cost more than the
round.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from typing import Any, NamedTuple, Sequence

from raxl.transfer import channel
from raxl.transfer.channel import ACK

_MORE, _ENOUGH = b"m", b"e"
_MEET_SECONDS = 20.0
_RETRY_SECONDS = 0.05
_LEAST_PARTS = 2


class Meeting(NamedTuple):
    """One end's part in a round."""

    round: int
    peer: str
    """The peer's node id."""
    address: str
    port: int
    is_first: bool
    """Whether this end connects, and sends first."""


class Sent(NamedTuple):
    """What one end sent to another in a round."""

    round: int
    peer: str
    samples: list[float]
    """Seconds of each part, from its first byte to its acknowledgement; none where they did not meet."""
    error: str | None = None


def listen(state: dict[str, Any], address: str) -> int:
    """Opens the port at which this end is met, and takes whoever comes, each with the number of the round."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.create_server((address, 0), family=family, backlog=64)
    come: queue.Queue[tuple[int, socket.socket]] = queue.Queue()
    state.update(server=server, come=come, early={})
    threading.Thread(target=_take, args=(server, come), daemon=True).start()
    return int(server.getsockname()[1])


def meet(state: dict[str, Any], meetings: Sequence[Meeting], part_bytes: int, seconds: float) -> list[Sent]:
    """All of this end's rounds in order: what it sent in each, for about so many seconds."""
    buffer = bytearray(part_bytes)
    sent = []
    for one in meetings:
        try:
            connection = _connected(one) if one.is_first else _awaited(state, one.round)
            with connection:
                connection.settimeout(_MEET_SECONDS)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if one.is_first:
                    sent.append(_send(connection, one, buffer, seconds))
                    _receive_all(connection, buffer)
                else:
                    _receive_all(connection, buffer)
                    sent.append(_send(connection, one, buffer, seconds))
        except OSError as error:
            sent.append(Sent(one.round, one.peer, [], f"{type(error).__name__}: {error}"))
    return sent


def leave(state: dict[str, Any]) -> None:
    """Closes the port, and whoever came too early or too late."""
    state["server"].close()
    while not state["come"].empty():
        state["come"].get()[1].close()
    for connection in state["early"].values():
        connection.close()


def _take(server: socket.socket, come: queue.Queue[tuple[int, socket.socket]]) -> None:
    while True:
        try:
            connection, _ = server.accept()
            connection.settimeout(_MEET_SECONDS)
            number = channel.told(connection)
        except OSError:
            if server.fileno() < 0:
                return
            continue
        come.put((number, connection))


def _connected(one: Meeting) -> socket.socket:
    """A peer that is still busy with the round before has its port open all the same."""
    until = time.monotonic() + _MEET_SECONDS
    while True:
        try:
            connection = socket.create_connection((one.address, one.port), _MEET_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(_RETRY_SECONDS)
            continue
        channel.tell(connection, one.round)
        return connection


def _awaited(state: dict[str, Any], number: int) -> socket.socket:
    early: dict[int, socket.socket] = state["early"]
    until = time.monotonic() + _MEET_SECONDS
    while number not in early:
        try:
            round_, connection = state["come"].get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise TimeoutError(f"nobody came within {_MEET_SECONDS:g} s") from None
        early[round_] = connection
    return early.pop(number)


def _send(connection: socket.socket, one: Meeting, buffer: bytearray, seconds: float) -> Sent:
    """The first part opens the window of the connection, and is not counted."""
    if channel.exactly(connection, 1) != _MORE:
        raise ConnectionError("the peer is not ready")
    _part(connection, buffer)
    samples: list[float] = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(samples) < _LEAST_PARTS:
        samples.append(_part(connection, buffer))
    connection.sendall(_ENOUGH)
    return Sent(one.round, one.peer, samples)


def _part(connection: socket.socket, buffer: bytearray) -> float:
    connection.sendall(_MORE)
    begun = time.perf_counter()
    connection.sendall(buffer)
    channel.exactly(connection, len(ACK))
    return time.perf_counter() - begun


def _receive_all(connection: socket.socket, buffer: bytearray) -> None:
    connection.sendall(_MORE)
    view = memoryview(buffer)
    while channel.exactly(connection, 1) == _MORE:
        channel.receive(connection, view)
        connection.sendall(ACK)
