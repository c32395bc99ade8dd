"""Where a node stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Placement:
    """The platform's own names for a node's place. None: nobody said; a node without a domain belongs to none."""

    provider: str | None = None
    instance_type: str | None = None
    region: str | None = None
    zone: str | None = None
    rack: str | None = None
    block: str | None = None
    slice: str | None = None
    slice_topology: str | None = None
    worker_index: int | None = None
    fabric_domain: str | None = None
    evidence: tuple[str, ...] = ()
