"""A plug-in alone with a recording: what it says, and what it asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Mapping, NamedTuple, Sequence

from raxl import __version__
from raxl.collect.bus import bus_of
from raxl.errors import PluginError
from raxl.host import Answer, Host, Question
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost
from raxl.intake import documents
from raxl.model.component import PciFunction
from raxl.model.presence import UNKNOWN, Presence
from raxl.model.report import Report
from raxl.plugins.admission import Admitted
from raxl.plugins.guest import Guest
from raxl.sources import pci

_BUS = Question("names", pci.FOLDER)
_FUNCTION = f"{pci.FOLDER}/0000:00:00.0"


class Tried(NamedTuple):
    """The plug-in that is tried: `probe`, `ask`, `parse`. `guests` holds it where it is a plug-in of others."""

    plugin: object
    guests: tuple[Guest, ...] = ()

    def probe(self, host: Host) -> Presence | None:
        """What its probe says; None where it has none."""
        probe = getattr(self.plugin, "probe", None)
        return probe(host) if probe else None

    def report(self, host: Host, functions: Sequence[PciFunction]) -> Admitted:
        """What it says of its devices, and what of it is not believed; raises whatever it raises."""
        plugin = self.plugin
        if isinstance(plugin, Guest):
            return plugin.admitted(plugin.ask(host), functions)
        return Admitted(plugin.parse(plugin.ask(host), functions), "")  # type: ignore[attr-defined]


class Trial:
    """One plug-in, one recording. `failure` is what it raised first, empty for nothing."""

    def __init__(self, tried: Tried, recording: Recording, functions: tuple[PciFunction, ...] | None = None) -> None:
        self.tried, self.recording = tried, recording
        self.failure = ""
        self._functions = functions

    @cached_property
    def functions(self) -> tuple[PciFunction, ...]:
        """The PCI functions of the machine."""
        if self._functions is not None:
            return self._functions
        host = ReplayHost(self.recording)
        return tuple(bus_of(host, documents.read(host)[0]).functions.values())

    @cached_property
    def _probed(self) -> tuple[Presence | None, frozenset[str]]:
        host = ReplayHost(self.recording)
        presence = None
        try:
            presence = self.tried.probe(host)
        except Exception as error:  # whatever a plug-in raises is its failure
            self._failed(error)
        return presence, frozenset(question.kind for question in host.answers)

    def presence(self) -> str | None:
        """present | absent | unknown; None where the probe failed, or there is none."""
        found = self._probed[0]
        return found.state if found else None

    def probe_kinds(self) -> frozenset[str]:
        """The kinds of the questions that its probe asked."""
        return self._probed[1]

    @cached_property
    def _reported(self) -> tuple[Admitted, tuple[Question, ...]]:
        host = ReplayHost(self.recording)
        told = Admitted(Report(), "")
        try:
            told = self.tried.report(host, self.functions)
        except Exception as error:  # whatever a plug-in raises is its failure
            self._failed(error)
        return told, tuple(host.answers)

    def report(self) -> Report:
        """What it says; nothing where it failed."""
        return self._reported[0].report

    def wrong(self) -> str:
        """What it says that cannot be; empty for nothing."""
        return self._reported[0].wrong

    def asked(self) -> tuple[Question, ...]:
        """The questions that its asking half puts."""
        return self._reported[1]

    def _failed(self, error: Exception) -> None:
        words = error.why if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"[:200]
        self.failure = self.failure or words


def bare() -> Recording:
    """A machine with one host bridge and no accelerator."""
    files = {"class": "0x060000", "vendor": "0x8086", "device": "0x09a2"}
    answers: dict[Question, Answer] = {_BUS: Answer(["0000:00:00.0"])}
    answers.update((Question("text", f"{_FUNCTION}/{name}"), Answer(f"{text}\n")) for name, text in files.items())
    return _made(answers)


def unseen(tried: Tried) -> list[str]:
    """Failures of a probe that may not look: it has to say so. One that asks nothing of PCI need not."""
    attempt = Trial(tried, _made({_BUS: Answer(None, "not-permitted", "Permission denied")}))
    host = ReplayHost(attempt.recording)
    try:
        tried.probe(host)
    except Exception as error:  # whatever a plug-in raises is its failure
        return [f"{type(error).__name__}: {error}"[:200]]
    if _BUS in host.answers and attempt.presence() != UNKNOWN:
        return [f"where it may not look it says {attempt.presence()}"]
    return []


def reordered(recording: Recording) -> Recording:
    """The recording with its PCI functions listed the other way round."""
    listing = recording.answer(_BUS)
    return changed(recording, {_BUS: Answer(listing.value[::-1])} if listing.known else {})


def changed(recording: Recording, change: Mapping[Question, Answer], without: Question | None = None) -> Recording:
    """The recording with some answers changed, or without one."""
    answers = {question: answer for question, answer in recording.answers.items() if question != without}
    return Recording(
        {**answers, **change},
        name=recording.name,
        source=recording.source,
        created=recording.created,
        recorded_by=recording.recorded_by,
        unasked=recording.unasked,
        notes=recording.notes,
    )


def _made(answers: Mapping[Question, Answer]) -> Recording:
    return Recording(answers, name="bare", recorded_by=__version__, unasked=Answer(None, "not-present", ""))
