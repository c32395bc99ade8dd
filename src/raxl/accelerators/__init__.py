"""Accelerator families: one file each, and the shape that such a file has.

A plug-in is found by the entry-point group `raxl.accelerators` (`raxl.plugins.registry`).
"""

from __future__ import annotations

from typing import Any, Protocol, Sequence

from raxl.host import Host
from raxl.model.component import PciFunction
from raxl.model.presence import Presence
from raxl.model.report import Report


class AcceleratorPlugin(Protocol):
    """One family of accelerators."""

    vendor: str
    """The first half of its accelerators' ids."""
    family: str
    """Its name for a person: `NVIDIA`."""

    def probe(self, host: Host) -> Presence:
        """Whether such devices are here: PCI ids and device nodes alone, no library and no command."""

    def ask(self, host: Host) -> Any:
        """Asks the host everything, interprets nothing. Runs inside the asker: standard library only."""

    def parse(self, answers: Any, functions: Sequence[PciFunction]) -> Report:
        """What the answers and the PCI tree say of this family's devices. Pure."""
