"""Recipes written in tests, and the plans that they give for a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diagnosing import variant
from raxl.collect import assemble, facts
from raxl.host.record import Recording
from raxl.model.codec import converted
from raxl.model.plan import Plan, Setting
from raxl.model.recipe import Recipe, Shelved
from raxl.recipe import load, match, plan
from raxl.recipe.generations import State
from raxl.recipe.node_facts import NodeFacts

ROOT = Path("/srv/raxl")
"""A root in which nothing is in force."""
BARE = "none-cpu-server"
SHM = "process filesystems"
PAGE = {"id": "page", "url": "https://example.com/nccl", "read": "2026-11-01"}
BY = {"unverified": "a recipe of these tests"}


def shm(size_bytes: int) -> tuple[str, Any]:
    """An answer that says how large /dev/shm is, for `diagnosing.variant`."""
    entry = {"mount": "/dev/shm", "kind": "tmpfs", "size_bytes": size_bytes, "available_bytes": size_bytes}
    return SHM, {"/dev/shm": {**entry, "inodes": 1000, "inodes_available": 999, "is_read_only": False}}


def bare(*changes: str | tuple[str, Any], environment: dict[str, str] | None = None) -> Recording:
    """A machine without accelerators, with 8 GiB of /dev/shm, whose environment is known."""
    return variant(BARE, shm(8 << 30), ("process environment", environment or {}), *changes)


def recipe(**parts: Any) -> Shelved:
    """A recipe for any machine without accelerators."""
    head = {"schema": "raxl.recipe/v1", "name": "trial", "title": "A trial", "source": [PAGE]}
    matching = {"match": {"all": [{"fact": "accelerators.count", "op": "==", "value": 0}]}}
    return load.shelved(converted({**head, **matching, **parts}, Recipe), "trial.yaml")


def sets(name: str, value: str | None, **more: Any) -> dict[str, Any]:
    """An entry of `env.set`."""
    return {"name": name, "value": value, "why": f"{name} is tried", **BY, **more}


def unsets(name: str, **more: Any) -> dict[str, Any]:
    """An entry of `env.unset`."""
    return {"name": name, "why": f"{name} is stale", **BY, **more}


def planned(
    recording: Recording, shelved: Shelved, state: State | None = None, allow_code: bool = False, force: bool = False
) -> Plan:
    """What the recipe would do on the recorded machine."""
    (node,) = assemble.inventory([recording]).nodes
    own = facts.of(recording, node)
    read = NodeFacts(node, own)
    candidates = match.candidates([shelved], read, shelved.recipe.name)
    there = state or State(ROOT)
    return plan.plan(shelved, candidates, node, own, read, there.root, there, allow_code, force)


def content(made: Plan, path: str) -> str:
    """Of one of its files."""
    (found,) = [one.content for one in made.files if one.path == path]
    return found


def setting(made: Plan, name: str) -> Setting:
    """The only one of this name."""
    (found,) = [one for one in made.settings if one.name == name]
    return found
