"""What all plug-ins say of one machine; one of others that fails costs one problem, which names its package."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, NamedTuple, Sequence

from raxl.collect.alike import Steps
from raxl.errors import PluginError
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.model.component import PciFunction
from raxl.model.problem import DISAGREEMENT, Problem
from raxl.model.report import Report
from raxl.plugins import registry
from raxl.plugins.guest import Guest


class Told(NamedTuple):
    """The reports, who was asked, and what the plug-ins of others cost."""

    reports: tuple[Report, ...]
    families: tuple[str, ...]
    problems: tuple[Problem, ...]


def told(
    steps: Steps, recording: Recording, functions: Mapping[str, PciFunction], foreign: Sequence[Guest] = ()
) -> Told:
    """One report a plug-in, raxl's own first. A device is the first one's that claims it."""
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
            by_plugin.append((_called(guest), _of_guest(guest, ReplayHost(recording), tuple(functions.values()))))
            families.append(guest.family)
        except PluginError as error:
            words = f"the plug-in {_called(guest)} failed: {error.why}"
            subject = f"plugins.{guest.installed.name}"
            problems.append(Problem(subject, error.reason, words, (guest.installed.entry,)))
    reports, contested = _each_device_once(by_plugin)
    return Told(reports, tuple(families), (*problems, *contested))


def _of_built_in(host: ReplayHost, name: str, functions: Mapping[str, PciFunction]) -> Report:
    plugin = registry.built_in(name)
    return plugin.parse(plugin.ask(host), tuple(functions.values()))


def _of_guest(guest: Guest, host: ReplayHost, functions: Sequence[PciFunction]) -> Report:
    """What a plug-in of others says of its own devices. Raises PluginError where it speaks of raxl's own."""
    report = guest.parse(guest.ask(host), functions)
    if guest.vendor in {plugin.vendor for plugin in registry.accelerators()}:
        raise PluginError(_called(guest), f"raxl has a plug-in for {guest.vendor}")
    own = {name for claim in report.claims for name in claim.names}
    return replace(report, links=tuple(link for link in report.links if {link.a, link.b} & own))


def _called(plugin: Guest) -> str:
    return f"{plugin.installed.name} of {plugin.installed.package}"


def _each_device_once(by_plugin: Sequence[tuple[str, Report]]) -> tuple[tuple[Report, ...], list[Problem]]:
    """The reports without claims of a PCI device that another plug-in claimed before, and a problem for each such."""
    owner: dict[str, str] = {}
    contested: dict[tuple[str, str], list[str]] = {}
    reports = []
    for name, report in by_plugin:
        addresses = {claim.address for claim in report.claims if claim.address is not None}
        lost = {address for address in addresses if owner.setdefault(address, name) != name}
        for address in sorted(lost):
            contested.setdefault((owner[address], name), []).append(address)
        reports.append(_without(report, lost) if lost else report)
    return tuple(reports), [
        Problem(
            f"plugins.{second.partition(' ')[0]}",
            DISAGREEMENT,
            f"{', '.join(addresses)}: claimed by the plug-ins {first} and {second}; the first one is believed",
            (first, second),
        )
        for (first, second), addresses in contested.items()
    ]


def _without(report: Report, lost: set[str]) -> Report:
    kept = [claim for claim in report.claims if claim.address not in lost]
    gone = {name for claim in report.claims if claim.address in lost for name in claim.names}
    links = [link for link in report.links if not {link.a, link.b} & gone]
    return replace(report, claims=tuple(kept), links=tuple(links))
