"""NUMA nodes: `/sys/devices/system/node`.

https://docs.kernel.org/admin-guide/mm/numaperf.html; every node that the kernel lists counts, with CPUs or without.
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.node import NumaNode
from raxl.sources import kernel_list
from raxl.sources.numbers import MOST_BYTES, MOST_PLACES, whole

FOLDER = "/sys/devices/system/node"
_MEMORY = re.compile(r"^Node \d+ MemTotal:\s*(\d+) kB", re.MULTILINE)


class Answers(NamedTuple):
    """The listing, and each node's files."""

    listing: Answer
    nodes: Mapping[int, Mapping[str, Answer]]


def ask(host: Host) -> Answers:
    """Asks for four files of every node."""
    listing = host.names(FOLDER)
    nodes = {}
    for name in listing.value or ():
        if re.fullmatch("node[0-9]{1,5}", name):
            files = {file: host.text(f"{FOLDER}/{name}/{file}") for file in ("cpulist", "meminfo", "distance")}
            if not files["cpulist"].known:  # kernels before 2.6.26
                files["cpumap"] = host.text(f"{FOLDER}/{name}/cpumap")
            nodes[int(name[4:])] = files
    return Answers(listing, nodes)


def parse(answers: Answers) -> tuple[NumaNode, ...]:
    """Every node by its number."""
    return tuple(_node(number, files) for number, files in sorted(answers.nodes.items()))


def _node(number: int, files: Mapping[str, Answer]) -> NumaNode:
    cpulist, cpumap = files["cpulist"], files.get("cpumap", files["cpulist"])
    cpus = kernel_list.parse(cpulist.value.split("\0", 1)[0] if cpulist.known else None)
    if cpus is None and cpumap.known:
        cpus = kernel_list.parse_mask(stripped(cpumap))
    memory = _MEMORY.search(stripped(files["meminfo"]) or "")
    size = whole(memory[1], MOST_BYTES >> 10) if memory else None
    distances = [whole(word, MOST_PLACES) for word in (stripped(files["distance"]) or "").split()]
    return NumaNode(
        id=number,
        cpus=None if cpus is None else kernel_list.write(cpus),
        memory_bytes=size * 1024 if size is not None else None,
        distances=tuple(distance for distance in distances if distance is not None) if None not in distances else (),
    )
