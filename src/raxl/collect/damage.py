"""What a plug-in does with answers that are cut off, missing, refused or nonsense."""

from __future__ import annotations

import re
import time
from typing import Callable, Iterable

from raxl.collect import merge, trial
from raxl.collect.trial import Trial
from raxl.host import Answer, CommandOutput, Question

SECONDS = 2.0
"""How long reading a recording may take at most."""
REMOVALS = 10
"""Of how many answers of different shapes each is removed once."""
_NUMBERS = re.compile(r"[0-9a-f:.]*[0-9][0-9a-f:.]*")


def failures(whole: Trial) -> Iterable[str]:
    """Each damage that makes it raise, hang or see more devices than there are."""
    count = _devices(whole)
    if whole.failure:
        yield whole.failure
        return
    for name, mangle in _WAYS.items():
        change = {question: mangle(whole.recording.answer(question)) for question in whole.asked()}
        yield from _judged(Trial(whole.tried, trial.changed(whole.recording, change), whole.functions), name, None)
    for question in _sample(whole):
        lesser = Trial(whole.tried, trial.changed(whole.recording, {}, question), whole.functions)
        yield from _judged(lesser, f"without {question.subject}", count)


def _judged(damaged: Trial, how: str, most: int | None) -> Iterable[str]:
    begun = time.monotonic()
    count = _devices(damaged)
    if damaged.failure:
        yield f"{how}: {damaged.failure}"
    elif time.monotonic() - begun > SECONDS:
        yield f"{how}: it takes {time.monotonic() - begun:.1f} s"
    elif most is not None and count > most:
        yield f"{how}: {count} devices of {most}"


def _devices(attempt: Trial) -> int:
    return len(merge.merge(attempt.report().claims))


def _sample(whole: Trial) -> list[Question]:
    shapes: dict[str, Question] = {}
    for question in whole.asked():
        if whole.recording.answer(question).known:
            shapes.setdefault(_NUMBERS.sub("#", question.subject), question)
    return list(shapes.values())[:: max(1, len(shapes) // REMOVALS)]


def _text(change: Callable[[str], str]) -> Callable[[Answer], Answer]:
    def mangle(answer: Answer) -> Answer:
        if isinstance(answer.value, str):
            return Answer(change(answer.value))
        if isinstance(answer.value, CommandOutput):
            return Answer(answer.value._replace(stdout=change(answer.value.stdout)))
        return answer

    return mangle


def _refused(reason: str, message: str) -> Callable[[Answer], Answer]:
    return lambda answer: Answer(None, reason, message)


_WAYS: dict[str, Callable[[Answer], Answer]] = {
    "cut in half": _text(lambda text: text[: len(text) // 2]),
    "empty": _text(lambda text: ""),
    "nonsense": _text(lambda text: "\x1b[31m[N/A]\r\n\x00" + text[::-1]),
    "numbers without end": _text(lambda text: re.sub(r"\d+", "9" * 5000, text, count=50)),
    "refused": _refused("not-permitted", "Permission denied"),
    "no answer": _refused("timed-out", "no answer within 2 s"),
}
