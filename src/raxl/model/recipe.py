"""Deployment recipes: `raxl.recipe/v1`, as a file says one when its layers are joined.

A recipe is data. It says for which hardware it is, what must hold there, which settings it wants, and which figures
are known; nothing of it is executed. Texts may hold `{name}`: a parameter's value takes its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple, Union

RECIPE = "raxl.recipe/v1"
DOCUMENTED, OBSERVED, VALIDATED = "documented", "observed", "validated"
MATURITIES = (DOCUMENTED, OBSERVED, VALIDATED)
"""From what public pages say, over a real recording that it matched, to a report of raxl's that is attached."""
OPS = ("==", "!=", ">=", "<=", ">", "<", "in", "matches", "present", "absent")
BLOCK, WARN, NOTE = "block", "warn", "note"
LEVELS = (BLOCK, WARN, NOTE)
"""What an unmet requirement does: nothing is written; it is told; it is mentioned."""
SCOPES = ("all", "head", "workers")
OWN_BASELINE = "own-baseline"
KINDS = ("observed", "vendor-floor", "theoretical", "illustrative", OWN_BASELINE)
"""Where an expected figure comes from. What is illustrative or theoretical is shown and never held."""
METRICS = ("bus_bandwidth_bytes_per_second", "bandwidth_bytes_per_second", "latency_seconds")

Scalar = Union[str, int, float, bool, None]
Value = Union[str, int, float, bool, None, Tuple[Union[str, int, float, bool, None], ...]]


@dataclass(frozen=True)
class Source:
    """A public page that entries of the recipe cite by its id."""

    id: str
    url: str
    read: str
    """The day on which it was read, or as of which it speaks: `2026-07-13`."""
    covers: Tuple[str, ...] = ()
    """`env`, `versions`, `expect` …"""


@dataclass(frozen=True)
class Condition:
    """A fact of the node held against a value: all values that the fact has must hold, and there must be one."""

    fact: str
    """A path: `accelerators.count`, `accelerators.ray.type`, `nics[kind=efa].count`, `placement.instance_type`."""
    op: str
    """One of `OPS`; `matches` takes a glob, `in` a list, `present` and `absent` nothing."""
    value: Value = None


@dataclass(frozen=True)
class Match:
    """For which nodes it is."""

    all: Tuple[Condition, ...] = ()
    by_name: bool = False
    """Whether it is for any node where it is asked for by name."""


@dataclass(frozen=True)
class Requirement:
    """What must hold, and raxl never changes."""

    id: str
    fact: str
    op: str
    value: Value = None
    level: str = BLOCK
    """One of `LEVELS`."""
    remedy: str = ""
    """What the operator does or adds, with the line to type."""
    when: Optional[Condition] = None
    """Where it is asked for; everywhere without."""
    source: Optional[str] = None
    unverified: Optional[str] = None


@dataclass(frozen=True)
class Version:
    """One of a set of versions that was published together. Compared, never installed."""

    name: str
    """As the inventory's `software` calls it, where it does: `nvidia-driver`, `rocm`."""
    value: Optional[str] = None
    source: Optional[str] = None
    unverified: Optional[str] = None
    """Why it rests on no source; a value that nobody published is null."""
    fact: Optional[str] = None
    """Where the node says its own, if not at `software.<name>`."""


@dataclass(frozen=True)
class Parameter:
    """A value that is computed on the node: a fact, or a rule of `raxl.recipe.computed`."""

    fact: Optional[str] = None
    rule: Optional[str] = None
    options: Mapping[str, Value] = field(default_factory=dict)
    """The rule's own."""
    expect: Union[str, int, float, bool, Mapping[str, Union[str, int, float, bool]], None] = None
    """The reference value; or by instance type."""
    why: str = ""
    source: Optional[str] = None
    unverified: Optional[str] = None


@dataclass(frozen=True)
class SetVariable:
    """An environment variable that Ray's processes are to have."""

    name: str
    value: Optional[str]
    why: str
    source: Optional[str] = None
    unverified: Optional[str] = None
    scope: str = "all"
    """One of `SCOPES`."""
    when: Optional[Condition] = None


@dataclass(frozen=True)
class UnsetVariable:
    """An environment variable that is stale or harmful here."""

    name: str
    why: str
    op: str = "present"
    """Held against its value in the environment: one of `OPS`."""
    value: Value = None
    source: Optional[str] = None
    unverified: Optional[str] = None


@dataclass(frozen=True)
class Environment:
    """The variables that it sets and unsets."""

    set: Tuple[SetVariable, ...] = ()
    unset: Tuple[UnsetVariable, ...] = ()


@dataclass(frozen=True)
class RayStart:
    """What `ray start` is given."""

    start: Mapping[str, Union[str, int]] = field(default_factory=dict)
    """By flag without its dashes: `num-gpus` to `{accelerators}`. `null` cannot be said: leave a flag out."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Beside those that `raxl labels` gives the node."""
    resources: Mapping[str, Union[str, int, float]] = field(default_factory=dict)
    """Custom resources."""


@dataclass(frozen=True)
class KubeRay:
    """What a KubeRay manifest is to have: a strategic merge for each of its worker groups."""

    patch: Mapping[str, Any] = field(default_factory=dict)
    """Of a group: `labels`, `numOfHosts`, `rayStartParams`, `template` …"""
    chips_per_host: Optional[int] = None
    """Of a TPU slice: the product of its topology by this is `numOfHosts`."""
    resource: Optional[str] = None
    """The container limit that counts accelerators: `nvidia.com/gpu`."""


@dataclass(frozen=True)
class SkippedCheck:
    """Checks that say nothing on this platform."""

    check: str
    """A glob of ids."""
    why: str


@dataclass(frozen=True)
class Diagnosis:
    """How `raxl diagnose` looks at such a node."""

    only: Tuple[str, ...] = ()
    """Globs of ids; none means all."""
    skip: Tuple[SkippedCheck, ...] = ()
    expected: Mapping[str, Union[str, float]] = field(default_factory=dict)
    """As a policy file says it; texts may hold parameters."""
    thresholds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Hardware:
    """What bounds its figures physically. Speeds are one direction."""

    accelerators: Optional[int] = None
    """Of one node."""
    link: Optional[str] = None
    """The scale-up link between accelerators, a name of `raxl.recipe.bounds`: `nvlink-5`, `pcie-5`, `none`."""
    nodes_in_fabric: int = 1
    """How many nodes one scale-up fabric joins: 18 in an NVL72 rack."""
    nics: Optional[int] = None
    """Of one node, those that carry its accelerators' traffic."""
    nic_bits_per_second: Optional[float] = None
    reduces_in_network: bool = False
    """Whether switches add up (SHARP), which doubles what a collective may read."""


@dataclass(frozen=True)
class Expectation:
    """A figure that such hardware reached, with all that makes it comparable."""

    id: str
    collective: str
    """`p2p`, `all_reduce`, `all_gather`, `reduce_scatter`, `all_to_all`, `broadcast`, `copy`"""
    nodes: int
    ranks: int
    metric: str
    """One of `METRICS`; decimal units."""
    kind: str
    """One of `KINDS`."""
    value: Optional[float] = None
    """None for an own baseline, and where nobody published one."""
    size_bytes: Optional[int] = None
    algorithm: Optional[str] = None
    """The one that was forced."""
    transport: Optional[str] = None
    """raxl's transport that measures it; None where raxl has none."""
    path: Tuple[str, ...] = ()
    """Globs of what must have carried it: `AWS Libfabric`, `lo`, `mapped`. One of them has to."""
    warn_below: float = 0.9
    fail_below: float = 0.75
    """Shares of the value."""
    software: Mapping[str, str] = field(default_factory=dict)
    """The versions with which it was measured."""
    source: Optional[str] = None
    unverified: Optional[str] = None
    date: Optional[str] = None
    """When it was measured or published: `2026-07` or a day."""


@dataclass(frozen=True)
class AttachedReport:
    """A report of raxl's that ran this recipe on real hardware."""

    file: str
    """Relative to the recipe's own file."""
    sha256: str
    device: str
    date: str


@dataclass(frozen=True)
class Recipe:
    """All of it."""

    schema: str
    name: str
    title: str
    maturity: str = DOCUMENTED
    """One of `MATURITIES`; `raxl recipe validate` holds that it is earned."""
    summary: str = ""
    extends: Optional[str] = None
    """The name of the recipe or layer whose entries it takes over."""
    layer: bool = False
    """Whether it is only there to be extended: it matches nothing."""
    source: Tuple[Source, ...] = ()
    match: Match = Match()
    hardware: Hardware = Hardware()
    requires: Tuple[Requirement, ...] = ()
    versions: Tuple[Version, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    env: Environment = Environment()
    ray: RayStart = RayStart()
    kuberay: KubeRay = KubeRay()
    diagnose: Diagnosis = Diagnosis()
    expect: Tuple[Expectation, ...] = ()
    reports: Tuple[AttachedReport, ...] = ()
    notes: Tuple[str, ...] = ()
    """What an operator of such a platform should know, a sentence each."""


@dataclass(frozen=True)
class Shelved:
    """A recipe and where it lies."""

    recipe: Recipe
    origin: str
    """`raxl` for a shipped one, else the file."""
    sha256: str
    """Of the recipe with its layers joined, without `maturity` and `reports`: what a report is about."""


@dataclass(frozen=True)
class RecipeFault:
    """What is wrong with a recipe's file, and where."""

    file: str
    """Its own, or that of a layer."""
    line: Optional[int]
    key: str
    """`env.set[2].name`"""
    what: str


@dataclass(frozen=True)
class RecipeRecord:
    """A line of `raxl recipe list`, or of `raxl recipe validate`."""

    name: str
    title: str
    maturity: str
    origin: str
    sha256: Optional[str]
    """None for one that is broken."""
    newest_source: Optional[str] = None
    """The newest day on which one of its sources was read."""
    layer: bool = False
    faults: Tuple[RecipeFault, ...] = ()
    warnings: Tuple[RecipeFault, ...] = ()
    """What is to be looked at; told by `validate` alone."""


@dataclass(frozen=True)
class RecipesDocument:
    """The root of `raxl.recipes/v1`."""

    schema: str
    raxl_version: str
    recipes: Tuple[RecipeRecord, ...] = ()
