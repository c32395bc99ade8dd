"""What machines of one shape share, worked out once.

A step of assembling asks a recording some questions and computes something of the answers. Where another recording
gives every one of these questions the same answer, the step would ask the same and compute the same: its result is
taken over. So what comes out is what the plain way gives, and equal parts of many nodes are one object.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import compress
from operator import is_not
from typing import Any, NamedTuple, Protocol, TypeVar

from raxl.host import Answer, Question
from raxl.host.record import Recording
from raxl.host.replay import ReplayHost

_Result = TypeVar("_Result")
_MOST_MODELS = 128
_MOST_RESULTS = 8
_MOST_KEYS = 64
_NEAR, _UNLIKE = 0.03, 0.25
"""The share of a model's answers that may differ: up to the first it is taken as it is, over the second it is none; in
between the nearest is taken where there are several already."""
_MOST_OF_A_SIZE = 6


class Itself:
    """An object in a key of `Steps.same`: equal to nothing but itself, and kept as long as the key."""

    def __init__(self, held: object) -> None:
        self._held = held

    def __hash__(self) -> int:
        return id(self._held)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and self._held is other._held


class Steps(Protocol):
    """How the steps of assembling are taken."""

    def ask(self, name: str, step: Callable[..., _Result], *given: object) -> _Result:
        """`step(host, *given)`."""

    def same(self, name: str, key: Hashable, step: Callable[[], _Result]) -> _Result:
        """`step()`, which depends on `key` alone."""


class Plainly:
    """Each step anew."""

    def __init__(self, recording: Recording) -> None:
        self._host = ReplayHost(recording)

    def ask(self, name: str, step: Callable[..., _Result], *given: object) -> _Result:
        return step(self._host, *given)

    def same(self, name: str, key: Hashable, step: Callable[[], _Result]) -> _Result:
        return step()


class _Taken(NamedTuple):
    """A step that was taken: what it asked, what it was given, and what it gave."""

    asked: frozenset[Question]
    given: tuple[object, ...]
    result: Any


class _Model:
    """A recording that others are held against, and the steps that were taken on answers like its own."""

    def __init__(self, recording: Recording) -> None:
        self.answers = dict(recording.answers)
        self.unasked = recording.unasked
        self.taken: dict[str, list[_Taken]] = {}
        self.computed: dict[str, dict[Hashable, Any]] = {}

    def differences(self, recording: Recording) -> frozenset[Question] | None:
        """The questions that the recording answers differently; None where they are too many to be of this kind."""
        if recording.unasked != self.unasked:
            return None
        mine, others, most = self.answers, recording.answers, len(self.answers) * _UNLIKE
        if abs(len(mine) - len(others)) > most:
            return None
        unlike = compress(others, map(is_not, map(mine.get, others), others.values()))
        found = {question for question in unlike if not _is_same(mine.get(question), others[question])}
        if len(others) != len(mine) or found:
            found |= mine.keys() - others.keys()
        return frozenset(found) if len(found) <= most else None


def _is_same(a: Answer | None, b: Answer) -> bool:
    """Whether two answers are the same, and of the same types: 1 is no True."""
    return a == b and repr(a) == repr(b)


class _Alike:
    """The steps of a recording that differs from its model in some answers."""

    def __init__(self, recording: Recording, model: _Model, differences: frozenset[Question]) -> None:
        self._recording, self._model, self._differences = recording, model, differences

    def ask(self, name: str, step: Callable[..., _Result], *given: object) -> _Result:
        taken = self._model.taken.setdefault(name, [])
        for one in taken:
            if all(map(_is, one.given, given)) and one.asked.isdisjoint(self._differences):
                return one.result  # type: ignore[no-any-return]
        host = ReplayHost(self._recording)
        result = step(host, *given)
        asked = frozenset(host.answers)
        if asked.isdisjoint(self._differences):
            del taken[: len(taken) - _MOST_RESULTS + 1]
            taken.append(_Taken(asked, given, result))
        return result

    def same(self, name: str, key: Hashable, step: Callable[[], _Result]) -> _Result:
        computed = self._model.computed.setdefault(name, {})
        try:
            hash(key)
        except TypeError:  # an archive may have been edited, and hold a list where a word should stand
            return step()
        if key not in computed:
            if len(computed) >= _MOST_KEYS:
                computed.clear()
            computed[key] = step()
        return computed[key]  # type: ignore[no-any-return]


def _is(a: object, b: object) -> bool:
    return a is b


class Alike:
    """Many recordings, each held against those before it."""

    def __init__(self) -> None:
        self._models: dict[int, list[_Model]] = {}

    def steps(self, recording: Recording) -> Steps:
        """How to assemble this one. What reads further while it is asked, or was put together of several, is
        assembled plainly."""
        if type(recording) is not Recording or recording.is_composed:
            return Plainly(recording)
        models = self._models.setdefault(len(recording.answers), [])
        fitting: list[tuple[frozenset[Question], _Model]] = []
        for model in models:
            differences = model.differences(recording)
            if differences is not None:
                if len(differences) <= len(model.answers) * _NEAR:
                    return _Alike(recording, model, differences)
                fitting.append((differences, model))
        if fitting and len(models) >= _MOST_OF_A_SIZE:
            differences, model = min(fitting, key=lambda one: len(one[0]))
            return _Alike(recording, model, differences)
        model = _Model(recording)
        self._add(model, len(recording.answers))
        return _Alike(recording, model, frozenset())

    def _add(self, model: _Model, size: int) -> None:
        while sum(map(len, self._models.values())) >= _MOST_MODELS:
            oldest = next(iter(self._models))
            self._models.pop(oldest)
        self._models.setdefault(size, []).append(model)
