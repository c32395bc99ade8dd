"""What an operator expects and accepts: the content of a policy file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping


@dataclass(frozen=True)
class Suppression:
    """Findings that are known, until a day."""

    check: str
    """An id, or a glob of ids."""
    reason: str
    until: str
    """The last day on which it holds: `2026-12-31`."""
    subject: str = "*"
    """A glob."""
    node: str = "*"
    """A glob."""


@dataclass(frozen=True)
class Policy:
    """What a policy file says; all of it may be left out."""

    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By check, its thresholds by name."""
    expected: Mapping[str, str | float | tuple[str, ...]] = field(default_factory=dict)
    """By key (`accelerators`, `nics`, `nic_speed_bits_per_second`), what each node is to have."""
    suppressions: tuple[Suppression, ...] = ()
