"""What a recipe would do on a node, byte for byte: `raxl.plan/v1`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Mapping, Optional, Tuple

from raxl.model.recipe import Recipe, Value

PLAN = "raxl.plan/v1"
MET, UNMET, UNREAD = "met", "unmet", "unknown"
NEW, CHANGED, SAME, REMOVED, KEPT = "new", "changed", "same", "removed", "kept"
READ, NOT_THERE = "read", "not-present"
READY, NOTHING, BLOCKED, INCOMPLETE, EDITED, NEEDS_CODE = (
    "ready",
    "nothing-to-change",
    "blocked",
    "incomplete",
    "edited",
    "needs-allow-code",
)
"""May be applied · is applied already · a requirement that blocks is not met · one, or a value, could not be read ·
somebody changed a file since it was applied · it holds what loads code, and nobody allowed that."""


@dataclass(frozen=True)
class HeldCondition:
    """A condition as it holds on this node."""

    fact: str
    op: str
    value: Value
    found: Value
    """What the node has; None where that is not known."""
    status: str
    """met | unmet | unknown"""
    evidence: str
    """The path, command or call that said so."""
    message: str = ""
    """Of what is unknown, why."""


@dataclass(frozen=True)
class Candidate:
    """A recipe held against the node."""

    recipe: str
    status: str
    """met | unmet | unknown: whether it is for this node."""
    score: int
    """How many conditions it set: the most specific one is taken."""
    conditions: Tuple[HeldCondition, ...] = ()


@dataclass(frozen=True)
class Precondition:
    """A requirement as it is met on this node."""

    id: str
    level: str
    """block | warn | note"""
    held: HeldCondition
    remedy: str = ""
    source: Optional[str] = None


@dataclass(frozen=True)
class ComputedValue:
    """A parameter's value on this node, beside the recipe's reference."""

    name: str
    value: Value
    """None where it could not be computed."""
    reference: Value = None
    status: str = SAME
    """same | differs | unknown; `same` too where the recipe has no reference."""
    evidence: str = ""
    message: str = ""
    is_used: bool = True
    """Whether anything that the recipe sets or checks on this node takes it."""


@dataclass(frozen=True)
class ComparedVersion:
    """A version of the recipe's set beside the node's."""

    name: str
    value: Optional[str]
    found: Optional[str]
    status: str
    """same | differs | unknown"""
    evidence: str = ""


@dataclass(frozen=True)
class SetIn:
    """A place in which a variable is set now."""

    where: str
    """The environment of a process, or a file of NCCL's or RCCL's own."""
    value: str
    is_file: bool
    wins: bool = False
    """Whether it is the one that counts now: of several the first."""
    stays: bool = False
    """Whether it is the one that counts once the plan is applied."""


@dataclass(frozen=True)
class VariableFile:
    """A file in which NCCL or RCCL looks for variables that the environment does not have."""

    path: str
    status: str
    """read | not-present | unknown"""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Those that raxl keeps."""
    message: str = ""
    """Of what is unknown, why."""


@dataclass(frozen=True)
class Setting:
    """One thing that the plan sets, and where its value comes from."""

    kind: str
    """env | unset | ray-start | label | resource | kuberay"""
    name: str
    value: Optional[str]
    """None for what is unset, and for what is not known."""
    status: str
    """new | changed | same | removed | kept: against what the files of an earlier apply have, else the environment;
    unknown: its value, or what is there now, is not known."""
    origin: str
    """recipe | computed | labels | environment: the last one for what is set there, and stays."""
    was: Optional[str] = None
    """What is there now; of a variable, in the environment of Ray's processes, or of the one that asked."""
    evidence: str = ""
    """What said so."""
    message: str = ""
    """Why something of it is not known, or what it could load."""
    why: str = ""
    source: Optional[str] = None
    """The page's address."""
    loads_code: bool = False
    """Whether it can make a process load or run something: such is applied with --allow-code alone."""
    scope: str = "all"
    set_in: Tuple[SetIn, ...] = ()
    """Of a variable, where it is set now, in the order in which they count. The plan's files go into the environment:
    what they set wins; what they unset may stay in a file of NCCL's own."""


@dataclass(frozen=True)
class PlannedFile:
    """A file below the root."""

    path: str
    """Relative to the folder that is in force."""
    status: str
    """new | changed | same | removed"""
    content: str = ""
    """All of it; empty for one that is removed."""
    before_sha256: Optional[str] = None
    after_sha256: Optional[str] = None
    diff: str = ""
    """A unified diff."""
    edited_diff: str = ""
    """Where somebody changed the file since it was applied: what he changed."""


@dataclass(frozen=True)
class Plan:
    """One recipe for one node."""

    node: str
    status: str
    """ready | nothing-to-change | blocked | incomplete | edited | needs-allow-code"""
    root: str
    recipe: Recipe
    """All of it, its layers joined: a saved plan is held against the node by it."""
    recipe_sha256: str
    origin: str
    facts: Mapping[str, Value] = field(default_factory=dict)
    """By path, every fact that it goes by; null for what is not known."""
    facts_unread: Mapping[str, str] = field(default_factory=dict)
    """By path, why a fact is not known."""
    facts_sha256: str = ""
    """Of both, as canonical JSON."""
    in_force: Optional[str] = None
    """The generation that its files are held against; None where nothing is in force, or the root of another machine
    could not be read."""
    candidates: Tuple[Candidate, ...] = ()
    """The recipe itself first, then those that would have matched, or were close."""
    preconditions: Tuple[Precondition, ...] = ()
    computed: Tuple[ComputedValue, ...] = ()
    versions: Tuple[ComparedVersion, ...] = ()
    settings: Tuple[Setting, ...] = ()
    variable_files: Tuple[VariableFile, ...] = ()
    """Below the environment, in the order in which they count; raxl reads them and never writes them."""
    files: Tuple[PlannedFile, ...] = ()
    next_steps: Tuple[str, ...] = ()
    """What to type once it is applied."""


@dataclass(frozen=True)
class Refusal:
    """A node for which there is no plan."""

    node: str
    message: str


@dataclass(frozen=True)
class PlanDocument:
    """The root of `raxl.plan/v1`."""

    schema: str
    raxl_version: str
    created: str
    plans: Tuple[Plan, ...] = ()
    """One a node."""
    refused: Tuple[Refusal, ...] = ()
    """The nodes that have none."""
