"""What was applied last, taken back: the tree is then as it was before."""

from __future__ import annotations

import contextlib

from raxl.errors import RecipeError
from raxl.model.receipt import Receipt
from raxl.recipe import generations, writing
from raxl.recipe.folder import opened
from raxl.recipe.generations import State


def before(state: State) -> State:
    """What would be in force after a rollback: the generation before, as it lies there; nothing after the first.

    Raises RecipeError where that generation is gone or damaged.
    """
    if state.receipt is None or state.receipt.previous is None:
        return State(state.root)
    with generations.reading(state.root), opened(state.root) as folder:
        return generations.generation(folder, state.receipt.previous)


def rolled_back(state: State, force: bool = False) -> Receipt | None:
    """Takes back what is in force, and gives its receipt; None where nothing was.

    Of what goes, only files that are as they were applied are removed, unless `force` is set; what somebody put there
    stays in any case. Raises RecipeError where it cannot be told that the tree would be as before, CannotStart where
    the root cannot be written; then nothing was changed.
    """
    if state.receipt is None:
        writing.tidy(state)
        return None
    check(state, force)
    with writing.locked(state.root) as held:
        if generations.standing(held.folder) != state:
            raise RecipeError(f"{state.root} has changed meanwhile", "", "Try again")
        writing.switch(held.folder, state.receipt.previous)
        with contextlib.suppress(OSError, RecipeError):  # what cannot be removed now is told by whoever looks next
            held.going.extend(writing.sweep(held.folder, undone=state.generation))
    return state.receipt


def check(state: State, force: bool = False) -> None:
    """Raises RecipeError where something was changed by hand that a rollback would lose, or not bring back."""
    if state.receipt is None or force:
        return
    if state.edited:
        raise RecipeError(state.edited_told, "", "--force goes back nevertheless: those changes are lost")
    was = {one.path: one.before_sha256 for one in state.receipt.files if one.before_sha256 is not None}
    found = before(state)
    if found.sums != was:
        told = f"the generation before, {found.generation}, is not as it was left"
        raise RecipeError(told, "", "--force goes back to it as it is")
