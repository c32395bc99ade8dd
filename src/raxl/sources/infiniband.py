"""RDMA devices: `/sys/class/infiniband`: InfiniBand, RoCE, iWARP, EFA, Omni-Path.

https://docs.kernel.org/infiniband/sysfs.html
"""

from __future__ import annotations

import re
from typing import Dict, Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.identity import last_pci_address
from raxl.sources.numbers import MOST_COUNT, MOST_PLACES, whole

FOLDER = "/sys/class/infiniband"
_FILES = ("fw_ver", "hca_type", "board_id")
_PORT_FILES = ("state", "phys_state", "rate", "link_layer")
_IWARP = re.compile(r"(?:siw|cxgb[34]_|iw_cxgb|i40iw)")
"""How the devices of siw, Chelsio's and Intel's X722 drivers are named; irdma's speak either."""
_EFA_VENDOR, _OMNI_PATH_VENDOR = "1d0f", "434e"


class Answers(NamedTuple):
    """The listing, and each device's files and ports."""

    listing: Answer
    devices: Mapping[str, Mapping[str, Answer]]
    ports: Mapping[str, Mapping[int, Mapping[str, Answer]]]


class RdmaPort(NamedTuple):
    """One port of an RDMA device. Speed is one direction."""

    number: int
    state: str
    """ok | degraded | down | unknown"""
    speed_bits_per_second: int | None
    link_layer: str | None
    netdev: str | None


class RdmaDevice(NamedTuple):
    """One RDMA device with its ports."""

    name: str
    address: str | None
    firmware: str | None
    model: str | None
    netdevs: tuple[str, ...]
    ports: tuple[RdmaPort, ...]


def ask(host: Host) -> Answers:
    """Asks for each device's place and its ports' state and rate."""
    listing = host.names(FOLDER)
    devices, ports = {}, {}
    for name in listing.value or ():
        folder = f"{FOLDER}/{name}"
        files = {file: host.text(f"{folder}/{file}") for file in _FILES}
        devices[name] = {"path": host.link(folder), "device": host.link(f"{folder}/device"), **files}
        devices[name]["netdevs"] = host.names(f"{folder}/device/net")
        ports[name] = {
            int(number): _ask_port(host, f"{folder}/ports/{number}")
            for number in host.names(f"{folder}/ports").value or ()
            if whole(number, MOST_PLACES) is not None
        }
    return Answers(listing, devices, ports)


def _ask_port(host: Host, folder: str) -> dict[str, Answer]:
    files = {file: host.text(f"{folder}/{file}") for file in _PORT_FILES}
    files["netdev"] = host.text(f"{folder}/gid_attrs/ndevs/0")
    files["link_downed"] = host.text(f"{folder}/counters/link_downed")
    return files


def parse(answers: Answers) -> tuple[RdmaDevice, ...]:
    """Every RDMA device."""
    return tuple(_device(name, files, answers.ports[name]) for name, files in sorted(answers.devices.items()))


def links_downed(answers: Answers) -> Dict[str, int]:
    """By `mlx5_0/1`: how often the port's link failed since its counters were cleared, for the ports that count it.

    InfiniBand Architecture Specification 1.4, volume 1, 16.1.3.5: LinkDownedCounter has 8 bits and stays at 255.
    """
    counts = {
        f"{name}/{number}": whole(stripped(files["link_downed"]), MOST_COUNT)
        for name, ports in answers.ports.items()
        for number, files in ports.items()
    }
    return {port: count for port, count in counts.items() if count is not None}


def _device(name: str, files: Mapping[str, Answer], ports: Mapping[int, Mapping[str, Answer]]) -> RdmaDevice:
    netdevs = files["netdevs"].value or ()
    address = last_pci_address(stripped(files["path"]) or "") or last_pci_address(stripped(files["device"]) or "")
    return RdmaDevice(
        name=name,
        address=address,
        firmware=stripped(files["fw_ver"]),
        model=stripped(files["hca_type"]),
        netdevs=tuple(netdevs),
        ports=tuple(_port(number, port) for number, port in sorted(ports.items())),
    )


def _port(number: int, files: Mapping[str, Answer]) -> RdmaPort:
    return RdmaPort(
        number=number,
        state=state_of((stripped(files["state"]) or "").partition(":")[2], stripped(files["phys_state"])),
        speed_bits_per_second=speed_of_rate(stripped(files["rate"])),
        link_layer=stripped(files["link_layer"]),
        netdev=stripped(files["netdev"]),
    )


def state_of(word: str | None, physical: str | None) -> str:
    """`ACTIVE` is ok, `DOWN` is down; on the way up (`INIT`, `ARMED`) or active without a link is degraded.

    ibstat writes `Initializing`, libibverbs `PORT_ACTIVE (4)`, iproute2 `LINK_ERROR_RECOVERY`.
    """
    name = (word or "").strip().upper().removeprefix("PORT_").split(" ")[0]
    if name in ("ACTIVE", "ACTIVE_DEFER"):
        broken = "linkerrorrecovery" in (physical or "").lower().replace("_", "")
        return "degraded" if broken or name == "ACTIVE_DEFER" else "ok"
    return {"DOWN": "down", "INIT": "degraded", "INITIALIZING": "degraded", "ARMED": "degraded"}.get(name, "unknown")


def speed_of_rate(rate: str | None) -> int | None:
    """Bits per second from `400 Gb/sec (4X NDR)` or `2.5 Gb/sec (1X SDR)`."""
    found = re.match(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) Gb/sec", rate or "")
    return round(float(found[1]) * 10**9) or None if found else None


def kind(link_layers: set[str | None], vendor: str | None, name: str = "") -> str:
    """The kind of an RDMA device by its ports' link layer; `rdma` where the kernel does not say.

    EFA answers "unspecified", which sysfs prints as Unknown. A link layer of Ethernet is iWARP's too: its own drivers
    show in their devices' names.
    """
    if _IWARP.match(name):
        return "iwarp"
    if vendor == _EFA_VENDOR:
        return "efa"
    if "InfiniBand" in link_layers:
        return "omni-path" if vendor == _OMNI_PATH_VENDOR else "infiniband"
    return "roce" if "Ethernet" in link_layers else "rdma"
