"""A recipe and the ones that it extends, as one tree: what is said nearer to the recipe wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from raxl.errors import UnreadableInput
from raxl.model.recipe import RECIPE
from raxl.recipe import document, pinned
from raxl.recipe.document import Fault, Node

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
"""Of a recipe, hence of its file."""
FOLDER = "layers"
"""Where those lie that are only there to be extended."""
DEEPEST = 4
_Way = Callable[[Node, Node], Node]
_OWN = ("schema", "name", "title", "maturity", "extends", "layer", "reports")
"""What is never taken over."""


class _Refused(Exception):
    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__()
        self.faults = faults


def joined(tree: Node, own: Path | None, folders: Sequence[Path]) -> tuple[Node, Sequence[Fault]]:
    """The tree with all that it extends, and without `extends`; the lines of each entry are those of its own file.

    `own` is the file that it comes from, where it comes from one. What it extends is looked for beside it, then in
    `folders`.
    """
    try:
        return _joined(tree, [own.resolve()] if own else [], [own.parent, *folders] if own else folders), ()
    except _Refused as refused:
        return _without(tree, ("extends",)), refused.faults


def _joined(tree: Node, above: Sequence[Path], folders: Sequence[Path]) -> Node:
    told = tree.entries.get("extends")
    if told is None or not isinstance(told.value, str):
        return tree
    path = _found(told, folders)
    if path.resolve() in above:
        raise _refused(told, f"{told.value} extends itself")
    if len(above) >= DEEPEST:
        raise _refused(told, f"is the end of a chain of more than {DEEPEST}")
    parent = _parent(told, path)
    parent = _joined(parent, [*above, path.resolve()], [path.parent, *folders])
    return _merged(_without(parent, _OWN), _without(tree, ("extends",)))


def _found(told: Node, folders: Sequence[Path]) -> Path:
    name = str(told.value)
    if not NAME.fullmatch(name):
        raise _refused(told, f"is to be the name of a recipe or layer, not {name[:80]!r}")
    for folder in folders:
        for path in (folder / FOLDER / f"{name}.yaml", folder / f"{name}.yaml"):
            if path.is_file():
                return path
    raise _refused(told, f"no recipe or layer is called {name} beside it or among raxl's own")


def _parent(told: Node, path: Path) -> Node:
    try:
        data = document.content(path)
    except UnreadableInput as error:
        raise _refused(told, str(error)) from error
    if changed := pinned.fault(path, data):
        raise _Refused([changed])
    read = document.of_bytes(data, str(path))
    if read.faults or read.tree is None:
        raise _Refused(read.faults)
    parent = read.tree
    layer = parent.entries.get("layer")
    if path.parent.name == FOLDER and (layer is None or layer.value is not True):
        raise _Refused([Fault(parent.place, ("layer",), f"is to be true: it lies in {FOLDER}")])
    for key, wanted in (("schema", RECIPE), ("name", told.value)):
        own = parent.entries.get(key)
        if own is None or own.value != wanted:
            raise _Refused([Fault(own.place if own else parent.place, (key,), f"is to be {wanted}")])
    return parent


def _refused(told: Node, what: str) -> _Refused:
    return _Refused([Fault(told.place, ("extends",), what)])


def _without(tree: Node, keys: Sequence[str]) -> Node:
    return Node({key: one for key, one in tree.entries.items() if key not in keys}, tree.place)


def _merged(parent: Node, child: Node) -> Node:
    """Both, entry by entry as `_HOW` says; of what it does not name the child's."""
    return _by_key(parent, child, _HOW)


def _by_key(parent: Node, child: Node, how: Mapping[str, _Way] | None = None) -> Node:
    if not isinstance(parent.value, dict) or not isinstance(child.value, dict):
        return child
    both = dict(parent.value)
    for key, own in child.value.items():
        taken = parent.value.get(key)
        way = (how or {}).get(key)
        both[key] = way(taken, own) if way and taken is not None else own
    return Node(both, child.place)


def _each(**how: _Way) -> _Way:
    """By key, each in its own way."""
    return lambda parent, child: _by_key(parent, child, how)


def _deep(parent: Node, child: Node) -> Node:
    """By key on every level; lists of what has names by name, as Kubernetes merges containers; else the child's."""
    if isinstance(parent.value, list) and isinstance(child.value, list):
        return _deep_by_name(parent, child)
    keys = parent.entries.keys() & child.entries.keys()
    return _by_key(parent, child, dict.fromkeys(keys, _deep))


def _deep_by_name(parent: Node, child: Node) -> Node:
    if not all("name" in one.entries for one in (*parent.items, *child.items)):
        return child
    own = {_called(one, "name"): one for one in child.items}
    taken = {_called(one, "name"): one for one in parent.items}
    both = [_deep(one, own[name]) if name in own else one for name, one in taken.items()]
    return Node([*both, *(one for name, one in own.items() if name not in taken)], child.place)


def _appended(parent: Node, child: Node) -> Node:
    """The parent's first; what both say in the same words once."""
    if not isinstance(parent.value, list) or not isinstance(child.value, list):
        return child
    said = [one.plain() for one in parent.value]
    return Node([*parent.value, *(one for one in child.value if one.plain() not in said)], child.place)


def _by(key: str) -> _Way:
    """A list whose entries are known by this key of theirs: the child's takes the place of the parent's."""

    def joined_by(parent: Node, child: Node) -> Node:
        if not isinstance(parent.value, list) or not isinstance(child.value, list):
            return child
        waiting = list(child.value)
        entries = []
        for taken in parent.value:
            own = next((one for one in waiting if _called(one, key) == _called(taken, key)), None)
            entries.append(taken if own is None else own)
            waiting = [one for one in waiting if one is not own]
        return Node([*entries, *waiting], child.place)

    return joined_by


def _environment(parent: Node, child: Node) -> Node:
    """By name; what the child unsets the parent does not set, and the other way round."""
    without = {}
    for key, other in (("set", "unset"), ("unset", "set")):
        if key in parent.entries:
            own = child.entries[other].items if other in child.entries else []
            names = [_called(one, "name") for one in own]
            taken = parent.entries[key]
            kept = [one for one in taken.items if _called(one, "name") not in names]
            without[key] = Node(kept, taken.place) if isinstance(taken.value, list) else taken
    others = {key: one for key, one in parent.entries.items() if key not in without}
    return _by_key(Node({**others, **without}, parent.place), child, {"set": _by("name"), "unset": _by("name")})


def _called(node: Node, key: str) -> object:
    """What the entry is called; an entry that is called nothing is like no other."""
    name = node.entries.get(key)
    return id(node) if name is None or isinstance(name.value, (dict, list)) else name.value


_HOW: Mapping[str, _Way] = {
    "source": _appended,
    "match": _each(all=_appended),
    "hardware": _by_key,
    "requires": _by("id"),
    "versions": _by("name"),
    "parameters": _by_key,
    "env": _environment,
    "ray": _each(start=_by_key, labels=_by_key, resources=_by_key),
    "kuberay": _each(patch=_deep),
    "diagnose": _each(only=_appended, skip=_appended, expected=_by_key, thresholds=_by_key),
    "expect": _by("id"),
    "notes": _appended,
}
