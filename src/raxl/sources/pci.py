"""The PCI tree: `/sys/bus/pci/devices`.

https://docs.kernel.org/PCI/sysfs-pci.html; link files since Linux 4.13.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Mapping, NamedTuple, TypeVar

from raxl.host import Answer, Host, stripped
from raxl.model.component import PciFunction, PciLink
from raxl.model.identity import pci_address
from raxl.sources import kernel_list

FOLDER = "/sys/bus/pci/devices"
_BASIC = ("class", "vendor", "device")
_LINK = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
_FULL = ("subsystem_vendor", "subsystem_device", "numa_node", "local_cpulist", *_LINK)
_DETAILED = re.compile(r"0x(02|03|12|0604|0680|0c06)")
"""Classes that are asked in full: network, display, processing accelerator, PCI bridge, NVSwitch, InfiniBand."""
_ACCELERATOR_MAKERS = ("0x1ae0", "0x1d0f")
"""Vendors (Google, Amazon) whose accelerators are of no such class; all their functions are asked in full."""
BUS_ALONE = ("sysfs", "lspci", "lspci-tree")
"""Evidence of sources that show the bus, and say nothing of scale-up links."""
_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_NO_WIDTH = (0, 63, 255)
_Number = TypeVar("_Number", int, float)


class Answers(NamedTuple):
    """The listing, and each function's files and links by name."""

    listing: Answer
    functions: Mapping[str, Mapping[str, Answer]]


def ask(host: Host) -> Answers:
    """Asks for every function's class and ids, and all that is of use of those that matter."""
    listing = host.names(FOLDER)
    functions = {}
    for name in listing.value or ():
        folder = f"{FOLDER}/{name}"
        answers = {"path": host.link(folder), **{file: host.text(f"{folder}/{file}") for file in _BASIC}}
        detailed = _DETAILED.match(stripped(answers["class"]) or "")
        if detailed or stripped(answers["vendor"]) in _ACCELERATOR_MAKERS:
            answers.update((file, host.text(f"{folder}/{file}")) for file in _FULL)
            answers["driver"] = host.link(f"{folder}/driver")
            answers["physfn"] = host.link(f"{folder}/physfn")
        functions[name] = answers
    return Answers(listing, functions)


def parse(answers: Answers) -> tuple[PciFunction, ...]:
    """Every function, by address. A function with an address that is none is left out."""
    found = {}
    for name, files in answers.functions.items():
        address = pci_address(name)
        if address is not None:
            found[address] = _function(address, files)
    return tuple(with_ceiling(function, found) for _, function in sorted(found.items()))


def _function(address: str, files: Mapping[str, Answer]) -> PciFunction:
    text = {name: stripped(answer) for name, answer in files.items()}
    host_bridge, chain = position(text.get("path") or "")
    numa_node = _integer(text.get("numa_node"))
    vendor, device = text.get("subsystem_vendor"), text.get("subsystem_device")
    return PciFunction(
        address=address,
        class_id=hex_digits(text.get("class"), 6),
        host_bridge=host_bridge,
        chain=chain,
        vendor_id=hex_digits(text.get("vendor"), 4),
        device_id=hex_digits(text.get("device"), 4),
        subsystem_id=subsystem(vendor, device),
        numa_node=numa_node if numa_node is not None and numa_node >= 0 else None,
        link=_link(text),
        driver=_last(text.get("driver")),
        physical_function=pci_address(_last(text.get("physfn"))),
    )


def local_cpus(answers: Answers, address: str) -> frozenset[int] | None:
    """The CPUs that the kernel calls local to a function (`local_cpulist`)."""
    return kernel_list.parse(stripped(answers.functions.get(address, {}).get("local_cpulist", Answer(None))))


def position(path: str) -> tuple[str | None, tuple[str, ...]]:
    """Host bridge and bridges above the function at this real path.

    The last host bridge counts: Intel VMD nests `pci10000:00` inside an endpoint, Hyper-V hangs one below the VMBus.
    """
    elements = path.split("/")[:-1]
    bridges = [place for place, element in enumerate(elements) if _HOST_BRIDGE.fullmatch(element)]
    if not bridges:
        return None, ()
    chain = (pci_address(element) for element in elements[bridges[-1] + 1 :])
    return elements[bridges[-1]], tuple(address for address in chain if address)


def with_ceiling(function: PciFunction, functions: Mapping[str, PciFunction]) -> PciFunction:
    """The function with its link's maximum lowered to what the port above it can do."""
    parent = functions.get(function.chain[-1]) if function.chain else None
    if function.link is None or parent is None or parent.link is None or function.is_bridge:
        return function
    own, above = function.link, parent.link
    ceiling = replace(
        own,
        max_speed_gts=_lesser(own.max_speed_gts, above.max_speed_gts),
        max_width=_lesser(own.max_width, above.max_width),
    )
    return replace(function, link=ceiling)


def _lesser(own: _Number | None, above: _Number | None) -> _Number | None:
    return min(own, above) if own is not None and above is not None else own


def _link(text: Mapping[str, str | None]) -> PciLink | None:
    speed, width, max_speed, max_width = (text.get(name) for name in _LINK)
    link = PciLink(gts(speed), lanes(width), gts(max_speed), lanes(max_width))
    return link if link != PciLink() else None


def gts(text: str | None) -> float | None:
    """Gigatransfers per second from `32.0 GT/s PCIe`, `8 GT/s`; None for `Unknown` and anything else."""
    found = re.match(r"([0-9]{1,4}(?:\.[0-9]{1,3})?) GT/s", text or "")
    return float(found[1]) if found and float(found[1]) > 0 else None


def lanes(text: str | None) -> int | None:
    """The width of a link; 0, 63 and 255 are how the kernel says that it does not know."""
    width = _integer(text)
    return width if width is not None and width > 0 and width not in _NO_WIDTH else None


def hex_digits(text: str | None, count: int) -> str | None:
    """`10de` from `0x10de`; None for anything else."""
    found = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{1,8})", text or "")
    return found[1].lower().zfill(count) if found else None


def subsystem(vendor: str | None, device: str | None) -> str | None:
    """`vvvv:dddd` of a subsystem; None when either half is not known."""
    first, second = hex_digits(vendor, 4), hex_digits(device, 4)
    return f"{first}:{second}" if first and second else None


def _integer(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"-?[0-9]{1,9}", text) else None


def _last(path: str | None) -> str | None:
    return path.rstrip("/").rsplit("/", 1)[-1] if path else None
