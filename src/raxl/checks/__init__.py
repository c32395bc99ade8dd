"""Checks: one file a subject, each check a pure function of what was read.

A check is a function with `@check(…)` above it. It is given a `Case` and yields verdicts, at least one; its docstring
is its `--explain` page, and its keyword arguments with defaults are the thresholds that a policy file may set:

    @check("host.memlock", "Ray's workers may lock memory", P0, QUICK, "config", reference="https://…")
    def memlock(case: Case, fail_bytes: float = 8 << 20) -> Iterator[Verdict]:

Only a value that was read may lead to `ok`. What a reading's reason makes of a verdict says `unread`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from raxl.model.cluster import Cluster, RayNode
from raxl.model.facts import Facts, Reading
from raxl.model.finding import ANYWHERE, FAIL, OK, SKIP, UNKNOWN, WARN, Evidence
from raxl.model.node import Node
from raxl.model.policy import Policy
from raxl.model.problem import FAILED, NOT_APPLICABLE, NOT_ASKED, NOT_SUPPORTED

P0, P1, P2 = "p0", "p1", "p2"
FAMILIES = {"nvidia": "NVIDIA", "amd": "AMD", "tpu": "TPU", "neuron": "Neuron", "gaudi": "Gaudi", "intel": "Intel"}
"""By vendor's id, how people call its accelerators."""


@dataclass(frozen=True)
class Case:
    """One node, as a check sees it."""

    node: Node
    facts: Facts
    policy: Policy = Policy()
    ray: RayNode | None = None
    """The node as Ray knows it; None where Ray was not asked, or does not know it."""
    cluster: Cluster | None = None


@dataclass(frozen=True)
class Verdict:
    """A check's answer about one subject, before the engine makes a finding of it."""

    status: str
    subject: str
    message: str
    evidence: tuple[Evidence, ...] = ()
    remedy: str | None = None
    remedy_class: str = "none"
    reason: str | None = None
    expected: str | None = None
    first_seen: str | None = None
    last_seen: str | None = None
    count: int = 1
    root: str = ""
    """What tells this fault from another of the same check and subject: a code. Part of the fingerprint."""
    node: str | None = None
    """Of a check over many nodes, the one that it is about."""
    under: tuple[str, str] | None = None
    """Check and subject of the fault of which this one is a part: where that one is told, this one is skipped."""


@dataclass(frozen=True)
class Check:
    """One question, and how it is answered."""

    id: str
    title: str
    priority: str
    level: str
    remedy_class: str
    run: Callable[..., Iterable[Verdict]]
    vantage: str = ANYWHERE
    reference: str | None = None
    is_of_fleet: bool = False
    """Whether `run` is given all cases at once."""
    thresholds: Mapping[str, float] = field(default_factory=dict)

    @property
    def explanation(self) -> str:
        """Its page: the docstring of its function."""
        return inspect.getdoc(self.run) or ""


def check(
    id: str,
    title: str,
    priority: str,
    level: str,
    remedy_class: str,
    *,
    vantage: str = ANYWHERE,
    reference: str | None = None,
    is_of_fleet: bool = False,
) -> Callable[[Callable[..., Iterable[Verdict]]], Check]:
    """Makes a check of a function."""

    def made(run: Callable[..., Iterable[Verdict]]) -> Check:
        parameters = list(inspect.signature(run).parameters.values())[1:]
        thresholds = {one.name: one.default for one in parameters}
        return Check(id, title, priority, level, remedy_class, run, vantage, reference, is_of_fleet, thresholds)

    return made


def evidence(reading: Reading, value: object = None) -> Evidence:
    """A reading as evidence; `value` where less than all of it counts."""
    return Evidence(reading.source, str(reading.value if value is None else value))


def ok(subject: str, message: str, *evidence: Evidence, **more: Any) -> Verdict:
    """All is well, by what was read."""
    return Verdict(OK, subject, message, evidence, **more)


def warn(subject: str, message: str, *evidence: Evidence, remedy: str, remedy_class: str, **more: Any) -> Verdict:
    """Usable, but somebody has to act soon."""
    return Verdict(WARN, subject, message, evidence, remedy, remedy_class, **more)


def fail(subject: str, message: str, *evidence: Evidence, remedy: str, remedy_class: str, **more: Any) -> Verdict:
    """Do not schedule here."""
    return Verdict(FAIL, subject, message, evidence, remedy, remedy_class, **more)


def unknown(subject: str, reason: str, message: str, *evidence: Evidence, **more: Any) -> Verdict:
    """It applies, and could not be read."""
    return Verdict(UNKNOWN, subject, message, evidence, reason=reason, **more)


def skip(subject: str, message: str, reason: str = NOT_APPLICABLE) -> Verdict:
    """It does not apply here, and this is why."""
    return Verdict(SKIP, subject, message, reason=reason)


def unread(subject: str, what: str, reading: Reading) -> Verdict:
    """What a reading without a value gives: skipped where the device has no such thing, else unknown. `what` names the
    thing, in the middle of a sentence."""
    reason = reading.reason or FAILED
    words = f"{what}: {reading.message or reason} ({reading.source})"
    if reason in (NOT_SUPPORTED, NOT_APPLICABLE):
        return skip(subject, words, reason)
    return unknown(subject, reason, words)


def absent(case: Case, vendor: str) -> Verdict | None:
    """Why nothing of this vendor is to be checked here: skipped where it is known that the node has no such device,
    unknown where nobody could tell; None where there is one."""
    if any(device.vendor == vendor for device in case.node.accelerators):
        return None
    return without(case, f"{FAMILIES.get(vendor, vendor)} accelerator")


def without(case: Case, what: str) -> Verdict:
    """The same where it was found that there is no such device: by a PCI tree that was read it is known, else not."""
    if case.node.looked_for.pci_functions is not None:
        return skip("node", f"no {what} among {case.node.looked_for.pci_functions} PCI functions")
    told = next((one for one in case.node.problems if one.subject in ("node", "pci_tree")), None)
    if told is not None:
        return unknown("node", told.reason, f"whether there is a {what}: {told.message}")
    if case.node.accelerators:
        return skip("node", f"no {what} among what was read")
    return unknown("node", NOT_ASKED, f"whether there is a {what}: what was given does not say it")


Fleet = Sequence[Case]
"""What a check over many nodes is given."""
