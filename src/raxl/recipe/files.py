"""The files that a plan writes, byte for byte: an environment file, the arguments and labels of `ray start`, a patch
of a KubeRay manifest. They follow from the recipe's settings alone, hence are the same on nodes that are alike."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence

from raxl.errors import RecipeError
from raxl.model.plan import Setting
from raxl.model.printable import clean
from raxl.model.recipe import UnsetVariable
from raxl.recipe import code, shell_text

ARGUMENTS, LABELS, PATCH = "ray-start.args", "labels.yaml", "kuberay-patch.yaml"
CURRENT = "current"
"""The folder, below the root, that is in force."""
_OF_PATCH = (
    "A strategic merge for each worker group of a RayCluster. Its first container is the one in which KubeRay starts",
    "Ray: call it as the manifest does, or let raxl recipe plan --manifest FILE join the two.",
)
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?", re.ASCII)
_KEY = re.compile(r"([A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", re.ASCII)
_LABEL = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?", re.ASCII)


def texts(
    name: str, root: str, settings: Sequence[Setting], unset: Sequence[UnsetVariable], patch: str = ""
) -> dict[str, str]:
    """By path below the folder in force, each file's content. A file of which nothing would be said is left out.

    `settings` have their values; `unset` says when a variable goes; `patch` is YAML. Raises RecipeError for what no
    file can hold.
    """
    found = {}
    for scope in ("all", "head", "workers"):
        own = [one for one in settings if one.scope == scope and _is_variable(one)]
        if own:
            found[environment_file(name, scope)] = _environment(name, scope, own, unset)
    labels = [one for one in settings if one.kind == "label"]
    if arguments := _arguments(root, settings, bool(labels)):
        found[ARGUMENTS] = arguments
    if labels:
        found[LABELS] = _labels(name, labels)
    if patch:
        found[PATCH] = "".join(f"{shell_text.comment(line)}\n" for line in (_head(name), *_OF_PATCH)) + patch
    return {path: shown(text, path) for path, text in found.items()}


def _is_variable(one: Setting) -> bool:
    """Whether it has a line in an environment file: one whose value nobody published has none."""
    return one.kind == "unset" or (one.kind == "env" and one.value is not None)


def environment_file(name: str, scope: str = "all") -> str:
    """`NAME.env`; what is for the head or for the workers alone has a file of its own."""
    return f"{name}.env" if scope == "all" else f"{name}.{scope}.env"


def shown(text: str, path: str) -> str:
    """The text. Raises RecipeError where one of its lines holds what cannot be seen."""
    for line in text.split("\n"):
        shell_text.checked(line, path)
    return text


def labels_in(text: str) -> dict[str, str]:
    """The labels of a file that `texts` made."""
    found = {}
    for line in text.splitlines():
        key, between, value = line.partition(": ")
        if between and not line.startswith("#"):
            try:
                found[key] = str(json.loads(value))
            except ValueError:
                continue
    return found


def arguments_in(text: str) -> dict[str, str]:
    """By flag without its dashes, the arguments of a file that `texts` made."""
    try:
        words = shlex.split(text)
    except ValueError:
        return {}
    return {flag.removeprefix("--"): value for flag, _, value in (word.partition("=") for word in words)}


def variables_in(text: str) -> dict[str, str | None]:
    """By name, what an environment file that `texts` made sets; None for what it unsets."""
    found: dict[str, str | None] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "export":
            name, _, value = rest.partition("=")
            try:
                found[name] = "".join(shlex.split(value))
            except ValueError:
                continue
        elif word == "unset":
            found[rest] = None
        elif word == "case":
            found[rest.partition("{")[2].partition("-}")[0]] = None
    return found


def number(setting: Setting) -> int | float:
    """The amount of a custom resource. Raises RecipeError where its text is no number."""
    text = setting.value or ""
    if not _NUMBER.fullmatch(text):
        raise RecipeError(f"the resource {setting.name} is to be a number, not {text[:60]!r}")
    return float(text) if "." in text else int(text)


def _head(name: str) -> str:
    return f"Written by raxl recipe apply {name}: not to be edited here."


def _environment(name: str, scope: str, settings: Sequence[Setting], unset: Sequence[UnsetVariable]) -> str:
    where = {"all": "Sourced", "head": "Sourced on the head", "workers": "Sourced on every other node"}[scope]
    lines = [shell_text.comment(_head(name)), shell_text.comment(f"{where} before ray start, by any POSIX shell.")]
    when = {one.name: one for one in unset}
    for one in settings:
        lines += ["", shell_text.comment(one.why)] if one.why else [""]
        lines.append(
            shell_text.unset(when[one.name]) if one.kind == "unset" else shell_text.export(one.name, one.value or "")
        )
    return "".join(f"{line}\n" for line in lines)


def _arguments(root: str, settings: Sequence[Setting], labelled: bool) -> str:
    given = [_argument(one) for one in settings if one.kind == "ray-start"]
    resources = {one.name: number(one) for one in settings if one.kind == "resource"}
    if labelled:
        given.append(f"--labels-file={root}/{CURRENT}/{LABELS}")
    if resources:
        given.append(f"--resources={json.dumps(resources, sort_keys=True, ensure_ascii=False)}")
    return "".join(f"{shell_text.argument(one)}\n" for one in given)


def _argument(one: Setting) -> str:
    return f"--{one.name}" if one.name in code.SWITCHES else f"--{one.name}={one.value}"


def _labels(name: str, labels: Sequence[Setting]) -> str:
    lines = [shell_text.comment(_head(name))]
    for one in labels:
        if not _LABEL.fullmatch(one.value or "") or not _KEY.fullmatch(one.name):
            raise RecipeError(
                f"the label {clean(one.name)} cannot be {(one.value or '')[:80]!r}",
                "a value has at most 63 of A-Z a-z 0-9 . _ -, a letter or digit at both ends",
            )
        lines.append(f"{one.name}: {json.dumps(one.value)}")
    return "".join(f"{line}\n" for line in lines)
