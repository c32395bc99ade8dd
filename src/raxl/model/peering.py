"""What lets the devices of a node reach each other's memory. Readings; they are not published."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

from raxl.model.facts import Reading

UNREAD = Reading(None, "", "not-asked", "nobody read it")


@dataclass(frozen=True)
class Peering:
    """Readings by PCI address; an address that is missing was not asked about."""

    ports: Mapping[str, Reading] = field(default_factory=dict)
    """Of bridges: the ACS controls that are on, by lspci's names (`ReqRedir` …); none for a port without ACS."""
    iommu_types: Mapping[str, Reading] = field(default_factory=dict)
    """Of devices: `identity`, `DMA`, `DMA-FQ`, `blocked`, `unmanaged`; `not-present` in no group."""
    bars: Mapping[str, Reading] = field(default_factory=dict)
    """Of accelerators: bytes of the largest memory BAR."""
    p2p: Mapping[frozenset[str], Reading] = field(default_factory=dict)
    """Of pairs of accelerators: what the driver says of reads and writes between them, `ok` or why not."""
    iommus: Reading = UNREAD
    """The names of the IOMMUs that the kernel runs."""
    nvidia_module: Reading = UNREAD
    """`open` or `closed`."""
    memory_clients: Reading = UNREAD
    """Who offers device memory to RDMA: `amdkfd`, `nv_mem`."""
    modules: Reading = UNREAD
    """The names of the loaded kernel modules."""
    kernel_parameters: Reading = UNREAD
    """The allowed part of the kernel's command line."""
