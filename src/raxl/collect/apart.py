"""What recordings of one machine answer differently: only one of two answers to a question can count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from raxl.host import Answer, Question
from raxl.host.record import Recording
from raxl.intake import documents, environment
from raxl.intake.tree import TreeRecording
from raxl.model.problem import DISAGREEMENT

Note = tuple[str, str, str]
_VARIABLES = (Question("document", environment.FORM), Question("process", "environment"))
_JOINED = {*_VARIABLES, *(Question("document", form) for form in documents.TEXTS)}
"""Questions of which all answers count."""


def in_order(recordings: Sequence[Recording]) -> list[Recording]:
    """The recordings, the one whose answers count first: a tree, which reads what it is asked only then, snapshots from
    the latest to the earliest, and texts."""
    trees = [one for one in recordings if isinstance(one, TreeRecording)]
    snapshots = [one for one in recordings if one.recorded_by is not None and one not in trees]
    if len(snapshots) > 1:
        snapshots.sort(key=lambda one: (one.created, one.source, repr(sorted(one.answers.items()))), reverse=True)
    return [*trees, *snapshots, *(one for one in recordings if one not in (*trees, *snapshots))]


def notes(ordered: Sequence[Recording]) -> tuple[Note, ...]:
    """What the recordings, in the order in which they count, tell differently."""
    return (*_of_answers(ordered), *_of_variables(ordered))


def _of_answers(ordered: Sequence[Recording]) -> Iterator[Note]:
    for one, other in combinations(ordered, 2):
        if isinstance(other, TreeRecording):
            from raxl.collect import questions

            questions.read_through(other)
        theirs = {asked: told for asked, told in other.answers.items() if told.known and asked not in _JOINED}
        differing = sorted(asked for asked, told in theirs.items() if _differ(one.answer(asked), told))
        if differing:
            words = " ".join(differing[0])[:100]
            many = "1 answer differs" if len(differing) == 1 else f"{len(differing)} answers differ"
            told = f"{many} between {_named(one)} and {_named(other)} ({words}): only those of the first one count"
            yield "recording", DISAGREEMENT, told


def _differ(mine: Answer, theirs: Answer) -> bool:
    return mine.known and mine.value != theirs.value


def _named(recording: Recording) -> str:
    return f"{recording.source} of {recording.created}" if recording.recorded_by else recording.source


def _of_variables(ordered: Sequence[Recording]) -> Iterator[Note]:
    """Variables of which two of them, or one in a file and in its own environment, tell two values."""
    said: dict[str, dict[str, str]] = {}
    for recording in ordered:
        for question in _VARIABLES:
            answer = recording.answers.get(question)
            for name, value in _variables(question, answer).items() if answer is not None and answer.known else ():
                said.setdefault(name, {}).setdefault(recording.source, value)
    for name, values in said.items():
        if len(set(values.values())) > 1:
            words = ", ".join(f"{source} says {value[:100]}" for source, value in values.items())
            yield f"environment.{name}", DISAGREEMENT, words


def _variables(question: Question, answer: Answer) -> dict[str, str]:
    if question.kind == "document":
        return environment.variables(answer.value)
    return {str(name): str(value) for name, value in answer.value.items()} if isinstance(answer.value, dict) else {}
