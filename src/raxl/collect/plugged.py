"""What all plug-ins say of one machine; one of others that fails costs one problem, which names its package."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Collection, Mapping, NamedTuple, Sequence

from raxl.collect.alike import Steps
from raxl.errors import PluginError
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.model.component import PciFunction
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.model.report import Report
from raxl.plugins import registry

if TYPE_CHECKING:
    from raxl.plugins.guest import Guest


class Told(NamedTuple):
    """The reports, who was asked, and what the plug-ins of others cost."""

    reports: tuple[Report, ...]
    families: tuple[str, ...]
    problems: tuple[Problem, ...]


def told(
    steps: Steps,
    recording: Recording,
    functions: Mapping[str, PciFunction],
    foreign: Sequence[Guest] = (),
    others: Collection[str] = (),
) -> Told:
    """One report a plug-in, raxl's own first. A device is the first one's that claims it.

    `others`: names of NICs, and of devices that documents tell of, to which a link of a plug-in of others may lead.
    """
    every = tuple(functions.values())
    by_plugin: list[tuple[str, Report]] = []
    problems: list[Problem] = []
    families = [plugin.family for plugin in registry.accelerators()]
    for name in registry.BUILT_IN:
        by_plugin.append((f"{name} of raxl", steps.ask(f"plug-in {name}", _of_built_in, name, functions)))
    failures = {subject: (reason, message) for subject, reason, message in recording.notes}
    for guest in foreign:
        try:
            if failure := failures.get(guest.installed.entry):
                raise PluginError(_called(guest), failure[1], failure[0])
            known = {*others, *(name for _, report in by_plugin for claim in report.claims for name in claim.names)}
            report, wrong = guest.admitted(guest.ask(ReplayHost(recording)), every, known)
            if guest.vendor in {plugin.vendor for plugin in registry.accelerators()}:
                raise PluginError(_called(guest), f"raxl has a plug-in for {guest.vendor}")
            by_plugin.append((_called(guest), report))
            families.append(guest.family)
            if costs := [*guest.manners, *([f"says what cannot be: {wrong}"] if wrong else [])]:
                problems.append(_cost(guest, FAILED, "; it ".join(costs)))
        except PluginError as error:
            problems.append(_cost(guest, error.reason, f"failed: {error.why}"))
    reports, contested = _each_device_once(by_plugin)
    return Told(reports, tuple(families), (*problems, *contested))


def _of_built_in(host: ReplayHost, name: str, functions: Mapping[str, PciFunction]) -> Report:
    plugin = registry.built_in(name)
    return plugin.parse(plugin.ask(host), tuple(functions.values()))


def _cost(guest: Guest, reason: str, words: str) -> Problem:
    message = f"the plug-in {_called(guest)} {words}"
    return Problem(f"plugins.{guest.installed.name}", reason, message, (guest.installed.entry,))


def _called(plugin: Guest) -> str:
    return f"{plugin.installed.name} of {plugin.installed.package}"


def _each_device_once(by_plugin: Sequence[tuple[str, Report]]) -> tuple[tuple[Report, ...], list[Problem]]:
    """The reports without claims of a device that another plug-in claimed before, and a problem for each such pair."""
    owner: dict[str, str] = {}
    contested: dict[tuple[str, str], dict[str, None]] = {}
    reports = []
    for name, report in by_plugin:
        lost: set[str] = set()
        for claim in report.claims:
            taken = [one for one in claim.names if owner.get(one, name) != name]
            if taken:
                lost.update(claim.names)
                contested.setdefault((owner[taken[0]], name), {})[claim.address or taken[0].replace("#", ":")] = None
        for switch in report.switches:
            if owner.setdefault(switch.id, name) != name:
                lost.add(switch.id)
                contested.setdefault((owner[switch.id], name), {})[switch.id] = None
        kept = _without(report, lost) if lost else report
        owner.update({one: name for claim in kept.claims for one in claim.names if one not in owner})
        reports.append(kept)
    return tuple(reports), [
        Problem(
            f"plugins.{second.partition(' ')[0]}",
            DISAGREEMENT,
            f"{', '.join(sorted(devices))}: claimed by the plug-ins {first} and {second}; the first one is believed",
            (first, second),
        )
        for (first, second), devices in contested.items()
    ]


def _without(report: Report, lost: set[str]) -> Report:
    """Without the claims of the devices that have these names, their links, and such switches."""
    gone = set(lost)
    kept = list(report.claims)
    while len(rest := [claim for claim in kept if not gone & set(claim.names)]) < len(kept):
        gone.update(name for claim in kept if gone & set(claim.names) for name in claim.names)
        kept = rest
    links = [link for link in report.links if not {link.a, link.b} & gone]
    switches = tuple(switch for switch in report.switches if switch.id not in gone)
    return replace(report, claims=tuple(kept), links=tuple(links), switches=switches)
