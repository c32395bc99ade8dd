"""Network devices as sockets see them: hardware or not, up or not, with their addresses and the default route.

https://docs.kernel.org/ABI/testing/sysfs-class-net; addresses come from the kernel's list in the network namespace of
the asking process.
"""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.facts import Reading
from raxl.model.machine import Address, Interface
from raxl.model.problem import FAILED
from raxl.sources.netdev import FOLDER
from raxl.sources.numbers import MOST_COUNT, whole

_FILES = ("operstate", "mtu", "carrier_changes", "uevent")
_MOST = 256
"""A host of many pods has a pair of ends for each: those with an address and those with hardware come first."""
_KIND = re.compile(r"^DEVTYPE=(\w{1,32})$", re.MULTILINE)
_ADDRESSES = "rtnetlink(7)"


class Answers(NamedTuple):
    """The listing, each device's place and files, and the addresses of all."""

    listing: Answer
    devices: Mapping[str, Mapping[str, Answer]]
    addresses: Answer


def ask(host: Host) -> Answers:
    """Asks for four files of each device."""
    listing, addresses = host.names(FOLDER), host.process("addresses")
    names = sorted(listing.value or (), key=lambda name: name not in _by_device(addresses))
    devices = {
        name: {"path": host.link(f"{FOLDER}/{name}"), **{file: host.text(f"{FOLDER}/{name}/{file}") for file in _FILES}}
        for name in names[:_MOST]
    }
    return Answers(listing, devices, addresses)


def readings(host: Host) -> Mapping[str, Reading]:
    """`interfaces` by name; `addresses` by name, as tuples; `default_route`: the names that one leads through."""
    answers = ask(host)
    listing, told = answers.listing, answers.addresses
    interfaces = {name: _interface(name, files) for name, files in answers.devices.items()}
    found = {
        "interfaces": Reading(interfaces if listing.known else None, FOLDER, listing.reason, listing.message),
    }
    if not told.known:
        silent = Reading(None, _ADDRESSES, told.reason, told.message)
        return {**found, "addresses": silent, "default_route": silent}
    default = told.value.get("default")
    return {
        **found,
        "addresses": Reading(
            {name: tuple(held) for name, held in _by_device(told).items()},
            _ADDRESSES,
        ),
        "default_route": Reading(tuple(map(str, default)), "/proc/net/route")
        if isinstance(default, list)
        else Reading(None, "/proc/net/route", FAILED, "the recording does not hold it"),
    }


def _interface(name: str, files: Mapping[str, Answer]) -> Interface:
    place, kind = stripped(files["path"]), _KIND.search(stripped(files["uevent"]) or "")
    is_hardware = place is not None and "/devices/virtual/" not in place
    return Interface(
        name=name,
        state=stripped(files["operstate"]),
        kind=kind[1] if kind else "hardware" if is_hardware else None,
        mtu=whole(stripped(files["mtu"]), MOST_COUNT),
        carrier_changes=whole(stripped(files["carrier_changes"]), MOST_COUNT),
    )


def _by_device(answer: Answer) -> Mapping[str, List[Address]]:
    """Addresses by device; entries that an edited recording holds in another shape are left out."""
    told = answer.value.get("addresses") if isinstance(answer.value, dict) else None
    found: Dict[str, List[Address]] = {}
    for raw in told if isinstance(told, list) else ():
        if isinstance(raw, list) and len(raw) == 4 and isinstance(raw[2], int):
            found.setdefault(str(raw[0]), []).append(Address(str(raw[1]), raw[2], str(raw[3])))
    return found
