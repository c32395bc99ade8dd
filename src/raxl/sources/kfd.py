"""AMD's kernel fusion driver: `/sys/class/kfd/kfd/topology/nodes`.

https://docs.kernel.org/gpu/amdgpu; the keys are those of drivers/gpu/drm/amd/amdkfd/kfd_topology.c. A node is a CPU
(`gpu_id` 0) or one partition of a GPU.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole

FOLDER = "/sys/class/kfd/kfd/topology/nodes"
XGMI, PCIE = 11, 2
_LOCAL_HEAPS = (1, 2)
_MOST_LINKS = 64
"""More than any two packages are joined by: a larger ratio is no count."""
_LINE = re.compile(r"^(\w+) (-?[0-9]{1,20})$", re.MULTILINE)
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1
_RANGES = {
    "domain": 0xFFFFFFFF,
    "location_id": 0xFFFFFFFF,
    "vendor_id": 0xFFFF,
    "device_id": 0xFFFF,
    "gfx_target_version": 10**7,
    "size_in_bytes": MOST_BYTES,
    "min_bandwidth": 10**8,
    "max_bandwidth": 10**8,
    "unique_id": _MOST,
    "hive_id": _MOST,
}
"""From 0 to so much; a value beyond is none that a kernel writes, and is left out."""


class Answers(NamedTuple):
    """The listing, and each node's files."""

    listing: Answer
    nodes: Mapping[int, Mapping[str, Answer]]


class KfdLink(NamedTuple):
    """A link from one KFD node to another; bandwidths in megabytes per second, one direction."""

    type: int
    to: int
    weight: int
    min_bandwidth: int
    max_bandwidth: int


class KfdNode(NamedTuple):
    """One node with a GPU, or one partition of a GPU."""

    number: int
    properties: Mapping[str, int]
    memory_bytes: int | None
    links: tuple[KfdLink, ...]

    @property
    def address(self) -> str:
        """Domain, bus and device from `domain` and `location_id`; its function bits number the partitions."""
        location = self.properties.get("location_id", 0)
        return f"{self.properties.get('domain', 0):04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.0"

    @property
    def partition(self) -> int:
        """The number of this partition on its package."""
        return self.properties.get("location_id", 0) & 7

    @property
    def unit(self) -> str | None:
        """The package's unique id in hex; None where the kernel gives none (virtual functions)."""
        value = self.properties.get("unique_id", 0)
        return f"{value:x}" if value > 0 else None


def ask(host: Host) -> Answers:
    """Asks for the properties, memory banks and links of every node."""
    listing = host.names(FOLDER)
    nodes = {}
    for name in listing.value or ():
        if whole(name, MOST_PLACES) is not None:
            nodes[int(name)] = _ask_node(host, f"{FOLDER}/{name}")
    return Answers(listing, nodes)


def _ask_node(host: Host, folder: str) -> dict[str, Answer]:
    files = {"properties": host.text(f"{folder}/properties"), "gpu_id": host.text(f"{folder}/gpu_id")}
    if _numbers(files["properties"]).get("simd_count", 0) > 0:
        for group in ("mem_banks", "io_links"):
            for entry in host.names(f"{folder}/{group}").value or ():
                files[f"{group}/{entry}"] = host.text(f"{folder}/{group}/{entry}/properties")
    return files


def parse(answers: Answers) -> tuple[KfdNode, ...]:
    """Every GPU node. A node whose properties could not be read is none: see `unread`."""
    nodes = {number: _numbers(files["properties"]) for number, files in answers.nodes.items()}
    return tuple(
        _node(number, properties, answers.nodes[number])
        for number, properties in sorted(nodes.items())
        if properties.get("simd_count", 0) > 0
    )


def unread(answers: Answers) -> dict[int, Answer]:
    """The nodes that are listed and could not be read: in a container without the device, the kernel answers EPERM."""
    refused = {number: files["properties"] for number, files in answers.nodes.items()}
    return {number: answer for number, answer in refused.items() if not answer.known and answer.reason != "not-asked"}


def count_of_links(least: int, most: int) -> int | None:
    """How many XGMI links join a pair, by its bandwidths; None where they do not tell.

    The kernel gives the bandwidth of one link as the least and of all as the most (amdgpu_amdkfd.c,
    amdgpu_amdkfd_get_xgmi_bandwidth_mbytes). Zero says that it does not know.
    """
    count = most // least if least > 0 and most % least == 0 else 0
    return count if 0 < count <= _MOST_LINKS else None


def _node(number: int, properties: Mapping[str, int], files: Mapping[str, Answer]) -> KfdNode:
    banks = [_numbers(answer) for name, answer in files.items() if name.startswith("mem_banks/")]
    local = [bank.get("size_in_bytes", 0) for bank in banks if bank.get("heap_type") in _LOCAL_HEAPS]
    links = tuple(
        _link(_numbers(answer))
        for name, answer in sorted(files.items())
        if name.startswith("io_links/") and answer.known
    )
    return KfdNode(
        number=number,
        properties=properties,
        memory_bytes=sum(local) or None,
        links=links,
    )


def _link(numbers: Mapping[str, int]) -> KfdLink:
    return KfdLink(
        type=numbers.get("type", 0),
        to=numbers.get("node_to", -1),
        weight=numbers.get("weight", 0),
        min_bandwidth=numbers.get("min_bandwidth", 0),
        max_bandwidth=numbers.get("max_bandwidth", 0),
    )


def _numbers(answer: Answer) -> Mapping[str, int]:
    return _of_text(stripped(answer) or "")


@lru_cache(1 << 11)
def _of_text(text: str) -> Mapping[str, int]:
    """Never to be changed: machines of one kind have the texts of banks and links in common, and so the numbers."""
    found = ((key, int(value)) for key, value in _LINE.findall(text + "\n"))
    return {key: value for key, value in found if (0 if key in _RANGES else _LEAST) <= value <= _RANGES.get(key, _MOST)}
