"""A recipe for one node: what holds there, and every byte that would be written. Nothing is read and nothing written
here, and no clock is looked at: the same facts give the same plan."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from raxl.errors import RecipeError
from raxl.model import printable
from raxl.model.facts import Facts, Reading
from raxl.model.node import Node
from raxl.model.plan import (
    BLOCKED,
    EDITED,
    INCOMPLETE,
    MET,
    NEEDS_CODE,
    NOTHING,
    READY,
    SAME,
    UNMET,
    UNREAD,
    Candidate,
    ComparedVersion,
    ComputedValue,
    Plan,
    Precondition,
    Setting,
)
from raxl.model.recipe import BLOCK, Condition, Recipe, Shelved, Value, Version
from raxl.recipe import computed, conditions, differences, files, kuberay_recipe, load, manifest_yaml, present, settings
from raxl.recipe.generations import State
from raxl.recipe.node_facts import NodeFacts
from raxl.recipe.settings import Filled
from raxl.topology import labels

_NUMBERS = ("replicas", "minReplicas", "maxReplicas", "numOfHosts", "containerPort")
_CLOSE = 3
"""Other recipes that are told beside the plan's own."""


def plan(
    shelved: Shelved,
    candidates: Sequence[Candidate],
    node: Node,
    facts: Facts,
    node_facts: NodeFacts,
    root: Path | str,
    state: State,
    allow_code: bool = False,
    force: bool = False,
) -> Plan:
    """What the recipe would do on this node, below a root that has `state` in force.

    `candidates` are the recipes as they were held against the node, by `node_facts`. `allow_code` lets through what
    can load code, and `force` files that somebody changed. Raises RecipeError where the root has another recipe in
    force, or the recipe says what no file can hold.
    """
    recipe, root = shelved.recipe, str(root)
    _hold_root(recipe, state)
    # What other recipes asked is none of this plan's facts.
    own = NodeFacts(node, facts, node_facts.case.cluster)
    told = labels.of_node(node, node_facts.case.cluster).labels
    values = computed.values(recipe, own)
    used = {name for text in recipe.diagnose.expected.values() for name in computed.names(str(text))}

    def fill(text: str) -> Filled:
        names = computed.names(text)
        used.update(names)
        whys = [recipe.parameters[name].why if name in recipe.parameters else _told(name, own) for name in names]
        missing = computed.unfilled(text, values, own)
        return Filled(computed.filled(text, values, own), bool(names), missing, "; ".join(filter(None, whys)))

    wanted = settings.wanted(recipe, fill, lambda condition: conditions.held(condition, own).status, told)
    unknown = settings.gaps(wanted)
    patch = "" if unknown else _patch(recipe, own, values, wanted)
    after = {} if unknown else files.texts(recipe.name, root, wanted, recipe.env.unset, patch)
    there = present.Present(own.case, state.contents)
    made = Plan(
        node=node.name,
        status=READY,
        root=root,
        recipe=recipe,
        recipe_sha256=shelved.sha256,
        origin=shelved.origin,
        candidates=_candidates(recipe, candidates, own),
        preconditions=tuple(_preconditions(recipe, own)),
        computed=tuple(replace(one, is_used=one.name in used) for one in values),
        versions=tuple(_version(one, own) for one in recipe.versions),
        settings=present.held(wanted, recipe.env.unset, after, there),
        variable_files=present.files_of(own.case),
        in_force=state.generation,
        next_steps=_next_steps(shelved, root, after),
    )
    known = {path: _plain(reading.value) if reading.known else None for path, reading in own.asked.items()}
    known |= {f"label {one.key}": one.value for one in told}
    unread = {path: _why(reading) for path, reading in own.asked.items() if not reading.known}
    # Files and the recipe stay as they are: their hashes are theirs.
    clean: Plan = printable.record(replace(made, recipe=_NONE, facts=known, facts_unread=unread))
    whole = replace(
        clean,
        recipe=recipe,
        files=() if unknown else differences.planned(after, state),
        facts_sha256=facts_hash(clean.facts, clean.facts_unread),
    )
    return replace(whole, status=_status(whole, bool(state.edited) and not force, allow_code))


_NONE = Recipe("", "", "")


def facts_hash(facts: Mapping[str, Value], unread: Mapping[str, str]) -> str:
    """Of what a plan goes by: the same facts have the same one."""
    text = json.dumps({"facts": facts, "unread": unread}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _status(plan: Plan, edited: bool, allow_code: bool) -> str:
    """What stands in the way, the weightiest first: a file that would be overwritten; a requirement that is not met;
    what is not known, which no flag mends; what has to be allowed. What blocks does so even where all of it is in
    force already."""
    blocking = {one.held.status for one in plan.preconditions if one.level == BLOCK}
    if edited:
        return EDITED
    if UNMET in blocking:
        return BLOCKED
    if UNREAD in blocking or plan.candidates[0].status == UNREAD or settings.gaps(plan.settings):
        return INCOMPLETE
    if not allow_code and any(one.loads_code for one in plan.settings):
        return NEEDS_CODE
    return NOTHING if all(one.status == SAME for one in plan.files) else READY


def _hold_root(recipe: Recipe, state: State) -> None:
    if state.receipt is not None and state.receipt.recipe != recipe.name:
        raise RecipeError(
            f"{state.root} has the recipe {state.receipt.recipe} in force",
            "a root holds one recipe",
            "raxl recipe rollback takes it back; another --root keeps both",
        )


def _candidates(recipe: Recipe, candidates: Sequence[Candidate], node_facts: NodeFacts) -> tuple[Candidate, ...]:
    """The recipe itself, as it is held by the facts of this plan; then the others that match, and the closest."""
    held = tuple(conditions.held(one, node_facts) for one in recipe.match.all)
    kept = [one for one in candidates if one.recipe == recipe.name]
    status = kept[0].status if kept else MET
    own = Candidate(recipe.name, status, len(held), held)
    others = sorted(
        (one for one in candidates if one.recipe != recipe.name),
        key=lambda one: (one.status != MET, -_met(one), one.recipe),
    )
    return (own, *others[:_CLOSE])


def _met(one: Candidate) -> float:
    return sum(held.status == MET for held in one.conditions) / max(len(one.conditions), 1)


def _preconditions(recipe: Recipe, node_facts: NodeFacts) -> list[Precondition]:
    """Those that are asked for here. Where it is not known whether one is, it is met or not known."""
    found = []
    pages = {one.id: one.url for one in recipe.source}
    for one in recipe.requires:
        asked = conditions.held(one.when, node_facts) if one.when else None
        if asked and asked.status == UNMET:
            continue
        held = conditions.held(Condition(one.fact, one.op, one.value), node_facts)
        if asked and asked.status == UNREAD and held.status != MET:
            held = replace(held, status=UNREAD, message=f"whether it is asked for is not known: {asked.message}")
        found.append(Precondition(one.id, one.level, held, one.remedy, pages.get(one.source or "")))
    return found


def _version(one: Version, node_facts: NodeFacts) -> ComparedVersion:
    fact = one.fact or f"software.{one.name}"
    if one.value is None:
        reading = node_facts.read(fact)
        return ComparedVersion(one.name, None, _text(reading), UNREAD, reading.source)
    held = conditions.held(Condition(fact, "==", one.value), node_facts)
    found = None if held.found is None else str(held.found)
    status = {MET: SAME, UNMET: SAME if _is_within(found, one.value) else "differs"}.get(held.status, UNREAD)
    return ComparedVersion(one.name, one.value, found, status, held.evidence)


def _is_within(found: str | None, published: str) -> bool:
    """Whether a version is one of what was published less precisely: 595.71.05 of 595."""
    return found is not None and re.match(rf"{re.escape(published)}(?![0-9A-Za-z])", found) is not None


def _patch(recipe: Recipe, facts: NodeFacts, values: Sequence[ComputedValue], wanted: Sequence[Setting]) -> str:
    """What a KubeRay manifest is to have, as YAML; empty where the recipe has no patch."""
    if not recipe.kuberay.patch:
        return ""
    known: dict[str, Value] = {path: reading.value for path, reading in facts.asked.items() if reading.known}
    known |= {one.name: one.value for one in values}
    patch = kuberay_recipe.with_environment(kuberay_recipe.filled(recipe, known), wanted)
    return manifest_yaml.written(_typed(kuberay_recipe.named(patch)))


def _typed(tree: Any, key: str = "") -> Any:
    """The patch with a number wherever a group takes no text: what was filled is text."""
    if isinstance(tree, Mapping):
        return {name: _typed(value, str(name)) for name, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_typed(value, key) for value in tree]
    is_number = key in _NUMBERS and isinstance(tree, str) and tree.isascii() and tree.isdigit()
    return int(tree) if is_number else tree


def _next_steps(shelved: Shelved, root: str, after: Mapping[str, str]) -> tuple[str, ...]:
    name, folder = shelved.recipe.name, f"{root}/{files.CURRENT}"
    steps = [
        f". {shlex.quote(f'{folder}/{path}')}{where}"
        for scope, where in (("all", ""), ("head", "   # on the head"), ("workers", "   # on every other node"))
        if (path := files.environment_file(name, scope)) in after
    ]
    if files.ARGUMENTS in after:
        start = f"xargs -a {shlex.quote(f'{folder}/{files.ARGUMENTS}')} ray start"
        steps += [f"{start} --head", f"{start} --address=HEAD:6379   # on every other node"]
    given = name if shelved.origin == load.OWN else shelved.origin
    return (*steps, f"raxl recipe verify {shlex.quote(given)} --root {shlex.quote(root)}") if after else ()


def _told(path: str, facts: NodeFacts) -> str:
    """A fact in words: `8 accelerators`, `cpu.usable is 32`; empty where it is not known."""
    reading = facts.read(path)
    if not reading.known:
        return ""
    value, root = computed.written(_plain(reading.value)), path.removesuffix(".count")
    if root != path and root.isalpha():
        return f"{value} {root.removesuffix('s') if value == '1' else root}"
    return f"{path} is {value}"


def _text(reading: Reading) -> str | None:
    return str(reading.value) if reading.known and reading.value is not None else None


def _why(reading: Reading) -> str:
    return f"{reading.reason}: {reading.message}" if reading.message else str(reading.reason)


def _plain(value: Any) -> Value:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(one if one is None or isinstance(one, (str, int, float, bool)) else str(one) for one in value)
    return str(value)
