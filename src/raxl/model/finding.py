"""What the checks found: `raxl.findings/v1`, and the description of the checks themselves, `raxl.checks/v1`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping

FINDINGS = "raxl.findings/v1"
CHECKS = "raxl.checks/v1"

FAIL, WARN, UNKNOWN, SKIP, OK = "fail", "warn", "unknown", "skip", "ok"
STATUSES = (FAIL, WARN, UNKNOWN, SKIP, OK)
"""The worst first."""

REMEDIES = (
    "none",
    "app",
    "config",
    "restart-service",
    "reset",
    "drain",
    "reboot",
    "power-cycle",
    "rma",
    "vendor",
)
"""Classes of remedies, by what has to stop for them."""

QUICK, STANDARD, DEEP = "quick", "standard", "deep"
LEVELS = (QUICK, STANDARD, DEEP)

ANYWHERE, HOST, ROOT = "anywhere", "host", "root"
VANTAGES = (ANYWHERE, HOST, ROOT)
"""Where a check's readings can be had: in a container too, on the host, as root."""


@dataclass(frozen=True)
class Evidence:
    """A reading that a finding goes by."""

    source: str
    """The path, command or call that was asked."""
    value: str


@dataclass(frozen=True)
class Suppressed:
    """Why a finding is known and does not count."""

    reason: str
    until: str
    """The day after which it counts again: `2026-12-31`."""


@dataclass(frozen=True)
class Finding:
    """One check's answer about one thing."""

    check: str
    """`ib.port-state`"""
    subject: str
    """What it is about: `nvidia:6`, `mlx5_4/1`, `/dev/shm`, `node`."""
    node: str
    status: str
    """One of `STATUSES`."""
    message: str
    """One sentence for a person."""
    evidence: tuple[Evidence, ...] = ()
    remedy: str | None = None
    """What to do, with the command to type."""
    remedy_class: str = "none"
    """One of `REMEDIES`."""
    reference: str | None = None
    """A public page that says why."""
    expected: str | None = None
    """What it was held against, and where that came from."""
    first_seen: str | None = None
    """Of an event, its first time: UTC ISO 8601, or the log's own stamp where that names no day."""
    last_seen: str | None = None
    count: int = 1
    """How many events stand behind it."""
    reason: str | None = None
    """Of an unknown or a skipped one, why: a word of `raxl.model.problem`."""
    is_ruled_out: bool = False
    """Whether it was skipped because it cannot be read from here: a container, a VM, no root."""
    fingerprint: str = ""
    """The same for the same fault in every run: by check, node, subject and code."""
    suppressed: Suppressed | None = None


@dataclass(frozen=True)
class Summary:
    """How many findings there are of each status. Those that are suppressed are left out."""

    ok: int = 0
    warn: int = 0
    fail: int = 0
    unknown: int = 0
    skip: int = 0


@dataclass(frozen=True)
class Coverage:
    """What could be looked at on one node."""

    node: str
    vantage: str
    """`as root on the host`, `in a docker container`, `from a file`: from where the readings come."""
    levels: tuple[str, ...]
    """The levels whose checks ran."""
    complete: bool
    """Whether every check that applies was answered, and none of the first priority was hidden by the vantage."""
    not_possible_here: tuple[str, ...] = ()
    """Checks that this vantage rules out."""
    unknown_reasons: Mapping[str, int] = field(default_factory=dict)
    """By reason, how many checks could not be answered."""


@dataclass(frozen=True)
class Findings:
    """Everything that `raxl diagnose` found."""

    schema: str
    raxl_version: str
    created: str
    findings: tuple[Finding, ...]
    """The worst first, then by node and check."""
    summary: Summary
    coverage: tuple[Coverage, ...]
    """One a node."""
    recipe: str | None = None
    """The recipe by which it was looked at."""


@dataclass(frozen=True)
class CheckRecord:
    """A check, described."""

    id: str
    title: str
    """What it says when all is well."""
    priority: str
    """p0 | p1 | p2"""
    level: str
    """The lowest level that runs it."""
    vantage: str
    """One of `VANTAGES`."""
    remedy_class: str
    """What its remedy usually is."""
    reference: str | None
    thresholds: Mapping[str, float]
    """What a policy file may set, with the values of now."""
    explanation: str
    """Its logic, where its numbers come from, and what it must not be confused with."""


@dataclass(frozen=True)
class ChecksDocument:
    """All checks."""

    schema: str
    raxl_version: str
    checks: tuple[CheckRecord, ...]
