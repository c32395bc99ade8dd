"""Platforms that know where a node stands: one file each, and the shape that such a file has.

A plug-in is found by the entry-point group `raxl.platforms` (`raxl.plugins.registry`).
"""

from __future__ import annotations

from typing import Any, Protocol

from raxl.host import Host
from raxl.model.presence import Presence
from raxl.model.report import Placed


class PlatformPlugin(Protocol):
    """One cloud, orchestrator or scheduler."""

    platform: str
    """Its name for a person: `AWS`."""

    def probe(self, host: Host) -> Presence:
        """Whether the node stands there: files of the kernel and of the platform alone, no question over a network."""

    def ask(self, host: Host) -> Any:
        """Asks the host everything, interprets nothing. Runs inside the asker: standard library only."""

    def parse(self, answers: Any) -> Placed:
        """Where the node stands, as far as the answers say it. Pure."""
