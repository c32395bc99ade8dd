"""Rules of every text of a recipe: nothing is invisible, ends a line or is endless, and each `{name}` is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from raxl.model.recipe import Recipe
from raxl.recipe import computed, node_facts
from raxl.recipe.document import Keys
from raxl.recipe.rule import Wrong
from raxl.recipe.shape import did_you_mean

LONGEST = 4096
_PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,62}", re.ASCII)


def wrong(recipe: Recipe) -> Iterator[Wrong]:
    """Everything that is wrong with its texts."""
    for keys, text in texts(recipe):
        if (what := unprintable(text)) is not None:
            yield Wrong(keys, what)
        elif len(text) > LONGEST:
            yield Wrong(keys, f"is longer than {LONGEST} characters")
    for name in recipe.parameters:
        if not _PARAMETER.fullmatch(name):
            yield Wrong(("parameters", name), "is to be called by a-z, 0-9 and _, a letter first")
    for keys, text in filled(recipe):
        yield from _holes(keys, text, recipe)


def texts(value: Any, keys: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Every text within, keys of mappings among them, with its place."""
    if isinstance(value, str):
        yield keys, value
    elif is_dataclass(value):
        for one in fields(value):
            yield from texts(getattr(value, one.name), (*keys, one.name))
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield (*keys, str(key)), str(key)
            yield from texts(below, (*keys, str(key)))
    elif isinstance(value, (list, tuple)):
        for place, below in enumerate(value):
            yield from texts(below, (*keys, place))


def filled(recipe: Recipe) -> Iterator[tuple[Keys, str]]:
    """The texts in which a `{name}` is filled."""
    for place, one in enumerate(recipe.env.set):
        if one.value is not None:
            yield ("env", "set", place, "value"), one.value
    yield from _values(recipe.ray.start, ("ray", "start"))
    yield from _values(recipe.ray.labels, ("ray", "labels"))
    yield from _values(recipe.ray.resources, ("ray", "resources"))
    yield from _values(recipe.kuberay.patch, ("kuberay", "patch"))
    yield from _values(recipe.diagnose.expected, ("diagnose", "expected"))


def has_holes(text: str) -> bool:
    """Whether something is to be filled in, or cannot be."""
    try:
        return bool(computed.names(text))
    except ValueError:
        return True


def unprintable(text: str) -> str | None:
    """What of the text cannot be seen; None where all of it can."""
    if text.isprintable():
        return None
    first = next(one for one in text if not one.isprintable())
    if first in "\n\r\x85\u2028\u2029":
        return "has a line break: it is to be one line"
    return f"holds a character that cannot be seen, U+{ord(first):04X}"


def _values(value: Any, keys: Keys) -> Iterator[tuple[Keys, str]]:
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _values(below, (*keys, str(key)))
    elif isinstance(value, (list, tuple)):
        for place, below in enumerate(value):
            yield from _values(below, (*keys, place))


def _holes(keys: Keys, text: str, recipe: Recipe) -> Iterator[Wrong]:
    try:
        names = computed.names(text)
    except ValueError:
        yield Wrong(keys, "has a brace that stands alone: a brace itself is written twice")
        return
    for name in names:
        if name not in recipe.parameters and not node_facts.is_path(name):
            near = did_you_mean(name, list(recipe.parameters)) if recipe.parameters else ""
            yield Wrong(keys, f"{{{name[:80]}}} is neither a parameter nor a fact{near}")
