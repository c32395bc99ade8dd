"""The conformance suite: what a plug-in does with its recordings, and what follows for its maturity.

Every criterion is computed from recordings and the ledger of real machines; what a plug-in says of itself counts for
nothing.
"""

from __future__ import annotations

from itertools import islice
from typing import Callable, Iterable, NamedTuple, Sequence

from raxl.collect import assemble, damage, reasons, trial
from raxl.collect.plugin_recordings import CAPTURE, Named
from raxl.collect.trial import Trial
from raxl.host.record import Recording
from raxl.model.accelerator import Accelerator
from raxl.model.node import Node
from raxl.model.plugin import BETA, EXPERIMENTAL, STABLE, Criterion
from raxl.model.presence import ABSENT, PRESENT, UNKNOWN
from raxl.model.problem import DISAGREEMENT, UNREAD
from raxl.plugins.ledger import Ledger

_CHEAP = {"text", "names", "link"}
_KERNEL = ("sysfs", "kfd", "/proc", "/sys", "/dev")
_MOST_FAILURES = 3
NO_CASE = "no case"
"""What is said of a criterion for which there is nothing to try it on."""


class Case(NamedTuple):
    """One recording of the plug-in's devices, its node, and the devices that are the plug-in's."""

    name: str
    trial: Trial
    node: Node
    devices: tuple[Accelerator, ...]


def criteria(tried: trial.Tried, recordings: Sequence[Named], ledger: Ledger, documents: str) -> tuple[Criterion, ...]:
    """Every criterion of every tier. `documents`: what is missing of the plug-in's documentation, empty for nothing."""
    trials = [(named, Trial(tried, named.recording)) for named in recordings]
    presence = {named.name: attempt.presence() for named, attempt in trials}
    cases = list(_cases(tried, trials))
    absent = [(named.name, attempt) for named, attempt in trials if presence[named.name] == ABSENT]
    count = sum(len(case.devices) for case in cases)
    real = sorted({named.name for named in recordings if _is_real(named.recording)} & {c.name for c in cases})
    return (
        _criterion(
            EXPERIMENTAL,
            "recognises its devices",
            [*_broken(trials), *([] if count else ["no recording shows one"])],
            f"{count} devices in {len(cases)} recordings",
        ),
        _each("probe sees what is there", cases, _unseen, "present in each of them"),
        _criterion(
            EXPERIMENTAL,
            "probe is cheap",
            _dear(trials) if trials else [NO_CASE],
            "kernel files and device nodes alone",
        ),
        _criterion(EXPERIMENTAL, "silent when absent", _loud(tried, absent), f"{len(absent) + 1} machines without"),
        _criterion(EXPERIMENTAL, "absent is not unseen", trial.unseen(tried), "a PCI tree that may not be read"),
        _each("ids do not follow the order of the bus", cases, _reordered),
        _each("every null has its reason", cases, _unexplained),
        _each("damage is survived", cases, _damaged),
        _each("links are symmetric", cases, _one_sided),
        _each("Ray's names", cases, _unnamed),
        _criterion(EXPERIMENTAL, "documentation", [documents] if documents else [], "module, class and methods"),
        _some(BETA, "topology", cases, _placed, "no device with its place or links"),
        _criterion(
            BETA,
            "a recording of a real machine",
            [] if ledger.count or real else ["none: what is written or made up does not count"],
            f"{ledger.count + len(real)} captures",
        ),
        _some(STABLE, "kernel and library agree", cases, _agreed, "no recording in which both tell of one device"),
        _some(STABLE, "faults are recorded", cases, _faulty, "no recording with something broken"),
        _criterion(
            STABLE,
            "seen on hardware",
            [] if ledger.seen else ["no entry with date and versions in docs/evidence.md"],
            "; ".join(ledger.seen),
        ),
    )


def _cases(tried: trial.Tried, trials: Sequence[tuple[Named, Trial]]) -> Iterable[Case]:
    for named, attempt in trials:
        vendors = {claim.vendor for claim in attempt.report().claims}
        if not vendors:
            continue
        node = assemble.node(named.recording, tried.guests)
        devices = tuple(device for device in node.accelerators if device.vendor in vendors)
        if devices:
            yield Case(named.name, attempt, node, devices)


def _criterion(of: str, name: str, failures: Sequence[str], evidence: str) -> Criterion:
    more = f" and {len(failures) - _MOST_FAILURES} more" if len(failures) > _MOST_FAILURES else ""
    return Criterion(of, name, not failures, "; ".join(failures[:_MOST_FAILURES]) + more if failures else evidence)


def _some(of: str, name: str, cases: Sequence[Case], test: Callable[[Case], bool], missing: str) -> Criterion:
    fitting = [case.name for case in cases if test(case)]
    return _criterion(of, name, [] if fitting else [missing], f"{len(fitting)} recordings, {', '.join(fitting[:2])}")


def _each(name: str, cases: Sequence[Case], test: Callable[[Case], Iterable[str]], evidence: str = "") -> Criterion:
    """What has to hold in every case; where there is none, nobody knows whether it does."""
    failures = [f"{case.name}: {failure}" for case in cases for failure in test(case)]
    return _criterion(EXPERIMENTAL, name, failures if cases else [NO_CASE], evidence or f"{len(cases)} recordings")


def _broken(trials: Sequence[tuple[Named, Trial]]) -> list[str]:
    """What it raised, and what it says that cannot be, by recording."""
    told = [(named.name, attempt.wrong(), attempt.failure) for named, attempt in trials]
    return [
        f"{name}: {failure or f'it says what cannot be: {wrong}'}" for name, wrong, failure in told if failure or wrong
    ]


def _unseen(case: Case) -> Iterable[str]:
    found = case.trial.presence()
    if found not in (PRESENT, UNKNOWN):
        yield found or case.trial.failure or "it has no probe"


def _dear(trials: Sequence[tuple[Named, Trial]]) -> list[str]:
    return sorted({f"it asks for a {kind}" for _, attempt in trials for kind in attempt.probe_kinds() - _CHEAP})


def _loud(tried: trial.Tried, absent: Sequence[tuple[str, Trial]]) -> list[str]:
    bare = Trial(tried, trial.bare())
    found = [] if bare.presence() == ABSENT else [f"a machine without any is {bare.presence() or 'a failure'}"]
    for name, attempt in (("a bare machine", bare), *absent):
        report = attempt.report()
        if attempt.failure or report.claims or report.links or report.problems:
            found.append(f"{name}: it has something to say")
    return found


def _reordered(case: Case) -> Iterable[str]:
    changed = trial.reordered(case.trial.recording)
    if assemble.node(changed, case.trial.tried.guests).accelerators != case.node.accelerators:
        yield "another order of the bus gives other devices"


def _unexplained(case: Case) -> Iterable[str]:
    return sorted({f"{field} without a reason" for field in reasons.unexplained(case.node, case.devices)})


def _damaged(case: Case) -> Iterable[str]:
    return islice(damage.failures(case.trial), _MOST_FAILURES)


def _one_sided(case: Case) -> Iterable[str]:
    told: dict[tuple[str, str], tuple[str | None, int | None]] = {}
    for link in case.trial.report().links:
        if link.a == link.b:
            yield f"{link.a} is linked with itself"
        if link.kind != "pcie" and told.setdefault((link.b, link.a), (link.link_class, link.count)) != (
            link.link_class,
            link.count,
        ):
            yield f"{link.a} and {link.b} are told differently from either end"
        told[(link.a, link.b)] = (link.link_class, link.count)


def _unnamed(case: Case) -> Iterable[str]:
    if any(device.ray.resource and not device.visible_env for device in case.devices):
        yield "a resource of Ray's without the variable that hides devices"
    if any(device.ray.type and not device.ray.resource for device in case.devices):
        yield "a type of Ray's without its resource"


def _is_real(recording: Recording) -> bool:
    """Whether raxl itself recorded it on a machine: anybody can write a text that a tool might have printed."""
    return recording.nature == CAPTURE and recording.recorded_by is not None


def _placed(case: Case) -> bool:
    """Whether devices stand in the tree, and pairs of them, where there are any, have a class or a fabric."""
    ids = {device.id for device in case.devices}
    pairs = [link for link in case.node.links if {link.a, link.b} <= ids]
    stand = any(device.pci and (device.pcie_root or device.numa_node is not None) for device in case.devices)
    return stand and (not pairs or any(link.link_class or link.kind for link in pairs))


def _agreed(case: Case) -> bool:
    contested = {problem.subject for problem in case.node.problems if problem.reason == DISAGREEMENT}
    if any(subject.startswith(("accelerators", "links")) for subject in contested):
        return False
    return any(
        any(one.startswith(_KERNEL) for one in device.evidence)
        and any(not one.startswith(_KERNEL) for one in device.evidence)
        and not any(subject.startswith(device.id) for subject in contested)
        for device in case.devices
    )


def _faulty(case: Case) -> bool:
    refused = {problem.subject for problem in case.node.problems if problem.reason in UNREAD}
    return any(
        device.state in ("lost", "degraded") or any(subject.startswith(f"{device.id}.") for subject in refused)
        for device in case.devices
    )
