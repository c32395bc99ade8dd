"""A plan put in force: every byte that it says and no other, or nothing at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import replace

from raxl import __version__
from raxl.errors import CannotStart, NotDecided, RecipeError
from raxl.model import codec
from raxl.model.plan import BLOCKED, EDITED, INCOMPLETE, NEEDS_CODE, NOTHING, REMOVED, Plan
from raxl.model.printable import clean
from raxl.model.receipt import RECEIPT, Receipt, ReceiptFile
from raxl.recipe import generations, writing
from raxl.recipe.folder import LARGEST
from raxl.recipe.generations import LARGEST_RECEIPT, State

_UNCHANGED = "Nothing was changed"


def applied(plan: Plan, state: State, created: str, force: bool = False, allow_code: bool = False) -> Receipt | None:
    """Puts the plan in force below `state.root`, and gives the receipt of what is in force then. Where the plan has
    nothing to change that is the one of before, none where nothing is in force, and nothing is touched.

    `state` is what the plan was made against, `created` the time. `force` lets go of what somebody changed by hand;
    `allow_code` lets through what can load code. Raises RecipeError for a plan that may not be applied, or not any
    more, and CannotStart where the root cannot be written; then nothing was changed.
    """
    check(plan, state, force, allow_code)
    contents = _contents(plan)
    if not is_needed(plan, state):
        with contextlib.suppress(CannotStart, RecipeError):  # nobody asked for that
            writing.tidy(state)
        return state.receipt
    with writing.locked(state.root, make=True) as held:
        if generations.standing(held.folder) != state:
            raise RecipeError(f"{state.root} has changed since the plan was made", "", "Plan again")
        made = writing.ways(state.root, map(str, (*writing.sweep(held.folder), *held.going)))
        receipt = Receipt(
            schema=RECEIPT,
            raxl_version=__version__,
            applied=created,
            node=clean(plan.node),
            root=str(state.root),
            recipe=plan.recipe.name,
            recipe_sha256=plan.recipe_sha256,
            facts_sha256=plan.facts_sha256,
            previous=state.generation,
            made_folders=tuple(map(str, made)),
        )
        told = writing.put(held.folder, contents, lambda written: _encoded(receipt, state, contents, written))
        held.going.clear()
    return codec.decode(told.decode(), Receipt)


def is_needed(plan: Plan, state: State) -> bool:
    """Whether applying it would write anything. Files that somebody edited into what is planned are written once more:
    the receipt is to have them."""
    return plan.status != NOTHING or any(one.edited for one in state.files)


def check(plan: Plan, state: State, force: bool = False, allow_code: bool = False) -> None:
    """Raises RecipeError where the plan may not be applied as things stand."""
    told = f"{plan.recipe.name} cannot be applied"
    if plan.status == BLOCKED:
        raise RecipeError(told, "a requirement that blocks is not met", _UNCHANGED)
    if plan.status == INCOMPLETE:
        raise NotDecided(told, "something that it needs to know could not be read", _UNCHANGED)
    if state.edited and not force:
        raise RecipeError(state.edited_told, "", "--force puts the plan in force instead")
    if plan.status == EDITED and not force:
        raise RecipeError(told, "files had been changed by hand when it was planned", "Plan again")
    if state.receipt is not None and state.receipt.node != clean(plan.node) and plan.status != NOTHING and not force:
        raise RecipeError(
            f"what is in force below {state.root} was applied on {state.receipt.node}, and this is {clean(plan.node)}",
            "where both read the same folder, that node would have the settings of this one",
            "Give each a --root of its own; --force takes it over",
        )
    if not allow_code and (plan.status == NEEDS_CODE or any(one.loads_code for one in plan.settings)):
        names = ", ".join(one.name for one in plan.settings if one.loads_code)
        raise RecipeError(told, f"{names} can load code", "--allow-code applies it")
    if state.receipt is not None and state.receipt.recipe != plan.recipe.name:
        raise RecipeError(
            f"{state.receipt.recipe} is in force below {state.root}",
            "a root holds one recipe",
            f"Take it back first (raxl recipe rollback --root {state.root}), or give another --root",
        )
    before = {one.path: one.before_sha256 for one in plan.files if one.before_sha256 is not None}
    if plan.root != str(state.root) or plan.in_force != state.generation or before != state.sums:
        raise RecipeError(f"the plan was made when something else was in force below {state.root}", "", "Plan again")


def _contents(plan: Plan) -> dict[str, bytes]:
    """By name, the bytes of each file. Raises RecipeError for what no generation may have."""
    found: dict[str, bytes] = {}
    for one in plan.files:
        if one.status == REMOVED:
            continue
        if not generations.is_name(one.path) or one.path in found:
            raise RecipeError(f"the plan has a file {one.path[:80]!r}", "each has a plain name of its own", _UNCHANGED)
        try:
            found[one.path] = one.content.encode()
        except UnicodeEncodeError as error:
            raise RecipeError(f"{one.path} cannot be written", error.reason, _UNCHANGED) from error
        if len(found[one.path]) > LARGEST:
            raise RecipeError(f"{one.path} is larger than {LARGEST} bytes", "", _UNCHANGED)
    return found


def _encoded(
    receipt: Receipt, state: State, contents: Mapping[str, bytes], written: Mapping[str, os.stat_result]
) -> bytes:
    """The receipt's own bytes: with every file that is there, and those that are no longer."""
    files = [
        ReceiptFile(
            path,
            state.sums.get(path),
            generations.sha256(content),
            written[path].st_mode & 0o7777,
            written[path].st_uid,
            written[path].st_gid,
            content.decode(),
        )
        for path, content in contents.items()
    ]
    if state.receipt is not None:
        for one in state.receipt.files:
            if one.path in state.sums and one.path not in contents:
                files.append(ReceiptFile(one.path, state.sums[one.path], None, one.mode, one.owner, one.group))
    told = codec.encode(replace(receipt, files=tuple(files))).encode()
    if len(told) > LARGEST_RECEIPT:
        raise RecipeError("the receipt would be too large", f"{len(told)} bytes", _UNCHANGED)
    return told
