"""What a rule is by which a parameter is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from raxl.model.facts import Reading
from raxl.model.problem import FAILED
from raxl.model.recipe import Value
from raxl.recipe.node_facts import NodeFacts

Options = Mapping[str, Value]


@dataclass(frozen=True)
class ParameterRule:
    """One rule."""

    name: str
    run: Callable[[NodeFacts, Options], Reading]
    """Gives the value, or the reason why there is none."""
    options: Mapping[str, str] = field(default_factory=dict)
    """By name, what it means."""
    required: tuple[str, ...] = ()
    """Options that have to be given."""

    @property
    def explanation(self) -> str:
        """What it computes, in its own words."""
        return (self.run.__doc__ or "").strip()


def number(options: Options, name: str, otherwise: float) -> float:
    """An option that is a number."""
    value = options.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def text(options: Options, name: str, otherwise: str) -> str:
    """An option that is a text."""
    value = options.get(name)
    return otherwise if value is None else str(value)


def texts(options: Options, name: str, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """An option that is a list of texts, or one alone."""
    value = options.get(name)
    if value is None:
        return otherwise
    return tuple(str(one) for one in value) if isinstance(value, tuple | list) else (str(value),)


def refused(source: str, message: str, reason: str = FAILED) -> Reading:
    """No value, for this reason."""
    return Reading(None, source, reason, message)
