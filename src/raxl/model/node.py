"""One machine."""

from __future__ import annotations

from dataclasses import dataclass

from raxl.model.accelerator import Accelerator
from raxl.model.component import Switch
from raxl.model.link import Link
from raxl.model.nic import Nic
from raxl.model.placement import Placement
from raxl.model.problem import NOT_ASKED, UNREAD, Problem


@dataclass(frozen=True)
class OperatingSystem:
    """The system that runs on a node."""

    kernel: str | None = None
    distribution: str | None = None
    architecture: str | None = None
    virtualization: str | None = None
    """The hypervisor's name as systemd-detect-virt spells it; `none` on bare metal; None: not known."""
    container: str | None = None
    """docker | podman | kubernetes | lxc … ; `none` outside of any; None: not known."""


@dataclass(frozen=True)
class Cpu:
    """The processors that the kernel has online, whatever a cgroup allows."""

    model: str | None = None
    packages: int | None = None
    cores: int | None = None
    threads: int | None = None


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node that the kernel lists: with CPUs, with memory, with both, or an accelerator's memory."""

    id: int
    cpus: str | None = None
    """A kernel list: `0-31,64-95`; empty for a node without CPUs."""
    memory_bytes: int | None = None
    distances: tuple[int, ...] = ()
    """To every node in the order of the list, 10 = itself. Not the distance of a PCIe path."""
    accelerator: str | None = None
    """The accelerator whose memory this node is (GH200, GB200, POWER9)."""


@dataclass(frozen=True)
class Software:
    """A driver or library and its version."""

    name: str
    version: str
    evidence: str


@dataclass(frozen=True)
class LookedFor:
    """What was searched for accelerators, so that finding none says something."""

    families: tuple[str, ...] = ()
    pci_functions: int | None = None
    """How many functions the PCI tree has; None: the tree was not read."""
    places: tuple[str, ...] = ()
    """The folders beside it that were read."""


@dataclass(frozen=True)
class Node:
    """One machine, seen whole."""

    name: str
    source: str
    """`local`, `ray:<node id>`, `recording:FILE`, or the file that it was read from."""
    ray_node_id: str | None = None
    boot_id: str | None = None
    recorded_by: str | None = None
    """The version of raxl that recorded it."""
    path_trust: str | None = None
    """physical | virtual: a hypervisor made the PCI tree up, and its distances are not the machine's."""
    os: OperatingSystem = OperatingSystem()
    cpu: Cpu = Cpu()
    numa_nodes: tuple[NumaNode, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    nics: tuple[Nic, ...] = ()
    switches: tuple[Switch, ...] = ()
    links: tuple[Link, ...] = ()
    looked_for: LookedFor = LookedFor()
    placement: Placement = Placement()
    software: tuple[Software, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def is_told_in_part(self) -> bool:
        """Whether its PCI tree was given, and may hold more than was given."""
        given = self.looked_for.pci_functions is not None
        return given and any(one.subject == "pci_tree" and one.reason == NOT_ASKED for one in self.problems)

    @property
    def has_none(self) -> bool:
        """Whether it is known to have no accelerators: somebody looked for them, and nothing was kept from him."""
        unread = {one.subject for one in self.problems if one.reason in UNREAD}
        if self.accelerators or unread & {"node", "pci_tree"}:
            return False
        if self.looked_for.pci_functions is not None:
            return not self.is_told_in_part
        told = any(one.subject == "accelerators" for one in self.problems)
        return "accelerators" not in unread and (told or bool(self.looked_for.places))
