"""How a recipe has a node diagnosed: its checks, expectations and thresholds beside those of the command line. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from raxl.checks import Check, registry
from raxl.checks.diagnosis import Wanted
from raxl.checks.expected import KEYS
from raxl.checks.words import listed
from raxl.errors import RecipeError
from raxl.model.finding import LEVELS
from raxl.model.policy import Policy
from raxl.model.recipe import Recipe

_NUMBER = r"[0-9]{1,15}(\.[0-9]{1,15})?"

Fill = Callable[[str], "str | None"]
"""A text with its names filled on one node; None where one is not known."""


def wanted(recipe: Recipe, given: Wanted, expected: Mapping[str, str | float]) -> Wanted:
    """What is to be checked: what the recipe and the command line both leave; the policy's word before the recipe's.

    `expected` is the recipe's, filled. A recipe may leave out all checks there are: each is told with its reason.
    Raises RecipeError where it leaves none of those that the command line names, or names no check itself.
    """
    known = registry.checks()
    reached = [one for one in known if _is_asked(one, given)]
    left_out = dict(_left_out(recipe, known, reached))
    chosen = tuple(one.id for one in reached if one.id not in left_out)
    if given.only and reached and not chosen:
        raise RecipeError(
            f"the recipe {recipe.name} leaves out every check that was asked for", next(iter(left_out.values()))
        )
    thresholds = {
        name: {**recipe.diagnose.thresholds.get(name, {}), **given.policy.thresholds.get(name, {})}
        for name in dict.fromkeys((*recipe.diagnose.thresholds, *given.policy.thresholds))
    }
    policy = Policy(thresholds, {**expected, **given.policy.expected}, given.policy.suppressions)
    skip = () if chosen else tuple(left_out)  # that nothing is named asks for everything
    return given._replace(only=chosen, skip=skip, policy=policy, recipe=recipe.name, left_out=left_out)


def _is_asked(one: Check, given: Wanted) -> bool:
    """Whether the command line asks for it."""
    is_named = not given.only or _fits(one.id, given.only)
    is_reached = LEVELS.index(one.level) <= LEVELS.index(given.level)
    return is_named and is_reached and not _fits(one.id, given.skip)


def _left_out(recipe: Recipe, known: Sequence[Check], reached: Sequence[Check]) -> Iterator[tuple[str, str]]:
    """By id, each check that the recipe does not want asked, with the reason."""
    only, skip = recipe.diagnose.only, recipe.diagnose.skip
    for key, globs in (("only", only), ("skip", [one.check for one in skip])):
        for glob in globs:
            if not any(fnmatchcase(one.id, glob) for one in known):
                raise RecipeError(
                    f"the recipe {recipe.name}: diagnose.{key} {glob} matches no check", "", "Try raxl diagnose --list"
                )
    for one in reached:
        reason = next((own.why for own in skip if fnmatchcase(one.id, own.check)), None)
        if reason is not None:
            yield one.id, reason
        elif only and not _fits(one.id, only):
            yield one.id, f"the recipe looks at {listed(list(only))} alone"


def _fits(name: str, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs)


def literal(recipe: Recipe) -> dict[str, str | float]:
    """What it expects of any node: what holds no name."""
    return {name: _counted(name, value) for name, value in recipe.diagnose.expected.items() if not _has_name(value)}


def expected(recipe: Recipe, fills: Mapping[str, Fill]) -> tuple[dict[str, str | float], dict[str, str]]:
    """What it expects, filled, and by name what cannot be said, and why. `fills` is one a node.

    One word holds for all nodes: where they give different values, none is expected.
    """
    found, unsaid = literal(recipe), {}
    for name, value in recipe.diagnose.expected.items():
        if name in found or not isinstance(value, str):
            continue
        told = {node: fill(value) for node, fill in fills.items()}
        missing = [node for node, text in told.items() if text is None]
        if missing:
            unsaid[name] = f"{value} is not known on {listed(missing)}"
        elif len(set(told.values())) > 1:
            unsaid[name] = f"the nodes give {listed(sorted({text for text in told.values() if text is not None}))}"
        elif told:
            found[name] = _counted(name, next(iter(told.values())) or "")
    return found, unsaid


def _has_name(value: str | float) -> bool:
    return isinstance(value, str) and "{" in value.replace("{{", "")


def _counted(name: str, value: str | float) -> str | float:
    """A number where its key takes one: in a recipe it may be written as text, or be filled."""
    key = KEYS.get(name)
    if key is None or not isinstance(value, str) or key.holds(value) or not re.fullmatch(_NUMBER, value, re.ASCII):
        return value
    return float(value) if "." in value else int(value)
