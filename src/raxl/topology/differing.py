"""What differs of one node, noted value by value: better or worse, or not known on one side and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from raxl.model import difference as kinds
from raxl.model.difference import CHANGE, FAULT, Subject, Value
from raxl.model.node import Node
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, REASONS, TIMED_OUT, UNREAD, Problem

_VITAL = ("state", "accelerators", "nodes")
_SILENT = (FAILED, TIMED_OUT)
STATES = ("ok", "degraded", "down", "lost")
"""From well to ill."""
_UNSAID = (NOT_ASKED, "nothing that was read says it")


class Change(NamedTuple):
    """A difference of one subject."""

    kind: str
    severity: str
    fields: tuple[str, ...]
    subject: Subject | None = None
    """None: the cluster as a whole."""
    before: Value = None
    after: Value = None
    reason: str | None = None
    why: str | None = None


class Reasons:
    """Why values of a node are not known."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._told: dict[str, Problem] | None = None

    def of(self, owners: Iterable[str], field: str) -> tuple[str, str]:
        """The reason and its words for a field of a device (its id, then its family), or of the node (no owner)."""
        if self._told is None:  # most nodes are never asked
            ranked = sorted(self._node.problems, key=lambda problem: -REASONS.index(problem.reason))
            self._told = {problem.subject: problem for problem in ranked}
        for owner in (*owners, ""):
            subject = ".".join(part for part in (owner, field) if part) if owner or not owners else "node"
            while subject:
                if found := self._told.get(subject):
                    return found.reason, found.message
                if subject == owner:
                    break
                subject = subject.rpartition(".")[0]
        return _UNSAID

    def unlisted(self, family: str, vendor: str | None = None) -> tuple[str, str] | None:
        """Why a device that is missing may be there for all that; None where all of its sort were listed."""
        devices = self._node.accelerators if family == "accelerators" else self._node.nics
        some = any(vendor in (None, getattr(device, "vendor", None)) for device in devices)
        for problem in self._node.problems:
            hidden = problem.subject in ("node", family) or (problem.subject == "pci_tree" and not some)
            if hidden and problem.reason in (*UNREAD, NOT_ASKED):
                return problem.reason, problem.message
        return None if some or self._node.recorded_by is not None else _UNSAID


class Pair:
    """One node on both sides. `everything`: note volatile values too, and as to shape what names one device."""

    def __init__(self, before: Node, after: Node, by_shape: bool = False, everything: bool = False) -> None:
        self.before, self.after = before, after
        self.by_shape, self.everything = by_shape, everything
        self.changes: list[Change] = []
        self.why_before, self.why_after = Reasons(before), Reasons(after)

    @property
    def names(self) -> bool:
        """Whether what names one device among many is compared."""
        return self.everything or not self.by_shape

    def node_subject(self) -> Subject:
        """The node itself."""
        return Subject(self.after.name)

    def note(self, kind: str, severity: str, fields: tuple[str, ...], subject: Subject, *values: Value) -> None:
        """Notes a difference; `values` are before and after."""
        before, after = values or (None, None)
        self.changes.append(Change(kind, severity, fields, subject, before, after))

    def unknown(self, kind: str, fields: tuple[str, ...], subject: Subject, cause: tuple[str, str]) -> None:
        """Notes what is not known on one side, and why. A device or node that answers no more is a fault."""
        is_silent = bool(set(fields) & set(_VITAL)) and cause[0] in _SILENT
        severity = FAULT if kind == kinds.UNKNOWN and is_silent else CHANGE
        self.changes.append(Change(kind, severity, fields, subject, reason=cause[0], why=cause[1]))


class Thing:
    """A device of the pair, or the node itself: its values are noted one by one, what is not known together."""

    def __init__(self, pair: Pair, subject: Subject, family: str = "", before: str = "", after: str = "") -> None:
        self._pair, self.subject = pair, subject
        self._owners = tuple(part for part in (before, family) if part), tuple(part for part in (after, family) if part)
        self._unknown: dict[tuple[str, str, str], list[str]] = {}
        self._state_changed = False

    def value(self, field: str, before: Value, after: Value, kind: str = kinds.CHANGED, severity: str = CHANGE) -> None:
        """A value of which no side is the better one."""
        if self._known(field, before, after):
            self._pair.note(kind, severity, (field,), self.subject, before, after)

    def values(self, before: Mapping[str, Value], after: Mapping[str, Value], kind: str = kinds.CHANGED) -> None:
        """Several such values, by field."""
        for field in before:
            self.value(field, before[field], after[field], kind)

    def state(self, field: str, before: str, after: str) -> None:
        """A state: going down is a fault."""
        known = tuple(None if state == "unknown" else state for state in (before, after))
        if self._known(field, *known):
            self._state_changed = True
            ranks = [STATES.index(state) if state in STATES else 1 for state in (before, after)]
            self.judged(field, before, after, ranks[1] >= ranks[0])

    def judged(self, field: str, before: Value, after: Value, is_worse: bool) -> None:
        """A state of which it is known whether it got worse."""
        kind, severity = (kinds.WORSE, FAULT) if is_worse else (kinds.BETTER, CHANGE)
        self._pair.note(kind, severity, (field,), self.subject, before, after)

    def amount(self, field: str, before: float | None, after: float | None) -> None:
        """A width, speed or count: less is a fault."""
        if self._known(field, before, after) and before is not None and after is not None:
            self.sized(field, before, after, after < before)

    def sized(self, field: str, before: Value, after: Value, is_narrower: bool) -> None:
        """A value of which it is known whether it got narrower."""
        kind, severity = (kinds.NARROWED, FAULT) if is_narrower else (kinds.WIDENED, CHANGE)
        self._pair.note(kind, severity, (field,), self.subject, before, after)

    def done(self) -> None:
        """Notes what is not known on one side: one difference a cause."""
        for (kind, reason, why), fields in self._unknown.items():
            if not (reason == NOT_APPLICABLE and self._state_changed):  # the state has said it
                self._pair.unknown(kind, tuple(fields), self.subject, (reason, why))

    def _known(self, field: str, before: Value, after: Value) -> bool:
        """Whether both are known, and differ. What is not known on one side is put aside."""
        if before == after:
            return False
        if before is not None and after is not None:
            return True
        kind = kinds.UNKNOWN if after is None else kinds.KNOWN
        reasons = self._pair.why_after if after is None else self._pair.why_before
        cause = reasons.of(self._owners[after is None], field)
        self._unknown.setdefault((kind, *cause), []).append(field)
        return False
