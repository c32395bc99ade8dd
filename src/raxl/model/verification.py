"""How a recipe did on the nodes that it was applied to: `raxl.report/v1`, the thing that a vendor publishes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple

from raxl.model.finding import Coverage, Finding, Summary
from raxl.model.plan import ComparedVersion, Precondition

REPORT = "raxl.report/v1"
BASELINE = "raxl.baseline/v1"
PASSED, FAILED, INCOMPLETE = "ok", "failed", "incomplete"
"""Nothing is wrong of all that was verified · something is · something that applies could not be read or measured."""
SAME, DIFFERS, MISSING, UNKNOWN = "same", "differs", "missing", "unknown"
"""A setting against the recipe's. `unknown`: nobody could read it."""
OVERRIDDEN = "overridden"
"""Of a place: it is set there too, and an environment wins over it."""
FIGURE_STATUSES = ("fail", "warn", "unknown", "skip", "baseline", "ok")
"""The worst first. `baseline`: it was measured for the first time, and is what later ones are held against."""


@dataclass(frozen=True)
class ReportedRecipe:
    """Which recipe was verified."""

    name: str
    title: str
    maturity: str
    recipe_sha256: str
    """Of the recipe with its layers joined, without `maturity` and `reports`."""
    origin: str
    """`raxl` for a shipped one, else the file."""


@dataclass(frozen=True)
class InForce:
    """What is applied below the root."""

    root: str
    generation: str
    """The folder that is in force."""
    applied: str
    """When: UTC, ISO 8601."""
    recipe: str
    recipe_sha256: str
    """Of the recipe as it was then."""
    edited: Tuple[str, ...] = ()
    """The files that somebody changed since."""


@dataclass(frozen=True)
class Place:
    """A place where a setting is made, and to what."""

    where: str
    """The file, the environment of a process, or Ray's own view."""
    value: Optional[str]
    """None where it is not set there."""
    status: str
    """same | differs | missing | unknown | overridden"""
    is_applied: bool = False
    """Whether it is one of the files in force: then anything but the recipe's value is wrong."""


@dataclass(frozen=True)
class VerifiedSetting:
    """One thing that the recipe sets, and where it is set."""

    kind: str
    """env | unset | ray-start | label | resource"""
    name: str
    value: Optional[str]
    """The recipe's; None for what is to be unset."""
    status: str
    """same | differs | missing | unknown: the worst of its places."""
    origin: str
    """recipe | computed | labels"""
    scope: str = "all"
    why: str = ""
    source: Optional[str] = None
    """The page's address."""
    places: Tuple[Place, ...] = ()


@dataclass(frozen=True)
class VerifiedNode:
    """A node beside the recipe."""

    name: str
    source: str
    """Where its facts come from: `local`, `ray:<node id>`, or the file."""
    hardware: str
    """Its accelerators, and where it stands: `8 × H100 80GB HBM3, aws p5.48xlarge`."""
    software: Mapping[str, str] = field(default_factory=dict)
    """By name, all versions that were seen."""
    requirements: Tuple[Precondition, ...] = ()
    versions: Tuple[ComparedVersion, ...] = ()
    settings: Tuple[VerifiedSetting, ...] = ()


@dataclass(frozen=True)
class SkippedChecks:
    """Checks that the recipe leaves out."""

    checks: Tuple[str, ...]
    """Their ids."""
    why: str


@dataclass(frozen=True)
class Figure:
    """An expectation beside what was measured."""

    id: str
    collective: str
    nodes: int
    ranks: int
    size_bytes: Optional[int]
    """Of the expectation; None where nobody told it."""
    algorithm: Optional[str]
    transport: Optional[str]
    metric: str
    kind: str
    """Where the expected value comes from: observed, vendor-floor …"""
    expected: Optional[float]
    warn_below: float
    fail_below: float
    """Shares of the expected value; of a time, what it may be longer is their inverse."""
    expected_path: Tuple[str, ...]
    """Globs of what has to carry it."""
    status: str
    """One of `FIGURE_STATUSES`."""
    message: str
    """Why it is so, as a sentence."""
    source: Optional[str] = None
    """The page's address; of an own baseline, the file."""
    source_read: Optional[str] = None
    date: Optional[str] = None
    """When the expected value was measured or published."""
    unverified: Optional[str] = None
    """Why it rests on no source."""
    software: Mapping[str, str] = field(default_factory=dict)
    """The versions with which the expected value was measured."""
    between: Optional[str] = None
    """The ends of the row: `n1 → n2`."""
    measured: Optional[float] = None
    """The median."""
    ci95_low: Optional[float] = None
    ci95_high: Optional[float] = None
    measured_size_bytes: Optional[int] = None
    ratio: Optional[float] = None
    """How much of the expected value was reached; of a time, the expected one by the measured one."""
    path: Optional[str] = None
    """What the row really went over, as far as counters and libraries tell."""
    path_verdict: Optional[str] = None
    """proven | unverified | mismatch"""
    row_status: Optional[str] = None
    """What `raxl bench-transport` says of the row."""
    verified_bytes: Optional[bool] = None
    """Whether all bytes were compared, and were the right ones."""


@dataclass(frozen=True)
class Report:
    """The root of `raxl.report/v1`."""

    schema: str
    raxl_version: str
    created: str
    status: str
    """ok | failed | incomplete"""
    recipe: ReportedRecipe
    in_force: Optional[InForce]
    """None where the recipe is not applied below the root."""
    nodes: Tuple[VerifiedNode, ...]
    summary: Summary
    """How many findings of each status; the checks that the recipe leaves out are among the skipped."""
    findings: Tuple[Finding, ...] = ()
    """All but those of status ok, and those of `left_out`."""
    coverage: Tuple[Coverage, ...] = ()
    left_out: Tuple[SkippedChecks, ...] = ()
    """What the recipe does not look at."""
    figures: Tuple[Figure, ...] = ()
    wrong: Tuple[str, ...] = ()
    """What makes it fail, a sentence each."""
    not_verified: Tuple[str, ...] = ()
    """What this report says nothing about, and why, a sentence each."""
    next_steps: Tuple[str, ...] = ()
    """What to type."""


@dataclass(frozen=True)
class OwnFigure:
    """What an expectation without a value was measured as on this machine."""

    id: str
    between: str
    metric: str
    value: float
    size_bytes: int
    transport: str
    path: Optional[str]
    status: str
    """What `raxl bench-transport` said of the row: one of a busy machine gives way to the first of a quiet one."""
    created: str
    """UTC, ISO 8601."""


@dataclass(frozen=True)
class Baseline:
    """The root of `raxl.baseline/v1`: it lies beside the receipt, and goes with it."""

    schema: str
    raxl_version: str
    recipe: str
    recipe_sha256: str
    figures: Tuple[OwnFigure, ...] = ()
