"""Which recipe is for a node: the one that sets the most conditions, all of which are met. Nothing is guessed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches

from raxl.errors import NotDecided, RecipeError
from raxl.model import printable
from raxl.model.plan import MET, UNMET, UNREAD, Candidate, HeldCondition
from raxl.model.recipe import Recipe, Shelved, Value
from raxl.recipe.conditions import held
from raxl.recipe.node_facts import NodeFacts

_ORDER = (MET, UNREAD, UNMET)
_LONGEST = 120


def candidates(recipes: Sequence[Shelved], facts: NodeFacts, asked: str | None = None) -> list[Candidate]:
    """Every recipe that is no layer, held against the node: the one asked for first, then those that fit, the most
    specific first, those of which it is not known, and the rest, the closest first.

    `asked`: a recipe's name, or the file that it lies in.
    """
    return [one for _, one in _ranked(recipes, facts, asked)]


def chosen(recipes: Sequence[Shelved], facts: NodeFacts, asked: str | None = None) -> tuple[Shelved, list[Candidate]]:
    """The recipe that is for the node, and all candidates with it first.

    One that was asked for may be returned while a condition is not known: its candidate says so. Raises RecipeError
    where it is for other hardware, where none fits, or two fit equally well; NotDecided where nobody can tell.
    """
    ranked = _ranked(recipes, facts, asked)
    if asked is not None:
        return _asked_for(recipes, ranked, asked)
    fitting = [pair for pair in ranked if pair[1].status == MET]
    open_ = [one for _, one in ranked if one.status == UNREAD]
    if not fitting:
        raise _none_fits([one for _, one in ranked], open_)
    best = fitting[0]
    equal = [one.recipe for _, one in fitting if one.score == best[1].score]
    if len(equal) > 1:
        raise RecipeError(
            f"{' and '.join(equal)} fit this node equally well",
            f"{best[1].score} conditions each",
            f"Name one: raxl recipe plan {equal[0]}",
        )
    rival = next((one for one in open_ if len(one.conditions) >= best[1].score), None)
    if rival is not None:
        raise NotDecided(
            f"{best[1].recipe} fits this node, and whether {rival.recipe} fits it better is not known",
            _first(rival, UNREAD),
            f"Name one: raxl recipe plan {best[1].recipe}",
        )
    return best[0], [one for _, one in ranked]


def words(one: HeldCondition) -> str:
    """`accelerators.count == 8 is not met: found 7`."""
    wanted = f"{one.fact} {one.op}" + ("" if one.value is None else f" {_told(one.value)}")
    if one.status == MET:
        return f"{wanted}: found {_told(one.found)}"
    if one.status == UNREAD:
        return _cut(f"{wanted} is not known: {one.message}")
    found = one.message if one.found is None and one.message else f"found {_told(one.found)}"
    more = f" ({one.message})" if one.message and one.message not in found else ""
    return _cut(f"{wanted} is not met: {found}{more}")


def _ranked(recipes: Sequence[Shelved], facts: NodeFacts, asked: str | None) -> list[tuple[Shelved, Candidate]]:
    pairs = [(one, _candidate(one, facts, asked)) for one in recipes if not one.recipe.layer]
    return sorted(pairs, key=lambda pair: (not _is_asked(pair[0], asked), *_worth(pair[1])))


def _worth(one: Candidate) -> tuple[int, float, int, str]:
    # One without conditions comes close to nothing.
    failed = sum(condition.status == UNMET for condition in one.conditions) or math.inf
    return _ORDER.index(one.status), failed if one.status == UNMET else 0, -one.score, one.recipe


def _candidate(shelved: Shelved, facts: NodeFacts, asked: str | None) -> Candidate:
    recipe: Recipe = shelved.recipe
    told = tuple(held(condition, facts) for condition in recipe.match.all)
    statuses = {one.status for one in told}
    status = UNMET if UNMET in statuses or not told else UNREAD if UNREAD in statuses else MET
    if recipe.match.by_name and _is_asked(shelved, asked):
        status = MET
    return Candidate(recipe.name, status, sum(one.status == MET for one in told), told)


def _is_asked(shelved: Shelved, asked: str | None) -> bool:
    return asked is not None and asked in (shelved.recipe.name, shelved.origin)


def _asked_for(
    recipes: Sequence[Shelved], ranked: Sequence[tuple[Shelved, Candidate]], asked: str
) -> tuple[Shelved, list[Candidate]]:
    name = printable.clean(asked)[:_LONGEST]
    if not any(_is_asked(one, asked) for one in recipes):
        near = get_close_matches(asked, [one.recipe.name for one in recipes if not one.recipe.layer], n=1)
        step = f"Did you mean {near[0]}? raxl recipe list names all" if near else "Try raxl recipe list"
        raise RecipeError(f"no recipe is called {name}", try_=step)
    mine = [pair for pair in ranked if _is_asked(pair[0], asked)]
    if not mine:
        raise RecipeError(f"{name} is a layer", "it is only there to be extended", "Try raxl recipe list")
    if len(mine) > 1:
        files = " and ".join(one.origin for one, _ in mine)
        raise RecipeError(f"{len(mine)} recipes are called {name}", files, "Name the file")
    if mine[0][1].status == UNMET:
        raise RecipeError(f"{name} is for other hardware", _first(mine[0][1], UNMET), "Try raxl recipe plan")
    return mine[0][0], [one for _, one in ranked]


def _none_fits(every: Sequence[Candidate], open_: Sequence[Candidate]) -> RecipeError:
    if open_:
        nearest = open_[0]
        return NotDecided(
            f"no recipe is known to fit this node; whether {nearest.recipe} does is not known",
            _first(nearest, UNREAD),
            f"Name it, if it is for this node: raxl recipe plan {nearest.recipe}",
        )
    if not every:
        return RecipeError("there is no recipe to choose from", try_="Try raxl recipe list")
    nearest = every[0]
    return RecipeError(
        f"no recipe fits this node; {nearest.recipe} comes closest", _first(nearest, UNMET), "Try raxl recipe list"
    )


def _first(one: Candidate, status: str) -> str:
    """The first condition of that status in words."""
    told = next((condition for condition in one.conditions if condition.status == status), None)
    return words(told) if told is not None else "it says for no hardware that it is"


def _told(value: Value) -> str:
    if isinstance(value, tuple):
        return _cut(", ".join(_told(one) for one in value))
    return _cut("none" if value is None else str(value).lower() if isinstance(value, bool) else str(value))


def _cut(text: str) -> str:
    text = printable.clean(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
