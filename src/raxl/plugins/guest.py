"""A plug-in of others as raxl's own look like."""

from __future__ import annotations

from typing import Any, Collection, Sequence

from raxl.errors import PluginError
from raxl.host import Host
from raxl.model import codec
from raxl.model.component import PciFunction
from raxl.model.presence import ABSENT, PRESENT, UNKNOWN, Presence
from raxl.model.problem import REASONS
from raxl.model.report import Report
from raxl.plugins import bounds
from raxl.plugins.admission import Admitted, admitted
from raxl.plugins.apart import Apart
from raxl.plugins.discovery import Installed
from raxl.plugins.reading import shown

PRINTS = "prints to standard output, which is thrown away"
EDITS = "edits the environment, which nobody else sees"


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
        """Its name for a person; its entry point's before it was loaded, and where it has none."""
        family = self._apart.about[1] if self._apart.about else ""
        return family if bounds.is_name(family) else self.installed.name

    def probe(self, host: Host) -> Presence:
        """What its probe says."""
        told = self._told(host, "probe")
        try:
            presence = Presence(*told)
        except TypeError as error:
            raise self._no("probe gives no Presence") from error
        if presence.state not in (PRESENT, ABSENT, UNKNOWN) or presence.reason not in (None, *REASONS):
            raise self._no("probe gives no Presence")
        if not isinstance(presence.message, str):
            raise self._no("probe gives no Presence")
        return presence._replace(message=presence.message[: bounds.LONGEST_WORDS])

    def ask(self, host: Host) -> Host:
        """The host itself: the plug-in asks it when it parses."""
        return host

    def parse(self, answers: Host, functions: Sequence[PciFunction]) -> Report:
        """What it says of its devices, as far as it is believed."""
        return self.admitted(answers, functions).report

    def admitted(
        self, answers: Host, functions: Sequence[PciFunction], others: Collection[str] | None = None
    ) -> Admitted:
        """The same, with what is not believed. `others`: all that its links may lead to besides its own devices."""
        told = self._told(answers, "report", codec.encode(tuple(functions)))
        try:
            return admitted(told, self.vendor, functions, others)
        except (ValueError, TypeError, RecursionError) as error:
            raise self._no(f"parse gives no Report: {error}") from error

    @property
    def manners(self) -> tuple[str, ...]:
        """What it did besides answering, each as a verb with its object."""
        told = ((self._apart.has_printed, PRINTS), (self._apart.has_edited, EDITS))
        return tuple(words for is_so, words in told if is_so)

    def end(self) -> None:
        """Ends its process."""
        self._apart.end()

    def _told(self, host: Host, *request: str) -> Any:
        told = self._apart.ask(host, *request)
        if not bounds.is_vendor(self.vendor):
            raise self._no(f"its vendor is {shown(self.vendor)}: ids cannot begin so")
        return told

    def _no(self, message: str) -> PluginError:
        return PluginError(f"the plug-in of the package {self.installed.package}", message[:500])
