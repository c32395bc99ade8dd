"""Sockets between two ends: what a transport says beside the bytes that it moves, and what `tcp` moves them by."""

from __future__ import annotations

import socket
import struct

CONNECT_SECONDS = 10.0
ACK = b"raxl-ack"
END = -1
_CHUNK = 2 << 20
"""So much is handed to the kernel in a call, and taken from it. With all of 64 MiB in one call BBR sends a quarter less
over the loopback; other congestion control does not mind."""
_NUMBER = struct.Struct("<q")


def listening(address: str) -> socket.socket:
    """A port on the address that the peers use."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.create_server((address, 0), family=family, backlog=64)
    server.settimeout(CONNECT_SECONDS)
    return server


def accepted(server: socket.socket) -> socket.socket:
    """The next peer that connects."""
    return _prompt(server.accept()[0])


def connected(address: str, port: int) -> socket.socket:
    """A connection to it."""
    return _prompt(socket.create_connection((address, port), CONNECT_SECONDS))


def _prompt(connection: socket.socket) -> socket.socket:
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def tell(connection: socket.socket, number: int) -> None:
    """Sends a number: of the transfer that comes, or `END`."""
    connection.sendall(_NUMBER.pack(number))


def told(connection: socket.socket) -> int:
    """The number that the other end sends."""
    number: int = _NUMBER.unpack(exactly(connection, _NUMBER.size))[0]
    return number


def send(connection: socket.socket, view: memoryview) -> None:
    """Sends the view."""
    for place in range(0, len(view), _CHUNK):
        connection.sendall(view[place : place + _CHUNK])


def receive(connection: socket.socket, view: memoryview) -> None:
    """Fills the view. Raises `ConnectionResetError` where the other end closes before."""
    place = 0
    while place < len(view):
        count = connection.recv_into(view[place : place + _CHUNK])
        if count == 0:
            raise ConnectionResetError("the other end closed the connection")
        place += count


def exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes of it."""
    buffer = bytearray(size)
    receive(connection, memoryview(buffer))
    return bytes(buffer)
