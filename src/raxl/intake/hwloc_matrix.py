"""Matrices of distances between objects in hwloc XML since v2: `distances2` and `distances2hetero`.

hwloc's documentation, "Distances"; https://www.open-mpi.org/projects/hwloc/doc/ (Topology Attributes).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element

from raxl.intake.hwloc_objects import HwlocObject, Topology, number
from raxl.model.problem import DISAGREEMENT, Problem

_LATENCY = 1 << 2
"""`HWLOC_DISTANCES_KIND_MEANS_LATENCY`; hops have a bit of their own only since v3, before they are named."""
_LARGEST = 1024


class Matrix(NamedTuple):
    """One matrix: the objects that it is about (None: not in the document), and a row of values for each."""

    name: str
    kind: int
    objects: tuple[HwlocObject | None, ...]
    values: list[list[int]]

    @property
    def is_latency(self) -> bool:
        """Whether its values are those of the firmware's table; v2.0 gives no name."""
        return self.name in ("NUMALatency", "") and bool(self.kind & _LATENCY)


def matrices(topology: Topology) -> tuple[tuple[Matrix, ...], tuple[Problem, ...]]:
    """Every matrix of a document. One whose size contradicts itself is left out, and is a problem."""
    by_gp = {thing.element.get("gp_index"): thing for thing in topology.objects}
    found, problems = [], []
    for element in topology.element:
        if element.tag not in ("distances2", "distances2hetero"):
            continue
        name = element.get("name", "")
        size, values = number(element.get("nbobjs")), _numbers(element)
        objects = tuple(_objects(element, topology, by_gp))
        if size is None or size > _LARGEST or len(objects) != size or len(values) != size**2 or None in values:
            message = f"the matrix {name or 'of distances'} states {element.get('nbobjs')} objects and does not fit"
            subject = "links" if name.endswith("Bandwidth") else "numa_nodes.distances"
            problems.append(Problem(subject, DISAGREEMENT, message, ("hwloc-xml",)))
            continue
        known = [value for value in values if value is not None]
        rows = [known[at : at + size] for at in range(0, size**2, size)]
        found.append(Matrix(name, number(element.get("kind")) or 0, objects, rows))
    return tuple(found), tuple(problems)


def _words(element: Element, tag: str) -> list[str]:
    return [word for part in element.findall(tag) for word in (part.text or "").split()]


def _numbers(element: Element) -> list[int | None]:
    return [number(word) for word in _words(element, "u64values")]


def _objects(
    element: Element, topology: Topology, by_gp: dict[str | None, HwlocObject]
) -> Iterator[HwlocObject | None]:
    """The objects that a matrix indexes: by the number of the system, or by `gp_index` (`OSDev:802` in a mixed one)."""
    if element.tag == "distances2" and element.get("indexing") == "os":
        things = topology.of_type(element.get("type", ""))
        by_os = {thing.element.get("os_index"): thing for thing in things}
        yield from (by_os.get(word) for word in _words(element, "indexes"))
    else:
        yield from (by_gp.get(word.rpartition(":")[2]) for word in _words(element, "indexes"))
