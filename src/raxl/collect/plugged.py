"""What all plug-ins say of one machine; one of others that fails costs one problem, which names its package."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, NamedTuple, Sequence

from raxl.errors import PluginError
from raxl.host.replay import ReplayHost
from raxl.model.component import PciFunction
from raxl.model.problem import DISAGREEMENT, FAILED, Problem
from raxl.model.report import Report
from raxl.plugins import registry
from raxl.plugins.guest import Guest

PRINTS = "prints to standard output: that is thrown away"


class Told(NamedTuple):
    """The reports, who was asked, and what the plug-ins of others cost."""

    reports: tuple[Report, ...]
    families: tuple[str, ...]
    problems: tuple[Problem, ...]


def told(host: ReplayHost, functions: Mapping[str, PciFunction], foreign: Sequence[Guest] = ()) -> Told:
    """One report a plug-in, raxl's own first. A device is the first one's that claims it."""
    every = tuple(functions.values())
    by_plugin: list[tuple[str, Report]] = []
    problems: list[Problem] = []
    families = [plugin.family for plugin in registry.accelerators()]
    for name in registry.BUILT_IN:
        plugin = registry.built_in(name)
        by_plugin.append((f"{name} of raxl", plugin.parse(plugin.ask(host), every)))
    failures = {subject: (reason, message) for subject, reason, message in host.recording.notes}
    for guest in foreign:
        try:
            if failure := failures.get(guest.installed.entry):
                raise PluginError(_called(guest), failure[1], failure[0])
            by_plugin.append((_called(guest), _of_guest(guest, host, every)))
            families.append(guest.family)
            if guest.has_printed:
                problems.append(_cost(guest, FAILED, PRINTS))
        except PluginError as error:
            problems.append(_cost(guest, error.reason, f"failed: {error.why}"))
    reports, contested = _each_device_once(by_plugin)
    return Told(reports, tuple(families), (*problems, *contested))


def _of_guest(guest: Guest, host: ReplayHost, functions: Sequence[PciFunction]) -> Report:
    """What a plug-in of others says of its own devices. Raises PluginError where it speaks of raxl's own."""
    report = guest.parse(guest.ask(host), functions)
    if guest.vendor in {plugin.vendor for plugin in registry.accelerators()}:
        raise PluginError(_called(guest), f"raxl has a plug-in for {guest.vendor}")
    own = {name for claim in report.claims for name in claim.names}
    return replace(report, links=tuple(link for link in report.links if {link.a, link.b} & own))


def _cost(guest: Guest, reason: str, words: str) -> Problem:
    message = f"the plug-in {_called(guest)} {words}"
    return Problem(f"plugins.{guest.installed.name}", reason, message, (guest.installed.entry,))


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
