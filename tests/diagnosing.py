"""Recordings with a few answers changed, and what `raxl diagnose` finds in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from raxl.checks import diagnosis
from raxl.checks.diagnosis import EVERYTHING, Wanted
from raxl.collect import assemble, facts, questions
from raxl.host import Answer, CommandOutput, Question
from raxl.host.record import Recording
from raxl.model.finding import Finding, Findings
from recordings import recording as load

_REFUSALS = {
    "!denied": Answer(None, "not-permitted", "Permission denied"),
    "!timeout": Answer(None, "timed-out", "no answer within 2 s"),
    "!absent": Answer(None, "not-present", ""),
    "!unasked": Answer(None, "not-asked", "the recording does not hold this question"),
    "!unsupported": Answer(None, "not-supported", "Not Supported"),
}


def variant(name: str, *changes: str | tuple[str, Any]) -> Recording:
    """The recording of that name with some answers changed, each told in one line:

        "/proc/sys/kernel/osrelease=5.15.0"     a file's text (`names /dev=null zero` a folder's names)
        "/sys/class/infiniband !denied"         no answer: denied, timeout, absent, unasked, unsupported
        ("library nvml ecc_mode 0", [1, 1])     any question, and plain data as its answer

    A question that begins with `/` means every question about that path and beneath it where it is refused.
    """
    recording = load(name)
    questions.read_through(recording)
    for change in changes:
        if isinstance(change, tuple):
            recording.answers[_question(change[0])] = _answer(_question(change[0]), change[1])
        elif (words := change.split(" "))[-1] in _REFUSALS:
            _refuse(recording, " ".join(words[:-1]), _REFUSALS[words[-1]])
        else:
            subject, _, value = change.partition("=")
            question = _question(subject)
            recording.answers[question] = Answer(value.split() if question.kind == "names" else value)
    return recording


def _question(subject: str) -> Question:
    if subject.startswith("/"):
        return Question("text", subject)
    kind, _, rest = subject.partition(" ")
    return Question(kind, rest)


def _answer(question: Question, value: Any) -> Answer:
    return Answer(CommandOutput(*value) if question.kind == "command" else value)


def _refuse(recording: Recording, subject: str, answer: Answer) -> None:
    if not subject.startswith("/"):
        recording.answers[_question(subject)] = answer
        return
    hit = [one for one in recording.answers if one.subject == subject or one.subject.startswith(f"{subject}/")]
    for question in (*hit, Question("text", subject)):
        recording.answers[question] = answer


def findings(recordings: Sequence[Recording] | Recording, wanted: Wanted = EVERYTHING) -> Findings:
    """What all checks find in them."""
    machines = [recordings] if isinstance(recordings, Recording) else list(recordings)
    inventory = assemble.inventory(machines)
    return diagnosis.findings(
        inventory, [facts.of(one, node) for one, node in zip(machines, inventory.nodes, strict=True)], wanted
    )


def told(check: str, recordings: Sequence[Recording] | Recording, wanted: Wanted = EVERYTHING) -> list[Finding]:
    """What one check finds."""
    only = wanted._replace(only=(check,), level="deep")
    return list(findings(recordings, only).findings)


def statuses(check: str, recordings: Sequence[Recording] | Recording, wanted: Wanted = EVERYTHING) -> dict[str, str]:
    """The same, as status by subject."""
    return {one.subject: one.status for one in told(check, recordings, wanted)}
