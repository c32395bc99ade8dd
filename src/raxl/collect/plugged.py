"""What all plug-ins say of one machine; one of others that fails costs one problem, which names its package."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, NamedTuple, Sequence

from raxl.errors import PluginError
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


def told(host: ReplayHost, functions: Mapping[str, PciFunction], foreign: Sequence[Guest] = ()) -> Told:
    """One report a plug-in, raxl's own first. A device is the first one's that claims it."""
    every = tuple(functions.values())
    by_plugin: list[tuple[str, Report]] = []
    problems: list[Problem] = []
    for name in registry.BUILT_IN:
        plugin = registry.built_in(name)
        by_plugin.append((f"{name} of raxl", plugin.parse(plugin.ask(host), every)))
    failures = {subject: (reason, message) for subject, reason, message in host.recording.notes}
    for other in foreign:
        failure = failures.get(other.installed.entry)
        if failure is None:
            try:
                by_plugin.append((_called(other), other.parse(other.ask(host), every)))
                continue
            except PluginError as error:
                failure = error.reason, error.why
        words = f"the plug-in {_called(other)} failed: {failure[1]}"
        problems.append(Problem(f"plugins.{other.installed.name}", failure[0], words, (other.installed.entry,)))
    reports, contested = _each_device_once(by_plugin)
    families = (*(plugin.family for plugin in registry.accelerators()), *(one.family for one in foreign))
    return Told(reports, families, (*problems, *contested))


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
