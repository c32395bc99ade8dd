"""What a foreign document that is already a model says of one machine."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from raxl.model.component import PciFunction
from raxl.model.facts import Reading
from raxl.model.nic import Nic
from raxl.model.node import Cpu, NumaNode, OperatingSystem
from raxl.model.placement import Placement
from raxl.model.report import Report


class Foreign(NamedTuple):
    """A machine as a topology document describes it. What the document cannot say is left at its default."""

    form: str
    """`hwloc-xml`, `nccl-xml`, `lspci` …, as evidence."""
    functions: tuple[PciFunction, ...] = ()
    """The PCI tree. Its chains are made so that `raxl.topology.pcie` gives the classes that the document means."""
    os: OperatingSystem = OperatingSystem()
    cpu: Cpu = Cpu()
    hostname: str | None = None
    numa_nodes: tuple[NumaNode, ...] = ()
    nics: tuple[Nic, ...] = ()
    report: Report = Report()
    """Claims about accelerators (by PCI address where it is known) and scale-up links between them."""
    placements: tuple[Placement, ...] = ()
    """Where the machine stands, by a document that is about that alone; the first one is believed first."""
    ports: Mapping[str, Reading] = MappingProxyType({})
    """By PCI address: the ACS controls that are on, as `raxl.model.peering` has them."""
    errors: Mapping[str, Mapping[str, Reading]] = MappingProxyType({})
    """By PCI address: `latched`, the errors that its status registers hold."""
