"""NUMA nodes: `/sys/devices/system/node`.

https://docs.kernel.org/admin-guide/mm/numaperf.html; every node that the kernel lists counts, with CPUs or without.
"""

from __future__ import annotations

import re
from typing import Mapping, NamedTuple

from raxl.host import Answer, Host, stripped
from raxl.model.node import NumaNode
from raxl.sources import kernel_list

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
        if re.fullmatch(r"node\d+", name):
            nodes[int(name[4:])] = {
                file: host.text(f"{FOLDER}/{name}/{file}") for file in ("cpulist", "cpumap", "meminfo", "distance")
            }
    return Answers(listing, nodes)


def parse(answers: Answers) -> tuple[NumaNode, ...]:
    """Every node by its number."""
    return tuple(_node(number, files) for number, files in sorted(answers.nodes.items()))


def _node(number: int, files: Mapping[str, Answer]) -> NumaNode:
    cpulist, cpumap = files["cpulist"], files["cpumap"]
    cpus = kernel_list.parse(cpulist.value if cpulist.known else None)
    if cpus is None and cpumap.known:
        cpus = kernel_list.parse_mask(cpumap.value)
    memory = _MEMORY.search(stripped(files["meminfo"]) or "")
    distances = (stripped(files["distance"]) or "").split()
    return NumaNode(
        id=number,
        cpus=None if cpus is None else kernel_list.write(cpus),
        memory_bytes=int(memory[1]) * 1024 if memory else None,
        distances=tuple(int(word) for word in distances) if all(map(str.isdecimal, distances)) else (),
    )
