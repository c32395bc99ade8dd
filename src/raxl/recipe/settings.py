"""Everything that a recipe sets on a node, each with its value and where that comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from raxl.model.label import Label
from raxl.model.plan import KEPT, MET, NEW, UNMET, UNREAD, Setting
from raxl.model.recipe import Condition, Recipe, SetVariable
from raxl.recipe import code
from raxl.recipe.kuberay_tree import leaves, spelled

RECIPE, COMPUTED, LABELS, ENVIRONMENT = "recipe", "computed", "labels", "environment"


class Filled(NamedTuple):
    """A text of the recipe on this node."""

    value: str | None
    """None where something in it is not known."""
    is_computed: bool = False
    """Whether a value took a name's place."""
    message: str = ""
    """Of what is not known, why."""
    why: str = ""
    """What the values are: of parameters in the recipe's words."""


Fill = Callable[[str], Filled]
Holds = Callable[[Condition], str]
"""met | unmet | unknown"""


def wanted(recipe: Recipe, fill: Fill, holds: Holds, labels: Sequence[Label]) -> tuple[Setting, ...]:
    """Every setting; one whose value, or whose condition, is not known has the status `unknown`, and says why.

    `labels` are those that the node's hardware gives it: the recipe's own win.
    """
    pages = {one.id: one.url for one in recipe.source}
    unset = [
        Setting("unset", one.name, None, NEW, RECIPE, why=one.why, source=pages.get(one.source or ""))
        for one in recipe.env.unset
    ]
    given = [_filled("ray-start", name, str(value), fill) for name, value in recipe.ray.start.items()]
    amounts = [_filled("resource", name, str(value), fill) for name, value in recipe.ray.resources.items()]
    variables = [setting for one in recipe.env.set for setting in _variable(one, fill, holds, pages)]
    found = [*unset, *variables, *given, *_labels(recipe, fill, labels), *amounts, *_patched(recipe, fill)]
    return tuple(_judged(one) for one in found)


def gaps(settings: Sequence[Setting]) -> list[Setting]:
    """Those that nothing can be written of, because their value is not known."""
    return [one for one in settings if one.value is None and one.status == UNREAD and one.kind != "unset"]


def _variable(one: SetVariable, fill: Fill, holds: Holds, pages: Mapping[str, str]) -> Iterator[Setting]:
    wanted_here = holds(one.when) if one.when else MET
    if wanted_here == UNMET:
        return
    if one.value is None:
        setting = Setting("env", one.name, None, KEPT, RECIPE, message=one.unverified or "nobody published a value")
    elif wanted_here == UNREAD and one.when:
        setting = Setting(
            "env", one.name, None, UNREAD, RECIPE, message=f"{one.when.fact} decides it, and is not known"
        )
    else:
        setting = _filled("env", one.name, one.value, fill)
    yield replace(setting, why=one.why, source=pages.get(one.source or ""), scope=one.scope)


def _filled(kind: str, name: str, text: str, fill: Fill) -> Setting:
    told = fill(text)
    origin = COMPUTED if told.is_computed else RECIPE
    status = UNREAD if told.value is None else NEW
    return Setting(kind, name, told.value, status, origin, message=told.message, why=told.why)


def _labels(recipe: Recipe, fill: Fill, labels: Sequence[Label]) -> list[Setting]:
    found = {one.key: Setting("label", one.key, one.value, NEW, LABELS, why=one.message) for one in labels}
    for key, text in recipe.ray.labels.items():
        found[key] = _filled("label", key, text, fill)
    return list(found.values())


def _patched(recipe: Recipe, fill: Fill) -> Iterator[Setting]:
    """A setting for each leaf of the KubeRay patch, judged as it is written and as it is filled."""
    reasons = {
        **dict(code.in_patch(_in_place(recipe.kuberay.patch, fill))),
        **dict(code.in_patch(recipe.kuberay.patch)),
    }
    for path, value in leaves(recipe.kuberay.patch) if recipe.kuberay.patch else ():
        name = spelled(path)
        if isinstance(value, str):
            setting = _filled("kuberay", name, value, fill)
        else:
            setting = Setting("kuberay", name, json.dumps(value), NEW, RECIPE)
        reason = next((why for whole, why in reasons.items() if path[: len(whole)] == whole), None)
        yield _loading(setting, reason)


def _in_place(value: Any, fill: Fill) -> Any:
    """The patch with its texts filled, as far as they can be."""
    if isinstance(value, Mapping):
        return {key: _in_place(below, fill) for key, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [_in_place(below, fill) for below in value]
    told = fill(value).value if isinstance(value, str) else None
    return value if told is None else told


def _judged(one: Setting) -> Setting:
    """With what it could make a process load or run."""
    if one.kind == "unset":
        return _loading(one, code.unguards(one.name))
    if one.kind == "env":
        return _loading(one, code.loads_code_variable(one.name, one.value))
    return _loading(one, code.loads_code_flag(one.name, one.value)) if one.kind == "ray-start" else one


def _loading(one: Setting, reason: str | None) -> Setting:
    return replace(one, loads_code=True, message=reason) if reason else one
