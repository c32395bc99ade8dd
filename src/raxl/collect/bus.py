"""The PCI tree of a machine, each function with its NUMA node."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, NamedTuple, Sequence

from raxl.collect import merge
from raxl.host.replay import ReplayHost
from raxl.intake.foreign import Foreign
from raxl.model.catalog import Catalog
from raxl.model.component import PciFunction
from raxl.model.node import NumaNode
from raxl.sources import kernel_list, numa, pci


class Bus(NamedTuple):
    """The PCI tree and the NUMA nodes, from the kernel or from a document."""

    answers: pci.Answers
    functions: Mapping[str, PciFunction]
    numa_nodes: tuple[NumaNode, ...]


def bus_of(host: ReplayHost, foreign: Sequence[Foreign], overlay: Catalog | None = None) -> Bus:
    """The bus that the kernel lists, filled from documents; `overlay` names devices that raxl does not know."""
    answers = pci.ask(host)
    nodes = numa.parse(numa.ask(host)) or next((d.numa_nodes for d in foreign if d.numa_nodes), ())
    placed = {
        address: _named(_placed(one, nodes, answers), overlay or Catalog())
        for address, one in _functions(answers, foreign).items()
    }
    return Bus(answers, placed, nodes)


def _named(function: PciFunction, overlay: Catalog) -> PciFunction:
    """The function with the user's name for it, where the source has none."""
    row = overlay.device(function.vendor_id, function.device_id) if function.name is None else None
    return replace(function, name=row.name) if row else function


def _functions(answers: pci.Answers, foreign: Sequence[Foreign]) -> dict[str, PciFunction]:
    """Every function by address: the kernel's words first, then those of the documents in `merge.PLACE`'s order."""
    documents = sorted(foreign, key=lambda document: merge.trust_in_place(document.form))
    found: dict[str, PciFunction] = {}
    for function in (*pci.parse(answers), *(one for document in documents for one in document.functions)):
        known = found.get(function.address)
        found[function.address] = known.filled(function) if known else function
    return {address: pci.with_ceiling(function, found) for address, function in found.items()}


def _placed(function: PciFunction, nodes: Sequence[NumaNode], answers: pci.Answers) -> PciFunction:
    """The function with the NUMA node that the firmware left out: on a machine with one node it is that one.

    With more, the CPUs that the kernel calls local give a list of nodes, and no single one.
    """
    if function.numa_node is not None:
        return replace(function, local_numa_nodes=(function.numa_node,))
    with_cpus = [one for one in nodes if one.cpus]
    if len(nodes) == 1:
        return replace(function, numa_node=nodes[0].id, local_numa_nodes=(nodes[0].id,))
    local = pci.local_cpus(answers, function.address)
    if not local:
        return function
    near = tuple(one.id for one in with_cpus if (kernel_list.parse(one.cpus) or frozenset()) & local)
    return replace(function, local_numa_nodes=near if len(near) < len(with_cpus) else ())
