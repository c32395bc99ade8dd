"""The addresses of network devices, from the kernel's own list: rtnetlink(7). Standard library, Python 3.8.

Link-local IPv6 addresses are left out: every device has one, and it is made from its MAC address.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
from typing import Any, Dict, Iterator, List, Tuple

_HEADER, _MESSAGE, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBBBI"), struct.Struct("=HH")
_GET_ADDRESSES, _NEW_ADDRESS, _ERROR, _DONE = 22, 20, 2, 3
_REQUEST_DUMP = 0x301
_ADDRESS, _LOCAL = 1, 2
_LINK, _HOST = 253, 254
"""Scopes of linux/rtnetlink.h."""
_MOST = 4096
_ROUTES, _ROUTES_6 = "/proc/net/route", "/proc/net/ipv6_route"
_LARGEST = 1 << 20
_UP, _REJECT = 0x1, 0x200
_SECONDS = 1.0


def addresses() -> Dict[str, Any]:
    """`addresses`: device, address, length of its prefix, scope; `default`: the devices that a default route leads
    through."""
    names = dict(socket.if_nameindex())
    found: List[List[Any]] = []
    for index, family, prefix_length, scope, raw in _told():
        address = ipaddress.ip_address(raw)
        if index not in names or (family == socket.AF_INET6 and address.is_link_local):
            continue
        word = "host" if scope == _HOST else "link" if scope == _LINK or address.is_link_local else "global"
        found.append([names[index], str(address), prefix_length, word])
    return {"addresses": found, "default": sorted({*_default(), *_default_6()})}


def _told() -> Iterator[Tuple[int, int, int, int, bytes]]:
    """Index of the device, family, prefix length, scope and the address itself, of every address."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as link:
        link.settimeout(_SECONDS)
        size = _HEADER.size + _MESSAGE.size
        link.send(_HEADER.pack(size, _GET_ADDRESSES, _REQUEST_DUMP, 1, 0) + _MESSAGE.pack(socket.AF_UNSPEC, 0, 0, 0, 0))
        for _ in range(_MOST):
            data = link.recv(1 << 16)
            if len(data) < _HEADER.size or _HEADER.unpack_from(data)[1] in (_DONE, _ERROR):
                return
            while len(data) >= size:
                length, kind, _, _, _ = _HEADER.unpack_from(data)
                if kind in (_DONE, _ERROR) or length < size:
                    return
                if kind == _NEW_ADDRESS:
                    family, prefix_length, _, scope, index = _MESSAGE.unpack_from(data, _HEADER.size)
                    held = _attributes(data[size:length])
                    raw = held.get(_LOCAL, held.get(_ADDRESS, b""))
                    if len(raw) == {socket.AF_INET: 4, socket.AF_INET6: 16}.get(family):
                        yield index, family, prefix_length, scope, raw
                data = data[(length + 3) & ~3 :]


def _attributes(data: bytes) -> Dict[int, bytes]:
    found: Dict[int, bytes] = {}
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            break
        found[kind] = data[_ATTRIBUTE.size : length]
        data = data[(length + 3) & ~3 :]
    return found


def _lines(path: str) -> List[List[str]]:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return [line.split() for line in file.read(_LARGEST).splitlines()]
    except OSError:
        return []


def _default() -> Iterator[str]:
    for words in _lines(_ROUTES)[1:]:
        if len(words) > 7 and words[1] == words[7] == "00000000" and int(words[3], 16) & _UP:
            yield words[0]


def _default_6() -> Iterator[str]:
    for words in _lines(_ROUTES_6):
        is_default = len(words) > 9 and words[0] == "0" * 32 and words[1] == "00"
        if is_default and int(words[8], 16) & (_UP | _REJECT) == _UP and words[9] != "lo":
            yield words[9]
