"""The strategic merge of a recipe's patch into a group of a KubeRay manifest."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from raxl.errors import RecipeError
from raxl.recipe import kuberay_quantity
from raxl.recipe.kuberay_groups import CONTAINERS, RAY_CONTAINER
from raxl.recipe.kuberay_tree import Path, at, entries, mapping

_KEYED = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "resourceClaims": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "ports": "containerPort",
}
"""Lists whose entries are known by a key: the entry of the same key is merged, another one is added."""
_UNITED = ("add", "drop", "tolerations", "envFrom", "topologySpreadConstraints")
"""Lists to which an entry is added that is not there yet."""
_RETAINED = ("env", "volumes")
"""Lists of whose entries only those keys stay that the patch has too: `value` beside `valueFrom` is refused."""
_NUMBERS = ("replicas", "minReplicas", "maxReplicas", "numOfHosts", "containerPort")
_TEXTS = ("rayStartParams", "labels", "nodeSelector", "resources")
VOLUMES: Path = ("template", "spec", "volumes")
DIRECTIVE = "$patch"
"""`$patch: delete` in an entry of a list takes the entry of that key away."""


def merged(group: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The group with the patch merged in; a null takes a key away."""
    return _mapping(group, _renamed(group, patch), ())


def _renamed(group: Mapping[str, Any], patch: Mapping[str, Any]) -> Mapping[str, Any]:
    """The patch with its volumes called as the group calls what it mounts at the same place of the Ray container."""
    mounts = entries(at(patch, (*RAY_CONTAINER, "volumeMounts")))
    volumes = entries(at(patch, VOLUMES))
    there = _called(entries(at(group, (*RAY_CONTAINER, "volumeMounts"))))
    known = [_key(one, "name") for one in entries(at(group, VOLUMES))]
    new = {name: there[place] for place, name in _called(mounts).items() if place in there}
    new = {name: own for name, own in new.items() if own in known and own != name}
    if not new or not all(isinstance(one, Mapping) for one in (*mounts, *volumes)):
        return patch
    template = mapping(patch["template"])
    spec = mapping(template["spec"])
    first, *others = entries(spec["containers"])
    named = {**first, "volumeMounts": [{**one, "name": new.get(one.get("name"), one.get("name"))} for one in mounts]}
    changed = [{**one, "name": new.get(one.get("name"), one.get("name"))} for one in volumes]
    return {**patch, "template": {**template, "spec": {**spec, "containers": [named, *others], "volumes": changed}}}


def difference(before: str, after: str, title: str) -> str:
    """A unified diff of a group's two texts; empty where they are the same."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), title, f"{title}, patched"
    )
    return "".join(lines)


def _called(mounts: Sequence[Any]) -> dict[str, str]:
    """By the place at which it is mounted, the volume's name."""
    told = [(_key(one, "mountPath"), _key(one, "name")) for one in mounts]
    return {place: name for place, name in told if isinstance(place, str) and isinstance(name, str)}


def _mapping(old: Any, patch: Mapping[str, Any], path: Path) -> dict[str, Any]:
    result = dict(old) if isinstance(old, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            made = _value(result.get(key), value, (*path, key))
            result[key] = made
            if made == [] and value:  # nothing is left of it
                del result[key]
    return result


def _value(old: Any, new: Any, path: Path) -> Any:
    key = str(path[-1])
    if isinstance(new, Mapping):
        return _mapping(old, new, path)
    if isinstance(new, (list, tuple)):
        return _list(old if isinstance(old, list) else [], list(new), path)
    if old is not None and _is_quantity(path) and _is_enough(old, new, path[-1]):
        return old
    if key in _NUMBERS and isinstance(new, str) and new.isascii() and new.isdigit():
        return int(new)
    # `resources` of a container holds quantities, the group's own holds text.
    is_text = len(path) > 1 and path[-2] in _TEXTS and (path[-2] != "resources" or len(path) == 2)
    if (is_text or (key == "value" and "env" in path)) and not isinstance(new, str):
        return str(new).lower() if isinstance(new, bool) else str(new)
    return new


def _is_quantity(path: Path) -> bool:
    return path[-1] == "sizeLimit" or path[-2:-1] in (("limits",), ("requests",))


def _is_enough(old: Any, new: Any, key: str | int) -> bool:
    """Whether two quantities are the same, as `8` and `"8"` are; a volume may be larger than a recipe wants it."""
    has, wants = kuberay_quantity.read(old), kuberay_quantity.read(new)
    return has is not None and wants is not None and (has == wants or (key == "sizeLimit" and has > wants))


def _list(old: Sequence[Any], new: list[Any], path: Path) -> list[Any]:
    name = str(path[-1])
    if name in _KEYED:
        return _keyed(list(old), new, path, _KEYED[name])
    if name in _UNITED:
        return [*old, *(one for one in new if one not in old)]
    return new


def _keyed(result: list[Any], new: list[Any], path: Path, key: str) -> list[Any]:
    for turn, one in enumerate(new):
        if not isinstance(one, Mapping):
            raise RecipeError(f"the KubeRay patch is none: an entry of {path[-1]} is no mapping")
        place = next((number for number, other in enumerate(result) if _key(other, key) == one.get(key)), None)
        if place is None and path == CONTAINERS and turn == 0 and result:
            # The recipe cannot know how a manifest calls the container in which Ray runs.
            place, one = 0, {**one, key: _key(result[0], key)}
        if one.get(DIRECTIVE) == "delete":
            if place is not None:
                del result[place]
        elif place is None:
            result.append(_mapping(None, one, path))
        else:
            kept = mapping(result[place])
            if path[-1] in _RETAINED:
                kept = {name: value for name, value in kept.items() if name in one}
            result[place] = _mapping(kept, one, path)
    return result


def _key(entry: Any, key: str) -> Any:
    return entry.get(key) if isinstance(entry, Mapping) else None
