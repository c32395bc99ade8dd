"""What of a plan's settings is there now: in the files that are in force, and in the environment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from raxl.checks import Case, raylets, variables
from raxl.checks.library_files import is_own, library_files
from raxl.model.plan import CHANGED, KEPT, NEW, NOT_THERE, READ, REMOVED, SAME, UNREAD, SetIn, Setting, VariableFile
from raxl.model.problem import NOT_PRESENT
from raxl.model.recipe import UnsetVariable
from raxl.recipe import fact_processes, files, shell_text
from raxl.recipe.node_facts import ABSENT
from raxl.recipe.settings import ENVIRONMENT

_BESIDE = re.compile(
    r"(NCCL|RCCL|UCX|FI|GLOO)_[A-Z0-9_]+|[A-Z]+_(RT_)?VISIBLE_(DEVICES|CORES|MODULES)|CUDA_DEVICE_ORDER"
    r"|RAY_OVERRIDE_RESOURCES|RAY_EXPERIMENTAL_NOSET_[A-Z_]+"
)
"""Variables that are told where they are set and the recipe says nothing of them."""


_NOT_STALE = "its value is not one that goes"


class Present(NamedTuple):
    """What is there now."""

    case: Case
    """The node, whose variables are those of its raylets where they were seen, else of the process that asked."""
    contents: Mapping[str, str]
    """By path, the files in force; none where nothing was applied."""


def held(
    settings: Sequence[Setting], unset: Sequence[UnsetVariable], after: Mapping[str, str], present: Present
) -> tuple[Setting, ...]:
    """The settings, each with what is there now and whether that is the same; then the variables that are set beside
    them, and stay as they are. `unset` says when a variable goes; `after` are the files that would be written."""
    in_force = _in_force(present.contents)
    stale = {one.name: one for one in unset}
    found = []
    for one in settings:
        if one.status in (UNREAD, KEPT):
            found.append(one)
        elif one.kind in ("env", "unset"):
            found.append(_variable(one, stale, in_force["env"], present.case))
        elif one.kind == "kuberay":
            found.append(replace(one, status=_of_file(files.PATCH, after, present.contents)))
        else:
            was = in_force[one.kind].get(one.name)
            found.append(replace(one, was=was, status=NEW if was is None else SAME if was == one.value else CHANGED))
    whole = (*found, *_kept(settings, present.case))
    return tuple(_placed(one, stale, present.case) if one.kind in ("env", "unset") else one for one in whole)


def files_of(case: Case) -> tuple[VariableFile, ...]:
    """Those that NCCL, or RCCL, looks into below the environment, in the order in which they count."""
    return tuple(
        VariableFile(one.source, READ, one.value)
        if one.known
        else VariableFile(
            one.source, NOT_THERE if one.reason == NOT_PRESENT else UNREAD, {}, one.message or str(one.reason)
        )
        for one in library_files(case)
    )


def _placed(one: Setting, stale: Mapping[str, UnsetVariable], case: Case) -> Setting:
    """With every place in which the variable is set now. Of one that is to go it may stay in a file of NCCL's own,
    which nobody but an operator edits."""
    told = fact_processes.in_environment(case, one.name)
    own = [SetIn(told.source, told.value, False)] if told.known and told.value is not None else []
    read = [file for file in library_files(case) if file.known and is_own(one.name)]
    found = [*own, *(SetIn(file.source, file.value[one.name], True) for file in read if one.name in file.value)]
    if one.kind == "unset" and not own and found and not shell_text.is_stale(stale[one.name], found[0].value):
        one = replace(one, status=KEPT, message=_NOT_STALE)
    after = 0
    if one.status != KEPT:
        after = len(found) if one.value is not None else len(own)
    places = (replace(place, wins=at == 0, stays=at == after) for at, place in enumerate(found))
    return replace(one, set_in=tuple(places))


def _in_force(contents: Mapping[str, str]) -> dict[str, Mapping[str, str | None]]:
    """By kind of setting and by name, what the files say; a variable that they unset is None."""
    variables: dict[str, str | None] = {}
    for path, text in contents.items():
        if path.endswith(".env"):
            variables.update(files.variables_in(text))
    arguments = files.arguments_in(contents.get(files.ARGUMENTS, ""))
    try:
        amounts = json.loads(arguments.get("resources", "{}"))
    except ValueError:
        amounts = {}
    return {
        "env": variables,
        "ray-start": arguments,
        "label": files.labels_in(contents.get(files.LABELS, "")),
        "resource": {name: str(value) for name, value in amounts.items()} if isinstance(amounts, dict) else {},
    }


def _variable(
    one: Setting, stale: Mapping[str, UnsetVariable], in_force: Mapping[str, str | None], case: Case
) -> Setting:
    """Held against the file in force where that names it, else against the environment. `was` is the environment's."""
    told = fact_processes.in_environment(case, one.name)
    was = told.value if told.known else None
    one = replace(one, was=was, evidence=told.source if told.known else "")
    if one.kind == "unset" and was is not None and not shell_text.is_stale(stale[one.name], was):
        return replace(one, status=KEPT, message=_NOT_STALE)
    if one.name in in_force:
        before = in_force[one.name]
        return replace(one, status=SAME if before == one.value else CHANGED)
    if was is not None:
        return replace(one, status=REMOVED if one.value is None else SAME if was == one.value else CHANGED)
    if told.reason in ABSENT:
        return replace(one, status=SAME if one.value is None else NEW)
    why = told.message or told.reason or ""
    return replace(one, status=UNREAD, message=one.message or f"what is set now is not known: {why}")


def _kept(settings: Sequence[Setting], case: Case) -> list[Setting]:
    told = {one.name for one in settings if one.kind in ("env", "unset")}
    sources = [case.facts.environment, case.facts.given_variables]
    names = {name for one in sources if one.known for name in one.value}
    names.update(name for one in raylets.environments(case) for name in one.variables)
    names.update(name for one in library_files(case) if one.known for name in one.value if is_own(name))
    found = []
    for name in sorted(names - told):
        reading = variables.reading(case, name)
        if _BESIDE.fullmatch(name) and reading.value is not None:
            setting = Setting("env", name, reading.value, KEPT, ENVIRONMENT, was=reading.value)
            found.append(replace(setting, evidence=reading.source))
    return found


def _of_file(path: str, after: Mapping[str, str], contents: Mapping[str, str]) -> str:
    if path not in contents:
        return NEW
    return SAME if contents[path] == after.get(path) else CHANGED
