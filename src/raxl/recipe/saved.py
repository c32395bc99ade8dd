"""Plans that were saved, and what became of the node since. Nothing that a saved plan says is taken on trust: its
recipe is read like any other and planned again here, and the two plans are held against each other."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from raxl.errors import RecipeError, UnreadableInput
from raxl.model import codec, printable
from raxl.model.plan import PLAN, REMOVED, SAME, Plan, PlanDocument, PlannedFile
from raxl.model.recipe import Shelved, Value
from raxl.recipe import load

LARGEST = 1 << 24
_BLANKS = b" \t\r\n"
_MOST = 3
"""Facts that are named of those that changed."""
_LONGEST = 80
_AGAIN = "Make a new plan: raxl recipe plan {name} --format json --output FILE"


def looks_like_plan(path: Path) -> bool:
    """Whether a file is JSON rather than a recipe's YAML: it begins with a brace."""
    return _content(path, 4096).lstrip(_BLANKS).startswith(b"{")


def read(path: Path) -> PlanDocument:
    """The plans of a file. Raises UnreadableInput where it cannot be read, RecipeError where it holds none."""
    content = _content(path, LARGEST + 1)
    if len(content) > LARGEST:
        raise RecipeError(f"{path} is no plan", f"it is larger than {LARGEST >> 20} MiB")
    try:
        document = codec.decode(content.decode(), PlanDocument)
    except ValueError as error:
        raise RecipeError(f"{path} is no plan", _short(str(error))) from error
    if document.schema != PLAN:
        raise RecipeError(f"{path} is no plan", f"its schema is {_short(document.schema)}, not {PLAN}")
    if not document.plans:
        raise RecipeError(f"{path} holds no plan")
    return document


def of_node(document: PlanDocument, node: str) -> Plan:
    """The plan that was made for this node. Raises RecipeError where none was."""
    for one in document.plans:
        if one.node == node:
            return one
    names = ", ".join(_short(one.node) for one in document.plans[:_MOST])
    raise RecipeError(f"the plan is for {names}, and this is {_short(node)}", try_=_again(document.plans[0]))


def recipe_of(plan: Plan) -> Shelved:
    """The plan's recipe, every word of it held like that of a file. Raises RecipeError where it is broken, or not the
    one that the plan was made of."""
    shelved = load.checked(plan.recipe, plan.origin)
    if shelved.sha256 != plan.recipe_sha256:
        raise RecipeError("the plan was edited", "its recipe is not the one that it was made of", _again(plan))
    return shelved


def compare(saved: Plan, now: Plan) -> None:
    """Raises RecipeError where the node, what is in force there or the plan itself is no longer as it was saved.

    `now` is the plan of the saved one's recipe, made on this node. Files that are in force already as the plan says
    them are no change: a plan may be applied twice.
    """
    if saved.root != now.root:
        raise RecipeError(
            f"the plan is for the root {_short(saved.root)}", f"this one is {now.root}", "Name it: --root"
        )
    changed = list(_changed_facts(saved, now))
    if changed:
        more = f" and {len(changed) - _MOST} more" if len(changed) > _MOST else ""
        raise RecipeError(f"stale plan: {'; '.join(changed[:_MOST])}{more}", try_=_again(now))
    if saved.facts_sha256 != now.facts_sha256:
        raise RecipeError("the plan was edited", "its facts do not have the hash that it says", _again(now))
    theirs = {one.path: one for one in saved.files if one.after_sha256 is not None or one.status != REMOVED}
    ours = {one.path: one for one in now.files if one.after_sha256 is not None}
    for path in (*ours, *(path for path in theirs if path not in ours)):
        if not _says_the_same(theirs.get(path), ours.get(path)):
            why = "it was edited, or another raxl made it"
            raise RecipeError(f"{_short(path)} of the plan does not follow from its recipe", why, _again(now))
    for path in _changed_files(saved, now):
        raise RecipeError(f"stale plan: {_short(path)} is not in force as it was then", try_=_again(now))


def _changed_facts(saved: Plan, now: Plan) -> Iterator[str]:
    for path in (*now.facts, *(path for path in saved.facts if path not in now.facts)):
        before, after = _told(saved, path), _told(now, path)
        if before != after:
            yield f"{_short(path)} was {before}, is {after}"


def _told(plan: Plan, path: str) -> str:
    if path not in plan.facts:
        return "not asked"
    if path in plan.facts_unread:
        return f"not known ({_short(plan.facts_unread[path])})"
    return _short(_words(plan.facts[path]))


def _words(value: Value) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_words, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _says_the_same(theirs: PlannedFile | None, ours: PlannedFile | None) -> bool:
    if theirs is None or ours is None:
        return False
    return (theirs.content, theirs.after_sha256) == (ours.content, ours.after_sha256)


def _changed_files(saved: Plan, now: Plan) -> Iterator[str]:
    """Files that are in force otherwise than when the plan was made, and otherwise than it wants them."""
    before = {one.path: one.before_sha256 for one in saved.files}
    for one in now.files:
        if one.status != SAME and before.get(one.path) != one.before_sha256:
            yield one.path


def _again(plan: Plan) -> str:
    return _AGAIN.format(name=_short(plan.recipe.name))


def _short(text: str) -> str:
    text = printable.clean(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _content(path: Path, most: int) -> bytes:
    """So much of a regular file: a pipe or a device may never end."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableInput(f"{path} is no plan", "it is no regular file")
            return file.read(most)
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error
