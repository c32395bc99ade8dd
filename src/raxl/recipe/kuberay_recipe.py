"""What a recipe wants of a KubeRay manifest, and where the manifest has it otherwise."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raxl.errors import RecipeError
from raxl.model.manifest import FAIL, NOTE, WARN, ManifestFinding
from raxl.model.plan import NEW, Setting
from raxl.model.recipe import Recipe, Value
from raxl.recipe import computed, kuberay_quantity, kuberay_resources, shell_text
from raxl.recipe.kuberay_groups import CONTAINERS, RAY_CONTAINER, Group
from raxl.recipe.kuberay_patch import DIRECTIVE
from raxl.recipe.kuberay_tree import Path, at, entries, leaves, mapping, spelled

_NAME = re.compile(r"\{\{|\}\}|\{([^{}]+)\}")
ENV: Path = (*RAY_CONTAINER, "env")
RAY_WORKER = "ray-worker"
SCOPES = ("all", "workers")
"""Of the environment variables that a group of workers gets."""
MISSING, DIFFERS = "missing", "differs"
"""Checks of what the recipe wants: it is not there; it is there otherwise."""


class Patch(NamedTuple):
    """What a recipe wants of each of its groups."""

    tree: dict[str, Any]
    """A strategic merge."""
    unknown: Mapping[str, str]
    """By place, the name in braces that nobody here knows the value of: it is left out of the tree."""


def wanted(recipe: Recipe, values: Mapping[str, Value]) -> Patch:
    """The recipe's own patch, with its labels."""
    unknown: dict[str, str] = {}
    tree = _filled(recipe.kuberay.patch, values, (), unknown) or {}
    labels = _filled(recipe.ray.labels, values, ("labels",), unknown) or {}
    labels = {**labels, **mapping(tree.get("labels"))}
    return Patch({**tree, "labels": labels} if labels else tree, unknown)


def filled(recipe: Recipe, values: Mapping[str, Value]) -> dict[str, Any]:
    """The same, all of it. Raises RecipeError where a value is not known."""
    patch = wanted(recipe, values)
    for place, name in patch.unknown.items():
        raise RecipeError(f"the KubeRay patch of {recipe.name} cannot be filled", f"{place}: {{{name}}} is not known")
    return patch.tree


def unconditional(recipe: Recipe, values: Mapping[str, Value]) -> list[Setting]:
    """The environment variables that the recipe sets on every node, as far as their values are known."""
    found = []
    for one in recipe.env.set:
        text = _text(one.value, values) if one.value is not None and one.when is None else None
        if isinstance(text, str):
            found.append(Setting("env", one.name, text, NEW, "recipe", scope=one.scope))
    return found


def with_environment(patch: Mapping[str, Any], settings: Sequence[Setting]) -> dict[str, Any]:
    """The patch, and what the plan sets for workers: a pod reads no environment file, so it goes into the container.

    What the patch says of a variable itself stays.
    """
    return _with_entries(
        patch,
        [
            {"name": one.name, "value": one.value}
            for one in settings
            if one.kind == "env" and one.value is not None and one.scope in SCOPES
        ],
    )


def named(patch: Mapping[str, Any]) -> dict[str, Any]:
    """The patch, whose first container has a name: without one nothing but raxl could merge it. It is the one of
    KubeRay's samples, which raxl takes for whatever the manifest calls its first container."""
    template = dict(mapping(patch.get("template")))
    spec = dict(mapping(template.get("spec")))
    first, *others = [mapping(one) for one in entries(spec.get("containers"))] or [{}]
    if not first or first.get("name"):
        return dict(patch)
    containers = [{"name": RAY_WORKER, **first}, *others]
    return {**patch, "template": {**template, "spec": {**spec, "containers": containers}}}


def without_stale(patch: Mapping[str, Any], recipe: Recipe, group: Group) -> dict[str, Any]:
    """The patch, and what it takes away of the group's container: variables that the recipe unsets, where their values
    are those that it means."""
    there = {str(mapping(one).get("name")): mapping(one).get("value") for one in entries(group.container.get("env"))}
    stale = [
        one.name
        for one in recipe.env.unset
        if isinstance(value := there.get(one.name), str) and shell_text.is_stale(one, value)
    ]
    return _with_entries(patch, [{"name": name, DIRECTIVE: "delete"} for name in stale])


def _with_entries(patch: Mapping[str, Any], env: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    template = dict(mapping(patch.get("template")))
    spec = dict(mapping(template.get("spec")))
    containers = [dict(mapping(one)) for one in entries(spec.get("containers"))] or [{}]
    own = entries(containers[0].get("env"))
    names = [mapping(one).get("name") for one in own]
    new = [one for one in env if one["name"] not in names]
    if not new:
        return dict(patch)
    containers[0]["env"] = [*own, *new]
    return {**patch, "template": {**template, "spec": {**spec, "containers": containers}}}


def _filled(value: Any, values: Mapping[str, Value], path: Path, unknown: dict[str, str]) -> Any:
    """The value with its texts filled; None in place of one that cannot be, and of an entry of a list that needs it."""
    if isinstance(value, Mapping):
        pairs = {str(key): _filled(one, values, (*path, str(key)), unknown) for key, one in value.items()}
        return {key: one for key, one in pairs.items() if one is not None or value[key] is None}
    if isinstance(value, (list, tuple)):
        found = []
        for place, one in enumerate(value):
            before = len(unknown)
            filled = _filled(one, values, (*path, place), unknown)
            # Of a container the rest stays: of a variable without its value nothing would be left that means something.
            if len(unknown) == before or path == CONTAINERS:
                found.append(filled)
        return found
    if not isinstance(value, str):
        return value
    text = _text(value, values)
    if isinstance(text, str):
        return text
    unknown[spelled(path)] = text.name
    return None


class _Unknown(NamedTuple):
    name: str


def _text(text: str, values: Mapping[str, Value]) -> str | _Unknown:
    for name in computed.names(text):
        if values.get(name) is None:
            return _Unknown(name)
    return _NAME.sub(lambda found: computed.written(values[found[1]]) if found[1] else found[0][0], text)


def groups(recipe: Recipe, workers: Sequence[Group]) -> list[Group]:
    """The groups of workers that the recipe is for: those that ask for its accelerator; where none does, the only one
    that asks for no accelerator at all."""
    key = recipe.kuberay.resource
    if key is None:
        return list(workers)
    asking = [group for group in workers if key in group.limits]
    others = [group for group in workers if not kuberay_resources.asked(group.limits)]
    return asking or (others if len(workers) == 1 else [])


def of_group(recipe: Recipe, group: Group) -> Iterator[ManifestFinding]:
    """What the recipe knows of such a group's hardware."""
    key, devices = recipe.kuberay.resource, recipe.hardware.accelerators
    if key is None:
        return
    path = (*RAY_CONTAINER, "resources", "limits", key)
    count = kuberay_quantity.whole(group.limits.get(key))
    if key not in group.limits:
        remedy = f'{key}: "{recipe.kuberay.chips_per_host or devices or 1}"'
        yield group.found(FAIL, "limits", path, f"no container limit {key}, by which {recipe.name} counts", remedy)
    elif count is not None and devices is not None and count > devices:
        told = f"a pod asks for {count} × {key}, a node of {recipe.name} has {devices}: it stays pending"
        yield group.found(FAIL, "limits", path, told, f'{key}: "{devices}"')
    elif count is not None and devices is not None and count < devices:
        told = f"a pod takes {count} of the {devices} that a node of {recipe.name} has"
        yield group.found(NOTE, "limits", path, told)


def left_out(recipe: Recipe, group: Group, unknown: Mapping[str, str]) -> Iterator[ManifestFinding]:
    """What the patch does not say, because only a node knows it."""
    for place, name in unknown.items():
        told = f"{recipe.name} wants {place}, and {{{name}}} is known on a node alone: the patch leaves it out"
        yield group.found(WARN, "unknown", (), told, "name a node of the platform: --from SNAPSHOT")


def differences(recipe: Recipe, group: Group, patched: Mapping[str, Any]) -> Iterator[ManifestFinding]:
    """What the patch changes of the group, a row each."""
    new, old = dict(leaves(patched)), dict(leaves(group.spec))
    names: list[str] = []
    for path, value in new.items():
        if path in old and old[path] == value:
            continue
        if path[: len(ENV)] == ENV:
            name = str(mapping(at(patched, path[: len(ENV) + 1])).get("name"))
            if name not in names:
                names.append(name)
                yield _variable(recipe, group, patched, name, path[: len(ENV) + 1])
        elif _entry(group.spec, path, value):
            continue  # it only stands in another place of its list
        else:
            had = at(group.spec, path)
            is_there = had is not None and not isinstance(had, (Mapping, list))
            told = f"{recipe.name} wants {spelled(path)}: {_value(value)}" + (
                f", not {_value(had)}" if is_there else ""
            )
            yield group.found(WARN, DIFFERS if is_there else MISSING, path, told)
    yield from _removed(recipe, group, patched)


def _entry(spec: Any, path: Path, value: Any) -> bool:
    around = at(spec, path[:-1]) if path else None
    return isinstance(path[-1], int) and isinstance(around, list) and value in around if path else False


def _value(value: Any) -> str:
    return str(value).lower()[:80] if isinstance(value, bool) else str(value)[:80]


def _variable(recipe: Recipe, group: Group, patched: Any, name: str, path: Path) -> ManifestFinding:
    value = mapping(at(patched, path)).get("value")
    had = next((mapping(one) for one in entries(group.container.get("env")) if mapping(one).get("name") == name), None)
    what = f"{name}={value}" if value is not None else name
    if had is None:
        told = f"{recipe.name} sets {what}, and the container does not have it"
        return group.found(WARN, MISSING, path, told)
    told = f"{recipe.name} sets {what}, the container has {str(had.get('value', 'another source'))[:80]}"
    return group.found(WARN, DIFFERS, path, told)


def _removed(recipe: Recipe, group: Group, patched: Any) -> Iterator[ManifestFinding]:
    kept = [mapping(one).get("name") for one in entries(at(patched, ENV))]
    for place, one in enumerate(entries(group.container.get("env"))):
        if (name := mapping(one).get("name")) not in kept:
            told = f"{recipe.name} unsets {name}, and the container has it"
            yield group.found(WARN, DIFFERS, (*ENV, place), told)
