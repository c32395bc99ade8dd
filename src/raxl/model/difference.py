"""What differs between two readings, A and B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

Value = Union[str, int, float, bool, None]

FAULT, CHANGE, NEW = "fault", "change", "new"
SEVERITIES = (FAULT, CHANGE, NEW)
"""What a difference means to whoever runs the machine, the worst first."""

GONE, DEAD, WORSE, NARROWED, REPLACED, MOVED = "gone", "dead", "worse", "narrowed", "replaced", "moved"
RENUMBERED, CHANGED, VERSION, PLACEMENT, RAY = "renumbered", "changed", "version", "placement", "ray"
UNKNOWN, BETTER, WIDENED, KNOWN, APPEARED = "unknown", "better", "widened", "known", "new"
KINDS = (
    GONE,
    DEAD,
    WORSE,
    NARROWED,
    REPLACED,
    MOVED,
    RENUMBERED,
    UNKNOWN,
    CHANGED,
    VERSION,
    PLACEMENT,
    RAY,
    BETTER,
    WIDENED,
    KNOWN,
    APPEARED,
)
"""In the order in which they are told within a severity."""


@dataclass(frozen=True)
class Subject:
    """What a difference is about."""

    node: str
    """As B calls it; as A does, where B has none of it."""
    id: str | None = None
    """The device, as B calls it; as A does, where it is gone. None: the node itself."""
    peer: str | None = None
    """The other end of a link."""
    was: str | None = None
    """The device's id in A, the node's name in A where `id` is None: where they are other ones."""
    before: Value = None
    after: Value = None
    """Where each subject has values of its own: UUIDs, addresses."""


@dataclass(frozen=True)
class Difference:
    """One thing that differs, of all subjects of which it differs in the same way."""

    kind: str
    """gone | dead (a node, in Ray's view) | worse (a state) | narrowed (a link's width, speed, class or count) |
    replaced (another UUID in its place) | moved | renumbered | unknown (not known in B) | changed | version |
    placement | ray | better | widened | known (not known in A) | new"""
    severity: str
    """fault | change | new"""
    fields: tuple[str, ...]
    """The values that differ, as `raxl.inventory/v1` names them; several where they became unknown for one cause."""
    before: Value = None
    after: Value = None
    """None where the value is not known, where each subject has its own, and where there is none to tell."""
    reason: str | None = None
    """Why a value is not known, in the words of `raxl.model.problem`."""
    why: str | None = None
    """The same in the words of whoever did not say it."""
    subjects: tuple[Subject, ...] = ()


@dataclass(frozen=True)
class Side:
    """One of the two readings."""

    operand: str
    """As it was given: a path, `node:NAME` or `now`."""
    created: str
    """UTC, ISO 8601."""
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Summary:
    """How many differences there are of each severity."""

    faults: int = 0
    changes: int = 0
    new: int = 0


@dataclass(frozen=True)
class DifferencesDocument:
    """The root of `raxl.diff/v1`."""

    schema: str
    raxl_version: str
    created: str
    """UTC, ISO 8601: when the later of the two was recorded."""
    a: Side
    b: Side
    matched_by: str
    """identity: one machine or cluster at two times, matched by UUID or serial, then PCI address, then id | shape: two
    machines, whose UUIDs, serials, addresses and places are then no differences, but with `--all`."""
    everything: bool
    """Whether volatile values were compared too: counters, clocks, temperatures, idle link speeds."""
    summary: Summary
    differences: tuple[Difference, ...] = ()
    """The worst first."""
