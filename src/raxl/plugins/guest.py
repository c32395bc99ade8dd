"""A plug-in of others as raxl's own look like."""

from __future__ import annotations

from typing import Sequence

from raxl.errors import PluginError
from raxl.host import Host
from raxl.model import codec
from raxl.model.component import PciFunction
from raxl.model.identity import pci_address
from raxl.model.presence import ABSENT, PRESENT, UNKNOWN, Presence
from raxl.model.problem import REASONS
from raxl.model.report import Report
from raxl.plugins.apart import Apart
from raxl.plugins.discovery import Installed

_MOST = 1 << 53
STATES = ("ok", "degraded", "lost", "unknown")


class Guest:
    """One of `raxl.accelerators.AcceleratorPlugin`, whose methods raise PluginError and nothing else."""

    def __init__(self, installed: Installed) -> None:
        self.installed = installed
        self._apart = Apart(installed.entry, installed.package, installed.folder)

    @property
    def vendor(self) -> str:
        """The first half of its accelerators' ids; its own name before it was loaded."""
        return self._apart.about[0] if self._apart.about else self.installed.name

    @property
    def family(self) -> str:
        """Its name for a person; its entry point's before it was loaded."""
        return self._apart.about[1] if self._apart.about else self.installed.name

    def probe(self, host: Host) -> Presence:
        """What its probe says."""
        told = self._apart.ask(host, "probe")
        try:
            presence = Presence(*told)
        except TypeError as error:
            raise self._no("probe gives no Presence") from error
        if presence.state not in (PRESENT, ABSENT, UNKNOWN) or presence.reason not in (None, *REASONS):
            raise self._no("probe gives no Presence")
        if not isinstance(presence.message, str):
            raise self._no("probe gives no Presence")
        return presence

    def ask(self, host: Host) -> Host:
        """The host itself: the plug-in asks it when it parses."""
        return host

    def parse(self, answers: Host, functions: Sequence[PciFunction]) -> Report:
        """What it says of its devices."""
        told = self._apart.ask(answers, "report", codec.encode(tuple(functions)))
        try:
            report = codec.decode(told, Report)
        except (ValueError, TypeError) as error:
            raise self._no(f"parse gives no Report: {error}") from error
        if wrong := self._wrong(report):
            raise self._no(wrong)
        return report

    def _wrong(self, report: Report) -> str:
        """What of a report is against the contract; empty for nothing."""
        reasons = {silence.reason for claim in report.claims for silence in claim.silent.values()}
        if not reasons | {problem.reason for problem in report.problems} <= set(REASONS):
            return "a reason is none of the vocabulary"
        for claim in report.claims:
            if claim.vendor != self.vendor:
                return f"it claims a device of {claim.vendor}, and is for {self.vendor}"
            if claim.address is not None and claim.address != pci_address(claim.address):
                return f"{claim.address} is no PCI address"
            if claim.state not in (None, *STATES):
                return f"{claim.state} is no state of a device"
            if not all(0 <= number < _MOST for number in (claim.memory_bytes, claim.index) if number is not None):
                return "memory or index of a device is no number that one can have"
        return ""

    @property
    def has_printed(self) -> bool:
        """Whether it wrote to its standard output, which nobody reads."""
        return self._apart.has_printed

    def end(self) -> None:
        """Ends its process."""
        self._apart.end()

    def _no(self, message: str) -> PluginError:
        return PluginError(f"the plug-in of the package {self.installed.package}", message)
