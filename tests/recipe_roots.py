"""Roots of recipes for tests: plans for them that need no node, and what lies in a folder, to the byte."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from raxl.model.plan import NOTHING, READY, SAME, Plan
from raxl.model.receipt import Receipt
from raxl.model.recipe import RECIPE, Recipe
from raxl.recipe import apply, differences, generations, rollback

CREATED = "2026-11-30T12:00:00Z"
FIRST = {"a.env": "export A=1\n", "ray-start.args": "--num-gpus=8\n"}
SECOND = {"a.env": "export A=2\n", "labels.yaml": "raxl/scale-up: none\n"}


class Entry(NamedTuple):
    """What a path is."""

    kind: str
    mode: int
    owner: int
    content: str
    """A file's hash, a link's target."""
    changed: int
    """A file's mtime; a folder's is left aside."""


def listing(folder: Path) -> dict[str, Entry]:
    """Everything in a folder, and the folder itself; nothing where there is none."""
    found = {}
    paths = [str(folder)] if os.path.lexists(folder) else []
    for path in paths:
        status = os.lstat(path)
        kind, content, changed = "other", "", 0
        if stat.S_ISDIR(status.st_mode):
            kind = "folder"
            paths += [f"{path}/{name}" for name in os.listdir(path)]
        elif stat.S_ISLNK(status.st_mode):
            kind, content = "link", os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            kind, changed = "file", status.st_mtime_ns
            content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        found[os.path.relpath(path, folder)] = Entry(
            kind, stat.S_IMODE(status.st_mode), status.st_uid, content, changed
        )
    return found


def plan(
    state: generations.State,
    files: Mapping[str, str],
    recipe: str = "r",
    status: str | None = None,
    force: bool = False,
) -> Plan:
    """A plan of these files, as `raxl.recipe.plan` makes one."""
    planned = differences.planned(files, state)
    same = all(one.status == SAME for one in planned) and bool(planned)
    told = status or (NOTHING if same else READY)
    own = Recipe(RECIPE, recipe, recipe)
    return Plan(
        "node", told, str(state.root), own, "00", "test", facts_sha256="11", files=planned, in_force=state.generation
    )


def applied(root: Path, files: Mapping[str, str], force: bool = False, created: str = CREATED) -> Receipt | None:
    """Plans against what is in force now, and applies."""
    state = generations.state(root)
    return apply.applied(plan(state, files), state, created, force)


def rolled_back(root: Path, force: bool = False) -> Receipt | None:
    """Takes back what is in force now."""
    return rollback.rolled_back(generations.state(root), force)


def in_force(root: Path) -> dict[str, str]:
    """By name, what the files in force hold."""
    return generations.state(root).contents
