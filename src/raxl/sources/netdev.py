"""Network devices: `/sys/class/net`.

https://docs.kernel.org/ABI/testing/sysfs-class-net. Only devices with hardware beneath them are asked further.
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.identity import last_pci_address
from raxl.sources.numbers import MOST_PLACES, whole

FOLDER = "/sys/class/net"
_FILES = ("speed", "operstate", "type", "dev_port", "dev_id")
_INFINIBAND = "32"
_FASTEST = 2**31 - 1
"""Megabits per second; the kernel says 2^32 - 1 where it does not know."""


class Answers(NamedTuple):
    """The listing, and each hardware device's path and files."""

    listing: Answer
    devices: Mapping[str, Mapping[str, Answer]]


class NetDevice(NamedTuple):
    """A network device with hardware beneath it."""

    name: str
    address: str | None
    """The nearest PCI function above it."""
    state: str
    """ok | down | unknown"""
    speed_bits_per_second: int | None
    is_infiniband: bool
    """Whether it is IP over InfiniBand."""
    port: int
    """Its port on the adapter, counted from 1."""


def ask(host: Host) -> Answers:
    """Asks for each device's place, and for the state of those that are not virtual."""
    listing = host.names(FOLDER)
    devices = {}
    for name in listing.value or ():
        path = host.link(f"{FOLDER}/{name}")
        if not path.known or "/devices/virtual/" in path.value:
            continue
        device = host.link(f"{FOLDER}/{name}/device")
        if device.known or last_pci_address(path.value):
            files = {file: host.text(f"{FOLDER}/{name}/{file}") for file in _FILES}
            devices[name] = {"path": path, "device": device, **files}
    return Answers(listing, devices)


def parse(answers: Answers) -> tuple[NetDevice, ...]:
    """Every hardware network device."""
    return tuple(_device(name, files) for name, files in sorted(answers.devices.items()))


def _device(name: str, files: Mapping[str, Answer]) -> NetDevice:
    text = {file: stripped(answer) for file, answer in files.items()}
    speed = whole(text.get("speed"), _FASTEST)
    return NetDevice(
        name=name,
        address=last_pci_address(text.get("path") or "") or last_pci_address(text.get("device") or ""),
        state={"up": "ok", "down": "down", "lowerlayerdown": "down", "dormant": "down"}.get(
            text.get("operstate") or "", "unknown"
        ),
        speed_bits_per_second=speed * 10**6 if speed else None,
        is_infiniband=text.get("type") == _INFINIBAND,
        port=1 + max(_number(text.get("dev_port")), _number(text.get("dev_id"))),
    )


def _number(text: str | None) -> int:
    """`1` or `0x1`; mlx4 tells its second port by one of two files, others leave both at 0."""
    text = (text or "").strip()
    if re.fullmatch("0x[0-9a-fA-F]{1,4}", text):
        return int(text, 16)
    return whole(text, MOST_PLACES) or 0
