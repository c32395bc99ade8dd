"""What lets devices reach each other's memory, or keeps them from it: access control, IOMMU, BARs, peer clients.

- ACS of the bridges above accelerators and network adapters: `/sys/bus/pci/devices/<bridge>/config`, whose extended
  part needs root. PCI Express Base Specification 6.0, 7.7.11.
- IOMMU: `/sys/class/iommu`, and the type of a device's group, `/sys/kernel/iommu_groups/<n>/type`
  (https://docs.kernel.org/admin-guide/abi-testing.html).
- BARs of accelerators: `/sys/bus/pci/devices/<device>/resource`, one line each: start, end, flags.
- Who lets RDMA adapters reach a device's memory: the kind of NVIDIA's kernel module in `/proc/driver/nvidia/version`,
  and the clients in `/sys/kernel/mm/memory_peers`.
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple, Optional

from raxl.host import Answer, Host, config_space, stripped
from raxl.model.facts import Reading
from raxl.model.identity import pci_address
from raxl.model.peering import Peering
from raxl.model.problem import FAILED, NOT_PERMITTED, NOT_PRESENT, NOT_SUPPORTED
from raxl.sources.pci import FOLDER, position

IOMMUS = "/sys/class/iommu"
GROUPS = "/sys/kernel/iommu_groups"
DRIVER = "/proc/driver/nvidia/version"
CLIENTS = ("/sys/kernel/mm/memory_peers", "/sys/kernel/memory_peers", "/sys/memory_peers")
"""Where kernels list who offers device memory to RDMA."""

_ACCELERATOR, _DEVICE = re.compile("0x(03|12)"), re.compile("0x(02|03|0c06|12)")
_NVIDIA = "0x10de"
_MOST_BRIDGES = 2048
_ACS, _CONTROL = 0x000D, 6
_BITS = {
    0: "SrcValid",
    1: "TransBlk",
    2: "ReqRedir",
    3: "CmpltRedir",
    4: "UpstreamFwd",
    5: "EgressCtrl",
    6: "DirectTrans",
}
"""The control register's bits, by the names that lspci gives them."""
_BARS = 6
"""The first six lines of `resource`; what follows is the ROM and a virtual function's share."""
_MEMORY = 0x200
"""IORESOURCE_MEM of the kernel's include/linux/ioport.h."""
_MOST = 1 << 50


class Answers(NamedTuple):
    """By function: configuration spaces of bridges, groups and their types of devices, resources of accelerators."""

    spaces: Mapping[str, Answer]
    groups: Mapping[str, Answer]
    types: Mapping[str, Answer]
    resources: Mapping[str, Answer]
    iommus: Answer
    driver: Answer
    clients: Mapping[str, Answer]


def ask(host: Host) -> Answers:
    """Asks of accelerators and network adapters, and of the ports above them; of a bus without them nothing."""
    listing = host.names(FOLDER)
    listed = frozenset(listing.value or ())
    bridges: dict[str, None] = {}
    groups, types, resources = {}, {}, {}
    is_nvidia = False
    for name in listing.value or ():
        folder = f"{FOLDER}/{name}"
        kind = stripped(host.text(f"{folder}/class")) or ""
        if not _DEVICE.match(kind):
            continue
        _, chain = position(stripped(host.link(folder)) or "")
        # Traffic turns at root ports and downstream ports: a switch's upstream port need not be read.
        bridges.update((port, None) for port in chain[0::2] if port in listed)
        groups[name] = host.link(f"{folder}/iommu_group")
        number = (stripped(groups[name]) or "").rpartition("/")[2]
        if number.isdigit():
            types[name] = host.text(f"{GROUPS}/{number}/type")
        if _ACCELERATOR.match(kind):
            resources[name] = host.text(f"{folder}/resource")
            is_nvidia = is_nvidia or stripped(host.text(f"{folder}/vendor")) == _NVIDIA
    skipped = Answer(None, "not-asked", "no NVIDIA device is here")
    return Answers(
        spaces={name: host.data(f"{FOLDER}/{name}/config") for name in list(bridges)[:_MOST_BRIDGES]},
        groups=groups,
        types=types,
        resources=resources,
        iommus=host.names(IOMMUS),
        driver=host.text(DRIVER) if is_nvidia else skipped,
        clients={folder: host.names(folder) for folder in CLIENTS} if resources else {},
    )


def parse(answers: Answers, modules: Reading, kernel_parameters: Reading) -> Peering:
    """The readings, by PCI address."""
    return Peering(
        ports={address: _port(address, answer) for address, answer in _by_address(answers.spaces)},
        iommu_types={
            address: _group_type(group, answers.types.get(name))
            for name, group in answers.groups.items()
            if (address := pci_address(name))
        },
        bars={address: _bar(address, answer) for address, answer in _by_address(answers.resources)},
        iommus=_names(answers.iommus, IOMMUS),
        nvidia_module=_nvidia_module(answers.driver),
        memory_clients=_clients(answers.clients),
        modules=modules,
        kernel_parameters=kernel_parameters,
    )


def _by_address(answers: Mapping[str, Answer]) -> list[tuple[str, Answer]]:
    return [(address, answer) for name, answer in answers.items() if (address := pci_address(name))]


def _port(address: str, answer: Answer) -> Reading:
    """The ACS controls of a port that are on, as lspci names them; none for a port without ACS."""
    source = f"{FOLDER}/{address}/config"
    if not answer.known:
        return _silent(answer, source)
    space = _bytes(answer.value)
    if space is None or len(space) < config_space.HEADER_BYTES:
        return Reading(None, source, FAILED, "the configuration space is cut off")
    if len(space) == config_space.HEADER_BYTES:
        return Reading(None, source, NOT_PERMITTED, "only its first 64 bytes could be read: the rest needs root")
    if len(space) < config_space.EXTENDED + 4:
        return Reading(None, source, NOT_SUPPORTED, "no extended configuration space is to be read")
    if config_space.number(space, config_space.EXTENDED, 4) == 0xFFFFFFFF:
        return Reading(None, source, FAILED, "the port does not answer")
    for capability in config_space.extended(space):
        if capability.id == _ACS:
            if len(space) < capability.place + _CONTROL + 2:
                return Reading(None, source, FAILED, "the configuration space is cut off")
            control = config_space.number(space, capability.place + _CONTROL, 2)
            return Reading(tuple(name for bit, name in _BITS.items() if control >> bit & 1), source)
    return Reading((), source)


def _bytes(text: object) -> Optional[bytes]:
    try:
        return bytes.fromhex(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _group_type(group: Answer, kind: Optional[Answer]) -> Reading:
    """`identity`, `DMA`, `DMA-FQ`, `blocked`, `unmanaged`; `not-present` for a device in no group."""
    if kind is None:
        return _silent(group if not group.known else Answer(None, FAILED, "the group has no number"), GROUPS)
    value = stripped(kind)
    return Reading(value, GROUPS) if value else _silent(kind, GROUPS)


def _bar(address: str, answer: Answer) -> Reading:
    """The size of the largest memory BAR, in bytes."""
    source = f"{FOLDER}/{address}/resource"
    if not answer.known:
        return _silent(answer, source)
    sizes = [_size(line) for line in str(answer.value).splitlines()[:_BARS]]
    largest = max((size for size in sizes if size is not None), default=0)
    return Reading(largest, source) if largest else Reading(None, source, NOT_SUPPORTED, "it lists no memory BAR")


def _size(line: str) -> Optional[int]:
    found = re.fullmatch(r"\s*0x([0-9a-fA-F]{1,16})\s+0x([0-9a-fA-F]{1,16})\s+0x([0-9a-fA-F]{1,16})\s*", line)
    if not found:
        return None
    start, end, flags = (int(number, 16) for number in found.groups())
    return end - start + 1 if flags & _MEMORY and 0 < end - start < _MOST else None


def _nvidia_module(answer: Answer) -> Reading:
    """`open` or `closed`: the first line says `UNIX Open Kernel Module` or `UNIX x86_64 Kernel Module`."""
    first = (stripped(answer) or "").partition("\n")[0]
    if "Open Kernel Module" in first:
        return Reading("open", DRIVER)
    if re.search(r"\bKernel Module\b", first):
        return Reading("closed", DRIVER)
    return _silent(answer, DRIVER)


def _clients(folders: Mapping[str, Answer]) -> Reading:
    """The names of all that offer device memory to RDMA; none where the kernel has no such list."""
    known = [name for answer in folders.values() if answer.known for name in answer.value]
    if known or not folders:
        return Reading(tuple(dict.fromkeys(known)), CLIENTS[0])
    refused = [answer for answer in folders.values() if answer.reason not in (None, NOT_PRESENT)]
    return _silent(refused[0], CLIENTS[0]) if refused else Reading((), CLIENTS[0])


def _names(answer: Answer, source: str) -> Reading:
    if answer.known:
        return Reading(tuple(answer.value), source)
    return Reading((), source) if answer.reason == NOT_PRESENT else _silent(answer, source)


def _silent(answer: Answer, source: str) -> Reading:
    reason = answer.reason or FAILED
    return Reading(None, source, reason, answer.message or ("" if answer.reason else "it says nothing that is known"))
