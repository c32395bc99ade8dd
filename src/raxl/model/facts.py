"""Readings that only checks want. They are not published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping


@dataclass(frozen=True)
class Reading:
    """A value with its source, or the reason why there is none."""

    value: Any
    source: str
    reason: str | None = None
    message: str = ""


@dataclass(frozen=True)
class Facts:
    """What was read of one node beside its inventory."""

    limits: Reading
    """`memlock`, `nofile`, `stack` to (soft, hard); None within is unlimited."""
    modules: Reading
    """The names of the kernel modules that are loaded."""
    kernel_parameters: Reading
    """The allowed part of the kernel's command line."""
    environment: Reading
    """The allowed part of the asking process's environment."""
    links_downed: Reading
    """By `mlx5_0/1`: how often the link of an RDMA port failed. Ports without such a counter are left out."""

    def readings(self) -> Mapping[str, Reading]:
        """Every reading by name."""
        return vars(self)
