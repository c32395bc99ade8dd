"""What an hwloc XML document says of the machine itself: NUMA nodes, processors, operating system."""

from __future__ import annotations

import re

from raxl.intake.hwloc_matrix import Matrix
from raxl.intake.hwloc_objects import HwlocObject, Topology, bitmap, number
from raxl.model.node import Cpu, NumaNode, OperatingSystem
from raxl.sources import kernel_list

_NO_NAME = ("(none)", "localhost")
_MOST_MEMORY = 1 << 50


def operating_system(topology: Topology) -> OperatingSystem:
    """Kernel and architecture. A hypervisor is not named: hwloc records neither CPU flags nor what runs below."""
    said = topology.infos
    return OperatingSystem(kernel=said.get("OSRelease"), architecture=said.get("Architecture"))


def hostname(topology: Topology) -> str | None:
    """The machine's name without its domain's."""
    name = topology.infos.get("HostName", "").split(".", 1)[0]
    return name if name and name not in _NO_NAME else None


def cpu(topology: Topology, whole: bool) -> Cpu:
    """Counts of packages, cores and threads; None where the document leaves a kind out, and all when it was cut off."""
    packages = topology.of_type("Package", "Socket")
    models = {model for thing in packages if (model := thing.infos.get("CPUModel"))}
    if not models:
        models = {model for model in (topology.infos.get("CPUModel"),) if model}
    counts = [len(things) or None for things in (packages, topology.of_type("Core"), topology.of_type("PU"))]
    if not whole:
        counts = [None, None, None]
    return Cpu(models.pop() if len(models) == 1 else None, *counts)


def numa_nodes(topology: Topology, matrices: tuple[Matrix, ...]) -> tuple[NumaNode, ...]:
    """Every NUMA node by number: nested around the cores in v1, beside them since v2.

    The CPUs of a node are those local to it: since v2 that is so for memory without CPUs of its own too.
    """
    found: dict[int, HwlocObject] = {}
    for thing in topology.of_type("NUMANode"):
        index = number(thing.element.get("os_index"))
        if index is not None and index < kernel_list.LARGEST:
            found.setdefault(index, thing)
    distances = _latencies(topology, matrices)
    return tuple(
        NumaNode(
            id=index,
            cpus=_cpus(found[index]),
            memory_bytes=_memory(found[index]),
            distances=_row(distances, index, sorted(found)),
        )
        for index in sorted(found)
    )


def _cpus(node: HwlocObject) -> str | None:
    cpus = bitmap(node.element.get("cpuset"))
    return kernel_list.write(cpus) if cpus is not None else None


def _memory(node: HwlocObject) -> int | None:
    size = number(node.element.get("local_memory"))
    return size if size is not None and size < _MOST_MEMORY else None


def _row(distances: dict[tuple[int, int], int], index: int, nodes: list[int]) -> tuple[int, ...]:
    """The distances from one node to all in order; empty unless every pair of the machine has one."""
    if any((a, b) not in distances for a in nodes for b in nodes):
        return ()
    return tuple(distances[index, other] for other in nodes)


def _latencies(topology: Topology, matrices: tuple[Matrix, ...]) -> dict[tuple[int, int], int]:
    """Distances by pair of NUMA node numbers, 10 being local."""
    for matrix in matrices:
        nodes = [node for node in matrix.objects if node is not None and node.type == "NUMANode"]
        if matrix.is_latency and len(nodes) == len(matrix.objects):
            return _by_pair(nodes, matrix.values)
    return _first_version(topology)


def _first_version(topology: Topology) -> dict[tuple[int, int], int]:
    """The distances of v1: relative latencies below the object that spans the nodes, times a base."""
    nodes = topology.of_type("NUMANode")
    for distances in topology.element.iter("distances"):
        base = _decimal(distances.get("latency_base"))
        values = [_decimal(latency.get("value")) for latency in distances.findall("latency")]
        if base is None or number(distances.get("nbobjs")) != len(nodes) or len(values) != len(nodes) ** 2:
            continue
        known = [round(value * base) for value in values if value is not None]
        if len(known) == len(values):
            return _by_pair(nodes, [known[at : at + len(nodes)] for at in range(0, len(known), len(nodes))])
    return {}


def _by_pair(nodes: list[HwlocObject], rows: list[list[int]]) -> dict[tuple[int, int], int]:
    indexes = [number(node.element.get("os_index")) for node in nodes]
    return {
        (a, b): value
        for a, row in zip(indexes, rows, strict=True)
        for b, value in zip(indexes, row, strict=True)
        if a is not None and b is not None
    }


def _decimal(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,9}(\.\d{1,12})?", text) else None
