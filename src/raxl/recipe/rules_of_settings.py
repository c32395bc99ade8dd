"""Rules of what a recipe sets: variables, what `ray start` is given, labels, the KubeRay patch, how it is diagnosed."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain

from raxl.checks import expected, registry
from raxl.model.recipe import (
    SCOPES,
    Diagnosis,
    Environment,
    KubeRay,
    RayStart,
    Recipe,
    SetVariable,
    UnsetVariable,
)
from raxl.recipe import code
from raxl.recipe.document import Keys
from raxl.recipe.rule import Wrong, one_of, twice
from raxl.recipe.rules_of_facts import comparison, glob
from raxl.recipe.rules_of_texts import has_holes
from raxl.recipe.shape import did_you_mean

_SHELL_OPS = ("present", "==", "!=", "in", "matches")
"""Questions about a variable that a line of a shell can ask."""
_NUMBERS = re.compile(r"num-.*|memory|object-store-memory|port|(min|max)-worker-port|.*-port")
"""Flags that take a number."""
_LABEL_PART = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
_LABEL_PREFIX = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII)
_RESOURCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,126}", re.ASCII)
_OF_RAY = {
    "CPU": "num-cpus",
    "GPU": "num-gpus",
    "memory": "memory",
    "object_store_memory": "object-store-memory",
}
"""Resources that have a flag of their own."""


def wrong(recipe: Recipe) -> Iterator[Wrong]:
    """Everything that is wrong with them."""
    yield from chain(_environment(recipe.env), _ray(recipe.ray), _kuberay(recipe.kuberay), _diagnosis(recipe.diagnose))


def label(keys: Keys, key: str, value: str) -> Iterator[Wrong]:
    """A label that Kubernetes or Ray would refuse.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
    """
    prefix, slash, name = key.rpartition("/")
    if not _LABEL_PART.fullmatch(name) or (slash and not _LABEL_PREFIX.fullmatch(prefix)):
        yield Wrong((*keys, key), "is no name of a label: a domain and /, then 63 at most of A-Z a-z 0-9 . _ -")
    if value and not has_holes(value) and not _LABEL_PART.fullmatch(value):
        yield Wrong(
            (*keys, key), "is no value of a label: 63 at most of A-Z a-z 0-9 . _ -, a letter or digit at both ends"
        )


def _environment(env: Environment) -> Iterator[Wrong]:
    both: tuple[tuple[str, Sequence[SetVariable | UnsetVariable]], ...] = (("set", env.set), ("unset", env.unset))
    for kind, entries in both:
        yield from twice(("env", kind), [one.name for one in entries], "name")
        for place, one in enumerate(entries):
            if not code.is_known_variable(one.name):
                what = f"{one.name[:80]!r} is no variable of accelerators, their libraries or Ray"
                yield Wrong(("env", kind, place, "name"), what)
            if not one.why:
                yield Wrong(("env", kind, place, "why"), "says nothing")
    for place, variable in enumerate(env.set):
        yield from one_of(("env", "set", place, "scope"), variable.scope, SCOPES)
        if variable.value is None and not variable.unverified:
            yield Wrong(("env", "set", place, "value"), "is null, and unverified does not say why")
        if variable.name in [one.name for one in env.unset]:
            yield Wrong(("env", "set", place, "name"), f"{variable.name[:80]} is unset too")
    for place, gone in enumerate(env.unset):
        yield from comparison(("env", "unset", place), gone.op, gone.value)
        if gone.op not in _SHELL_OPS:
            yield Wrong(("env", "unset", place, "op"), f"is to be one of {' '.join(_SHELL_OPS)} for a variable")


def _ray(ray: RayStart) -> Iterator[Wrong]:
    for flag, value in ray.start.items():
        yield from _flag(("ray", "start", flag), flag, value)
    for key, text in ray.labels.items():
        yield from label(("ray", "labels"), key, text)
    for name, amount in ray.resources.items():
        keys = ("ray", "resources", name)
        if name in _OF_RAY:
            yield Wrong(keys, f"has a flag of its own: ray.start.{_OF_RAY[name]}")
        elif not _RESOURCE.fullmatch(name):
            yield Wrong(keys, "is no name of a resource")
        if not _is_amount(amount):
            yield Wrong(keys, "is to be a number from 0 on")


def _flag(keys: Keys, flag: str, value: str | int) -> Iterator[Wrong]:
    if flag in code.OPERATORS_FLAGS:
        why = (
            "of ray.labels and ray.resources" if flag in ("labels", "labels-file", "resources") else "by who starts Ray"
        )
        yield Wrong(keys, f"is said {why}, not here")
    elif flag not in code.FLAGS:
        yield Wrong(keys, f"is no flag of ray start{did_you_mean(flag, code.FLAGS)}")
    elif flag in code.SWITCHES and value != "":
        yield Wrong(keys, 'takes no value: it is to be ""')
    elif flag not in code.SWITCHES and value == "":
        yield Wrong(keys, "takes a value")
    elif _NUMBERS.fullmatch(flag) and not _is_amount(value):
        yield Wrong(keys, "is to be a number from 0 on")


def _is_amount(value: str | int | float) -> bool:
    """Whether it is an amount, or becomes one when it is filled."""
    if isinstance(value, str):
        return has_holes(value) or re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", value, re.ASCII) is not None
    return not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _kuberay(kuberay: KubeRay) -> Iterator[Wrong]:
    if kuberay.chips_per_host is not None and kuberay.chips_per_host < 1:
        yield Wrong(("kuberay", "chips_per_host"), "is to be 1 at least")
    keys: Keys = ("kuberay", "patch")
    parameters = kuberay.patch.get("rayStartParams")
    if isinstance(parameters, Mapping):
        if "labels" in parameters:
            what = "is refused by the operator from 1.5.0 on: labels go to kuberay.patch.labels"
            yield Wrong((*keys, "rayStartParams", "labels"), what)
        if "resources" in parameters and "resources" in kuberay.patch:
            yield Wrong((*keys, "rayStartParams", "resources"), "is refused beside kuberay.patch.resources: say one")
    labels = kuberay.patch.get("labels")
    if isinstance(labels, Mapping):
        for key, value in labels.items():
            if isinstance(value, str):
                yield from label((*keys, "labels"), str(key), value)
            else:
                yield Wrong((*keys, "labels", str(key)), "is to be text: quote it")


def _diagnosis(diagnose: Diagnosis) -> Iterator[Wrong]:
    known = {one.id: one for one in registry.checks()}
    globs: list[tuple[Keys, str]] = [(("diagnose", "only", place), one) for place, one in enumerate(diagnose.only)]
    globs += [(("diagnose", "skip", place, "check"), one.check) for place, one in enumerate(diagnose.skip)]
    for keys, text in globs:
        if faults := list(glob(keys, text)):
            yield from faults
        elif not any(fnmatchcase(name, text) for name in known):
            near = difflib.get_close_matches(text, list(known), 1)
            yield Wrong(keys, f"{text[:80]} matches no check{f'; did you mean {near[0]}?' if near else ''}")
    for place, one in enumerate(diagnose.skip):
        if not one.why:
            yield Wrong(("diagnose", "skip", place, "why"), "says nothing")
    for check, values in diagnose.thresholds.items():
        keys = ("diagnose", "thresholds", check)
        if check not in known:
            near = difflib.get_close_matches(check, list(known), 1)
            yield Wrong(keys, f"is no check{f'; did you mean {near[0]}?' if near else ''}")
            continue
        for name, value in values.items():
            if name not in known[check].thresholds:
                yield Wrong((*keys, name), f"is no threshold of it{did_you_mean(name, list(known[check].thresholds))}")
            elif not math.isfinite(value) or value < 0:
                yield Wrong((*keys, name), "is to be a number from 0 on")
    for name, told in diagnose.expected.items():
        key = expected.KEYS.get(name)
        if key is None:
            yield Wrong(
                ("diagnose", "expected", name), f"is nothing to expect{did_you_mean(name, list(expected.KEYS))}"
            )
        elif not (isinstance(told, str) and has_holes(told)) and not key.holds(_number(told)):
            yield Wrong(("diagnose", "expected", name), f"is to be {key.takes}")


def _number(told: str | float) -> str | float:
    """Texts may hold parameters, so numbers may be texts."""
    return int(told) if isinstance(told, str) and re.fullmatch(r"[0-9]{1,9}", told, re.ASCII) else told
