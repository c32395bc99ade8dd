"""Recordings: every question that was asked of one machine, and its answer."""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, Optional, Sequence

from raxl.host import Answer, CommandOutput, Host, Question


def question_of_command(arguments: Sequence[str]) -> Question:
    """The question that running `arguments` answers."""
    return Question("command", " ".join(arguments))


def question_of_call(name: str, method: str, arguments: Sequence[object]) -> Question:
    """The question that a call of a library answers: `nvml name 3`."""
    return Question("library", " ".join((name, method, *map(str, arguments))))


OF_PROCESS = {
    "uname": dict,
    "limits": dict,
    "environment": dict,
    "hostname": str,
    "packages": list,
    "root": bool,
    "filesystems": dict,
    "device_nodes": dict,
    "nvidia_control": dict,
    "affinity": int,
    "addresses": dict,
    "processes": dict,
    "versions": dict,
    "kernel_log": dict,
    "nccl_user_files": dict,
}
"""What the kernel tells the asking process, by name."""
NOT_RECORDED = Answer(None, "not-asked", "the recording does not hold this question")


class Recording:
    """The answers of one machine, with what is known about where they come from.

    A question that it never asked is answered with `unasked`: `not-asked` in a recording, `timed-out` in a live run
    whose time ran out.
    """

    def __init__(
        self,
        answers: Mapping[Question, Answer] | None = None,
        *,
        name: str = "",
        source: str = "local",
        created: str = "",
        recorded_by: str | None = None,
        nature: str = "capture",
        unasked: Answer = NOT_RECORDED,
        notes: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        self.answers: dict[Question, Answer] = dict(answers or {})
        self.name = name
        self.source = source
        self.created = created
        self.recorded_by = recorded_by
        self.nature = nature
        self.unasked = unasked
        self._others: List[Recording] = []
        self.notes = tuple(notes)
        """What went wrong while asking: (subject, reason, message)."""

    def answer(self, question: Question) -> Answer:
        """The recorded answer, of this recording or of one that it absorbed; else `unasked`."""
        known = self.answers.get(question) or self._look(question)
        for other in self._others:
            if known is not None and known.reason != "not-asked":
                break
            known = other.answer(question)
        if known is None:
            return self.unasked
        if known is not self.unasked:
            self.answers[question] = known
        return known

    def _look(self, question: Question) -> Optional[Answer]:
        """An answer that is not read yet; None where there is none."""
        return None

    @property
    def is_composed(self) -> bool:
        """Whether it absorbed others."""
        return bool(self._others)

    def credit(self, other: "Recording", source: str) -> None:
        """Takes over what another recording, of which this was asked, says about itself; but not its time."""
        self.name, self.recorded_by, self.nature = other.name, other.recorded_by, other.nature
        self.source = source
        self.notes = (*other.notes, *self.notes)

    def absorb(self, other: "Recording") -> None:
        """Lets another recording of the same machine answer what this one does not hold."""
        self._others.append(other)
        self.answers.update(
            (question, answer) for question, answer in other.answers.items() if question not in self.answers
        )
        self.notes = (*self.notes, *(note for note in other.notes if note not in self.notes))


class RecordedHost:
    """A host that answers through `ask`, which is given each question once: its answers are kept."""

    def __init__(self, ask: Callable[[Question], Answer]) -> None:
        self._ask = ask
        self.answers: dict[Question, Answer] = {}

    def answer(self, question: Question) -> Answer:
        """The answer to any question."""
        known = self.answers.get(question)
        if known is None:
            known = self.answers[question] = self._ask(question)
        return known

    def text(self, path: str) -> Answer:
        return self.answer(Question("text", path))

    def data(self, path: str) -> Answer:
        return self.answer(Question("data", path))

    def names(self, path: str) -> Answer:
        answer = self.answer(Question("names", path))
        if answer.known and not (isinstance(answer.value, list) and all(isinstance(one, str) for one in answer.value)):
            return Answer(None, "failed", "the recording holds no listing of it")  # it may have been edited
        return answer

    def link(self, path: str) -> Answer:
        return self.answer(Question("link", path))

    def command(self, arguments: Sequence[str]) -> Answer:
        return self.answer(question_of_command(arguments))

    def library(self, name: str, method: str, *arguments: object) -> Answer:
        return self.answer(question_of_call(name, method, arguments))

    def process(self, name: str) -> Answer:
        answer = self.answer(Question("process", name))
        if answer.known and not isinstance(answer.value, OF_PROCESS.get(name, object)):
            return Answer(None, "failed", f"the recording holds no {name}")  # it may have been edited
        return answer

    def metadata(self, service: str, path: str) -> Answer:
        return self.answer(Question("metadata", f"{service} {path}"))

    def document(self, form: str) -> Answer:
        return self.answer(Question("document", form))


def ask_host(host: Host, question: Question) -> Answer:
    """Puts one question to a host."""
    kind, subject = question
    if kind == "command":
        return host.command(subject.split(" "))
    if kind == "library":
        return host.library(*subject.split(" "))
    if kind == "metadata":
        return host.metadata(*subject.split(" ", 1))
    return getattr(host, kind)(subject)  # type: ignore[no-any-return]


def plain(answer: Answer) -> list[Any]:
    """An answer as JSON can hold it."""
    value = list(answer.value) if isinstance(answer.value, CommandOutput) else answer.value
    return [value, answer.reason, answer.message]


def revived(question: Question, stored: Sequence[Any]) -> Answer:
    """The answer that `plain` wrote."""
    value, reason, message = stored
    if question.kind == "command" and value is not None:
        value = CommandOutput(*value)
    return Answer(value, reason, message)
