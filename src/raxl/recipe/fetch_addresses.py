"""Where a fetch may connect to: an address is looked at before anything is sent to it.

Private addresses are fine: a company serves its recipes from one. A link-local address never is, nor one at which a
cloud answers questions about the machine itself; the loopback only where it is asked for.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import Union

from raxl.errors import RecipeError, UnreadableInput

Resolver = Callable[[str, int], Sequence[str]]
_Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
_METADATA = {
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192")
}
"""AWS, Azure, GCP, OCI; AWS and GCP over IPv6; Alibaba; Azure's wire server; an older one of Oracle's."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""https://www.rfc-editor.org/rfc/rfc6052"""


def system(host: str, port: int) -> list[str]:
    """What this machine's resolver says, once."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def checked(host: str, port: int, resolver: Resolver, allow_loopback: bool) -> list[str]:
    """The addresses of a host. Raises RecipeError where one of them is refused, UnreadableInput where there is none."""
    try:
        told = list(resolver(host, port))
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise UnreadableInput(f"{host} has no address", why) from error
    if not told:
        raise UnreadableInput(f"{host} has no address")
    for text in told:
        if why := refusal(text, allow_loopback):
            named = "" if text == host else f" has the address {text}"
            step = "--allow-loopback lets a mirror on this machine answer" if why == LOOPBACK else ""
            raise RecipeError(f"{host}{named}", f"{why}: nothing is fetched from it", step)
    return told


LOOPBACK = "that is this machine"


def refusal(text: str, allow_loopback: bool) -> str | None:
    """Why nothing is fetched from the address; None where it may be."""
    try:
        address = _inner(ipaddress.ip_address(text))
    except ValueError:
        return "that is no address"
    if address in _METADATA:
        return "that answers questions about the machine itself"
    if address.is_loopback:
        return None if allow_loopback else LOOPBACK
    if address.is_link_local:
        return "that is link-local"
    if address.is_unspecified or (address.version == 4 and int(address) >> 24 == 0):
        return "that is no host's"
    if address.is_multicast or address.is_reserved:
        return "that is no single host's"
    return None


def _inner(address: _Address) -> _Address:
    """The IPv4 address that one of IPv6 leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
    if inner is None and address in _NAT64:
        inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    # `::127.0.0.1`; `::` and `::1` are of IPv6 itself.
    if inner is None and int(address) >> 32 == 0 and int(address) > 0xFFFF:
        inner = ipaddress.IPv4Address(int(address))
    return inner or address
