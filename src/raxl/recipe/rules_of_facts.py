"""Rules of what a recipe rests on and asks of a node: sources, conditions, requirements, versions, parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from raxl.model.recipe import LEVELS, OPS, Condition, Parameter, Recipe, Value
from raxl.recipe import computed, node_facts
from raxl.recipe.document import Keys
from raxl.recipe.rule import Wrong, first_day, one_of, twice
from raxl.recipe.shape import did_you_mean

LONGEST_GLOB = 200
MOST_STARS = 16
"""What a glob costs grows with each."""
_SEVERAL = ("!=", "matches")
"""Operators of which a fact may have several in a match."""
_ADDRESS = re.compile(r"https://[^\s/@]+(/\S*)?")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)


def wrong(recipe: Recipe) -> Iterator[Wrong]:
    """Everything that is wrong with them."""
    yield from chain(
        _sources(recipe), _conditions(recipe), _citations(recipe), _requirements(recipe), _versions(recipe)
    )
    for name, one in recipe.parameters.items():
        yield from _parameter(("parameters", name), one)


def glob(keys: Keys, text: str) -> Iterator[Wrong]:
    """A glob that would take long to match."""
    if not text or len(text) > LONGEST_GLOB or text.count("*") > MOST_STARS:
        yield Wrong(keys, f"is to be a glob of at most {LONGEST_GLOB} characters and {MOST_STARS} stars")


def comparison(keys: Keys, op: str, value: Value) -> Iterator[Wrong]:
    """An operator and the value that it takes."""
    values = value if isinstance(value, tuple) else (value,)
    if op not in OPS:
        yield Wrong((*keys, "op"), f"is to be one of {' '.join(OPS)}, not {op[:40]!r}")
    elif op in ("present", "absent"):
        if value is not None:
            yield Wrong((*keys, "value"), f"{op} takes none")
    elif op == "in":
        if not isinstance(value, tuple) or not value or None in value:
            yield Wrong((*keys, "value"), "in takes a list of values")
    elif op == "matches":
        if not values or not all(isinstance(one, str) for one in values):
            yield Wrong((*keys, "value"), "matches takes a glob, or a list of such")
        else:
            for one in values:
                yield from glob((*keys, "value"), str(one))
    elif value is None or isinstance(value, tuple):
        yield Wrong((*keys, "value"), f"{op} takes one value")
    elif op not in ("==", "!=") and isinstance(value, bool):
        yield Wrong((*keys, "value"), f"{op} takes a number or a version")


def _sources(recipe: Recipe) -> Iterator[Wrong]:
    yield from twice(("source",), [one.id for one in recipe.source], "id")
    for place, one in enumerate(recipe.source):
        if not _ID.fullmatch(one.id):
            yield Wrong(("source", place, "id"), f"is to be a word, not {one.id[:40]!r}")
        if not _ADDRESS.fullmatch(one.url):
            yield Wrong(("source", place, "url"), "is to be an address that begins with https://")
        if first_day(one.read) is None:
            yield Wrong(("source", place, "read"), f"is to be a day like 2026-07-13, or a month, not {one.read[:40]!r}")


def _conditions(recipe: Recipe) -> Iterator[Wrong]:
    seen: set[tuple[str, str]] = set()
    for place, one in enumerate(recipe.match.all):
        yield from _condition(("match", "all", place), one)
        # The recipe with the most conditions is taken: one that says a thing twice is no closer to the node.
        if one.op not in _SEVERAL and (one.fact, one.op) in seen:
            yield Wrong(("match", "all", place), f"asks {one.fact[:80]} {one.op} once more: a condition counts once")
        seen.add((one.fact, one.op))
    for place, required in enumerate(recipe.requires):
        told = Condition(required.fact, required.op, required.value)
        yield from _condition(("requires", place), told)
        if required.when is not None:
            yield from _condition(("requires", place, "when"), required.when)
    for place, variable in enumerate(recipe.env.set):
        if variable.when is not None:
            yield from _condition(("env", "set", place, "when"), variable.when)


def _condition(keys: Keys, one: Condition) -> Iterator[Wrong]:
    yield from _fact((*keys, "fact"), one.fact)
    yield from comparison(keys, one.op, one.value)


def _fact(keys: Keys, path: str) -> Iterator[Wrong]:
    if not node_facts.is_path(path):
        yield Wrong(keys, f"{path[:80]!r} is no fact that raxl knows")


def _citations(recipe: Recipe) -> Iterator[Wrong]:
    """Each entry says what it rests on: a source that is there, or why on none."""
    known = [one.id for one in recipe.source]
    cited: list[tuple[Keys, str | None, str | None]] = []
    cited += [(("requires", place), one.source, one.unverified) for place, one in enumerate(recipe.requires)]
    cited += [(("versions", place), one.source, one.unverified) for place, one in enumerate(recipe.versions)]
    cited += [(("env", "set", place), one.source, one.unverified) for place, one in enumerate(recipe.env.set)]
    cited += [(("env", "unset", place), one.source, one.unverified) for place, one in enumerate(recipe.env.unset)]
    cited += [
        (("parameters", name), one.source, one.unverified)
        for name, one in recipe.parameters.items()
        if one.expect is not None or one.source is not None
    ]
    for keys, source, unverified in cited:
        yield from citation(keys, source, unverified, known)


def citation(keys: Keys, source: str | None, unverified: str | None, known: Sequence[str]) -> Iterator[Wrong]:
    """What an entry rests on."""
    if source is not None and source not in known:
        yield Wrong((*keys, "source"), f"there is no source {source[:60]!r}{did_you_mean(source, known)}")
    elif source is None and not unverified:
        yield Wrong(keys, "cites no source, and does not say in unverified why")


def _requirements(recipe: Recipe) -> Iterator[Wrong]:
    yield from twice(("requires",), [one.id for one in recipe.requires], "id")
    for place, one in enumerate(recipe.requires):
        if not _ID.fullmatch(one.id):
            yield Wrong(("requires", place, "id"), f"is to be a word, not {one.id[:40]!r}")
        yield from one_of(("requires", place, "level"), one.level, LEVELS)


def _versions(recipe: Recipe) -> Iterator[Wrong]:
    yield from twice(("versions",), [one.name for one in recipe.versions], "name")
    for place, one in enumerate(recipe.versions):
        if one.value is None and not one.unverified:
            yield Wrong(("versions", place), "has no value, and does not say in unverified why")
        if one.fact is not None:
            yield from _fact(("versions", place, "fact"), one.fact)
        elif not node_facts.is_path(f"software.{one.name}"):
            yield Wrong(("versions", place, "name"), f"{one.name[:60]!r} is no name of software")


def _parameter(keys: Keys, one: Parameter) -> Iterator[Wrong]:
    if (one.fact is None) == (one.rule is None):
        yield Wrong(keys, "is to have a fact or a rule, and not both")
    if one.fact is not None:
        yield from _fact((*keys, "fact"), one.fact)
    if isinstance(one.expect, Mapping) and not one.expect:
        yield Wrong((*keys, "expect"), "is empty")
    rule = computed.RULES.get(one.rule or "")
    if one.rule is not None and rule is None:
        yield Wrong(
            (*keys, "rule"), f"there is no rule {one.rule[:60]!r}{did_you_mean(one.rule, list(computed.RULES))}"
        )
        return
    for name, value in one.options.items():
        if rule is None or name not in rule.options:
            known = did_you_mean(name, list(rule.options)) if rule else ""
            yield Wrong((*keys, "options", name), f"is no option of it{known}")
        elif name == "of":
            for path in value if isinstance(value, tuple) else (value,):
                yield from _fact((*keys, "options", name), str(path))
    for name in rule.required if rule else ():
        if name not in one.options:
            yield Wrong((*keys, "options", name), "is missing")
