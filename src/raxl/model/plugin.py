"""The root of `raxl.plugins/v1`: what is installed, what it found here, and how mature it is."""

from __future__ import annotations

from dataclasses import dataclass

EXPERIMENTAL, BETA, STABLE = "experimental", "beta", "stable"
TIERS = (EXPERIMENTAL, BETA, STABLE)
"""The maturity tiers, the lowest first: recognises · topology and a real machine · sources agree, faults, hardware."""


@dataclass(frozen=True)
class Criterion:
    """One thing that the conformance suite looks at."""

    tier: str
    """The lowest tier that asks for it."""
    name: str
    is_met: bool
    evidence: str
    """What was seen, or what is missing."""


@dataclass(frozen=True)
class Found:
    """What a probe of this machine said."""

    state: str
    """present | absent | unknown"""
    reason: str | None = None
    """Why it is unknown, one of the model's reasons."""
    message: str = ""


@dataclass(frozen=True)
class Plugin:
    """One plug-in. None means not known."""

    group: str
    name: str
    package: str
    version: str
    tier: str | None = None
    """experimental | beta | stable; None where it was not computed, or where it fails what all tiers ask for."""
    found: Found | None = None
    """None where it was not probed."""
    captures: int | None = None
    """How many recordings of real machines stand behind it."""
    criteria: tuple[Criterion, ...] = ()


@dataclass(frozen=True)
class PluginsDocument:
    """What `raxl plugins` says."""

    schema: str
    raxl_version: str
    created: str
    plugins: tuple[Plugin, ...] = ()


def tier(criteria: tuple[Criterion, ...]) -> str | None:
    """The highest tier of which this and all lower ones' criteria are met; None for none."""
    reached = None
    for name in TIERS:
        asked = [one for one in criteria if one.tier == name]
        if not asked or not all(one.is_met for one in asked):
            return reached
        reached = name
    return reached
