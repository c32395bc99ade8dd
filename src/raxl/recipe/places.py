"""Where each setting of a recipe is made, and to what: in the files in force, in processes, in Ray's own view. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from raxl.checks.library_files import is_own
from raxl.model.cluster import RayNode
from raxl.model.facts import NOT_READ, Facts
from raxl.model.plan import KEPT, UNREAD, Plan, Setting
from raxl.model.verification import DIFFERS, MISSING, OVERRIDDEN, SAME, UNKNOWN, Place, VerifiedSetting
from raxl.recipe import files, shell_text

_ORDER = (DIFFERS, MISSING, UNKNOWN, SAME, OVERRIDDEN)
_AMOUNTS = {"num-cpus": "CPU", "num-gpus": "GPU", "memory": "memory", "object-store-memory": "object_store_memory"}
"""Flags of `ray start` that a raylet registers, and as what."""
_OF_HEAD = "head"
_RAYLET = " (raylet)"


class Seen(NamedTuple):
    """What was read of one node."""

    contents: Mapping[str, str] | None
    """By path, the files in force; None where nothing is, or where it is not known."""
    facts: Facts
    ray: RayNode | None = None


def settings(plan: Plan, seen: Seen) -> tuple[VerifiedSetting, ...]:
    """Each of the plan's settings, with every place that was looked at."""
    return tuple(
        _verified(one, list(_PLACES[one.kind](one, plan, seen)))
        for one in plan.settings
        if one.kind in _PLACES and one.status != KEPT
    )


def _verified(one: Setting, places: Sequence[Place]) -> VerifiedSetting:
    statuses = [place.status for place in places]
    status = min(statuses, key=_ORDER.index, default=UNKNOWN)
    if one.value is None and one.status == UNREAD and one.kind != "unset":
        status = UNKNOWN
    return VerifiedSetting(
        one.kind, one.name, one.value, status, one.origin, one.scope, one.why, one.source, tuple(places)
    )


def _variable(one: Setting, plan: Plan, seen: Seen) -> Iterator[Place]:
    if seen.contents is not None:
        path = files.environment_file(plan.recipe.name, one.scope)
        own = files.variables_in(seen.contents.get(path, ""))
        yield _in_file(path, own.get(one.name), one.value)
    is_set = is_missing = False
    for where, variables, is_whole in _environments(one, seen):
        if one.name in variables:
            is_set = True
            yield _place(where, variables[one.name], one.value)
        elif is_whole:
            is_missing = True
            yield Place(where, None, MISSING)
    for where, value in _library_files(one):
        if is_set or (seen.contents is not None and not is_missing):
            yield Place(where, value, OVERRIDDEN)
        else:
            yield _place(where, value, one.value)


def _library_files(one: Setting) -> list[tuple[str, str]]:
    """Each of NCCL's own files that sets the variable, and to what."""
    return [(place.where, place.value) for place in one.set_in if place.is_file]


def _unset(one: Setting, plan: Plan, seen: Seen) -> Iterator[Place]:
    """A variable that is to go; one whose value is not the one that goes may stay."""
    if seen.contents is not None:
        path = files.environment_file(plan.recipe.name, one.scope)
        says = one.name in files.variables_in(seen.contents.get(path, ""))
        yield Place(path, None, SAME if says else MISSING, True)
    rule = next((own for own in plan.recipe.env.unset if own.name == one.name), None)
    for where, variables, is_whole in _environments(one, seen):
        if one.name in variables:
            value = variables[one.name]
            goes = rule is None or shell_text.is_stale(rule, value)
            yield Place(where, value, DIFFERS if goes else SAME)
        elif is_whole:
            yield Place(where, None, SAME)
    for where, value in _library_files(one):
        yield Place(where, value, DIFFERS if rule is None or shell_text.is_stale(rule, value) else SAME)
    for file in plan.variable_files if is_own(one.name) else ():
        if file.status == UNREAD:
            yield Place(file.path, None, UNKNOWN)


def _environments(one: Setting, seen: Seen) -> Iterator[tuple[str, Mapping[str, str], bool]]:
    """The source of each environment, its variables, and whether one that it lacks is not set there.

    A shell from which raxl runs need not have sourced the file; a raylet has to.
    """
    own = seen.facts.environment
    raylets = [
        one for one in seen.facts.processes.get("raylets", NOT_READ).value or () if one["environment"] is not None
    ]
    # In a cluster a raylet's own child asks; of several raylets nothing else says which one Ray's view is of.
    is_child = seen.ray is not None and len(raylets) != 1
    is_kept = re.fullmatch(seen.facts.kept_variables, one.name) is not None
    is_for_node = one.scope == "all" or (seen.ray is not None and seen.ray.is_head is (one.scope == _OF_HEAD))
    if own.known:
        yield f"{own.source}{_RAYLET if is_child else ''}", own.value, is_child and is_for_node and is_kept
    for raylet in raylets if is_for_node and not is_child else ():
        yield f"/proc/{raylet['pid']}/environ{_RAYLET}", raylet["environment"], is_kept


def _flag(one: Setting, plan: Plan, seen: Seen) -> Iterator[Place]:
    if seen.contents is not None:
        own = files.arguments_in(seen.contents.get(files.ARGUMENTS, ""))
        yield _in_file(files.ARGUMENTS, own.get(one.name), one.value)
    if seen.ray is not None and seen.ray.resources and one.name in _AMOUNTS:
        yield _amount(_AMOUNTS[one.name], one, seen.ray.resources)


def _resource(one: Setting, plan: Plan, seen: Seen) -> Iterator[Place]:
    if seen.contents is not None:
        told = files.arguments_in(seen.contents.get(files.ARGUMENTS, "")).get("resources", "{}")
        yield _in_file(files.ARGUMENTS, _amounts(told).get(one.name), one.value, _is_equal)
    if seen.ray is not None and seen.ray.resources:
        yield _amount(one.name, one, seen.ray.resources)


def _label(one: Setting, plan: Plan, seen: Seen) -> Iterator[Place]:
    if seen.contents is not None:
        yield _in_file(files.LABELS, files.labels_in(seen.contents.get(files.LABELS, "")).get(one.name), one.value)
    if seen.ray is not None and seen.ray.labels:
        yield _place("Ray's labels", seen.ray.labels.get(one.name), one.value)


_PLACES: Mapping[str, Callable[[Setting, Plan, Seen], Iterator[Place]]] = {
    "env": _variable,
    "unset": _unset,
    "ray-start": _flag,
    "resource": _resource,
    "label": _label,
}
"""By kind of setting, where it is looked for."""


def _amount(name: str, one: Setting, resources: Mapping[str, float]) -> Place:
    """What Ray registered: of what it has none of, it says nothing."""
    return _place("Ray's resources", f"{resources.get(name, 0.0):.15g}", one.value, _is_equal)


def _amounts(text: str) -> dict[str, str]:
    try:
        told: Any = json.loads(text)
    except ValueError:
        return {}
    return {str(name): str(value) for name, value in told.items()} if isinstance(told, dict) else {}


def _place(where: str, value: str | None, wanted: str | None, equal: Callable[[str, str], bool] = str.__eq__) -> Place:
    if value is None:
        return Place(where, None, MISSING)
    return Place(where, value, SAME if wanted is not None and equal(value, wanted) else DIFFERS)


def _in_file(path: str, value: str | None, wanted: str | None, equal: Callable[[str, str], bool] = str.__eq__) -> Place:
    return replace(_place(path, value, wanted, equal), is_applied=True)


def _is_equal(value: str, wanted: str) -> bool:
    try:
        return float(value) == float(wanted)
    except ValueError:
        return value == wanted
