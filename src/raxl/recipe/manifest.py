"""A KubeRay manifest: checked, and patched as a recipe wants it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Optional

import raxl
from raxl.errors import UnreadableInput
from raxl.model import printable
from raxl.model.manifest import (
    FAIL,
    LEVELS,
    MANIFEST,
    WARN,
    ManifestFinding,
    ManifestGroup,
    ManifestResult,
)
from raxl.model.plan import Plan, Setting
from raxl.model.recipe import Recipe, UnsetVariable, Value
from raxl.recipe import code, kuberay_check, kuberay_groups, kuberay_patch, kuberay_recipe, kuberay_resources
from raxl.recipe.kuberay_groups import Group, Object
from raxl.recipe.kuberay_tree import spelled
from raxl.recipe.manifest_yaml import read, written


def checked(
    text: str,
    origin: str,
    recipe: Optional[Recipe] = None,
    values: Optional[Mapping[str, Value]] = None,
    settings: Optional[Sequence[Setting]] = None,
) -> ManifestResult:
    """What is wrong with a manifest, and what the recipe would make of it.

    `values` are the recipe's parameters and facts on the node, `settings` those of the plan: its environment variables
    belong into the containers (without a plan, those that the recipe sets everywhere).

    Raises UnreadableInput for what is no manifest of Ray's.
    """
    objects = kuberay_groups.objects(read(text, origin))
    if not objects:
        raise UnreadableInput(f"{origin} is no KubeRay manifest", "it has no RayCluster, RayJob or RayService")
    values = dict(values or {})
    if recipe and recipe.hardware.accelerators is not None:
        values.setdefault("accelerators.count", recipe.hardware.accelerators)
    if recipe and settings is None:
        settings = kuberay_recipe.unconditional(recipe, values)
    own = kuberay_recipe.wanted(recipe, values) if recipe else kuberay_recipe.Patch({}, {})
    patch = kuberay_recipe.with_environment(own.tree, settings or ())
    found: list[ManifestFinding] = []
    groups: list[ManifestGroup] = []
    for one in objects:
        found += kuberay_check.of_object(one)
        if one.kind in kuberay_groups.CLUSTER_AT:
            for group, finding in _groups(one, recipe, patch, own.unknown):
                groups.append(group)
                found += finding
    found.sort(key=lambda one: LEVELS.index(one.level))
    worst = found[0].level if found else ""
    result = ManifestResult(
        MANIFEST,
        raxl.__version__,
        origin,
        worst if worst in (FAIL, WARN) else "ok",
        recipe.name if recipe else None,
        tuple(groups),
        tuple(found),
        patch,
        written(patch) if patch else "",
        _loads_code(own.tree, settings or (), recipe.env.unset if recipe else ()),
    )
    return _harmless(result)


def for_plan(text: str, origin: str, plan: Plan) -> ManifestResult:
    """The same for a plan: its recipe, with the values that it has on the node."""
    values = {**plan.facts, **{one.name: one.value for one in plan.computed}}
    return checked(text, origin, plan.recipe, values, plan.settings)


def _harmless(result: ManifestResult) -> ManifestResult:
    """With every text clean; those that are YAML keep their lines."""
    groups = tuple(
        replace(printable.record(one), diff=_lines(one.diff), patched=_lines(one.patched)) for one in result.groups
    )
    clean: ManifestResult = printable.record(result)
    return replace(clean, groups=groups, patch_text=_lines(result.patch_text))


def _lines(text: str) -> str:
    return "".join(f"{printable.clean(line)}\n" for line in text.splitlines())


def _groups(
    one: Object, recipe: Optional[Recipe], patch: Mapping[str, Any], unknown: Mapping[str, str]
) -> Iterator[tuple[ManifestGroup, list[ManifestFinding]]]:
    groups = kuberay_groups.of(one)
    meant = kuberay_recipe.groups(recipe, [group for group in groups if not group.is_head]) if recipe else []
    for group in groups:
        if recipe is None or group not in meant:
            yield _described(group), list(kuberay_check.of_group(group))
        else:
            described, found = _patched(group, recipe, kuberay_recipe.without_stale(patch, recipe, group))
            yield described, [*found, *kuberay_recipe.left_out(recipe, group, unknown)]


def _patched(group: Group, recipe: Recipe, patch: Mapping[str, Any]) -> tuple[ManifestGroup, list[ManifestFinding]]:
    """The group with the recipe's patch, what is wrong with it as it stands, and what the patch leaves wrong."""
    chips = recipe.kuberay.chips_per_host
    found = [*kuberay_check.of_group(group, chips), *kuberay_recipe.of_group(recipe, group)]
    spec = kuberay_patch.merged(group.spec, patch)
    after = Group(group.owner, group.path, spec, False, is_patched=True)
    known = {one.message for one in found}
    for one in kuberay_check.of_group(after, chips):
        if one.level == FAIL and one.message not in known:
            found.append(one)
    found += kuberay_recipe.differences(recipe, group, spec)
    old, new = written(group.spec), written(spec)
    title = f"{group.owner.title} {group.where}"
    diff = kuberay_patch.difference(old, new, title)
    return _described(group, True, diff, new if diff else ""), found


def _described(group: Group, is_for_recipe: bool = False, diff: str = "", patched: str = "") -> ManifestGroup:
    limits = {one.key: one.number for one in kuberay_resources.asked(group.limits) if one.number is not None}
    return ManifestGroup(
        group.owner.title,
        group.where,
        group.name,
        group.line() or 1,
        group.is_head,
        group.pods,
        limits,
        {name: amount for name, amount in kuberay_resources.registered(group).amounts.items() if amount},
        is_for_recipe,
        diff,
        patched,
    )


def _loads_code(
    patch: Mapping[str, Any], settings: Sequence[Setting], unset: Sequence[UnsetVariable]
) -> dict[str, str]:
    """By place of the patch, or name of a variable, why it needs to be allowed."""
    found = {spelled(path): why for path, why in code.in_patch(patch)}
    found |= {one.name: why for one in unset if (why := code.unguards(one.name))}
    for one in settings:
        if (
            one.kind == "env"
            and one.scope in kuberay_recipe.SCOPES
            and (why := code.loads_code_variable(one.name, one.value))
        ):
            found[one.name] = why
    return found
