"""The ledger beside the recipes: which real recordings of a corpus each of them matched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from raxl.collect import assemble, facts, inputs
from raxl.collect.plugin_recordings import CAPTURE
from raxl.errors import RaxlError, RecipeError
from raxl.model.recipe import Shelved
from raxl.recipe import match
from raxl.recipe.node_facts import NodeFacts


def observed(
    corpus: Path, entries: Sequence[Mapping[str, Any]], recipes: Sequence[Shelved]
) -> dict[str, list[dict[str, str]]]:
    """By recipe, each real recording for which `raxl recipe plan` chooses it: `recording`, `hardware`, `sha256` and
    `source`, as far as the manifest tells them, whose `entries` these are."""
    found: dict[str, list[dict[str, str]]] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["path"])):
        if entry["nature"] != CAPTURE:
            continue
        for name in _matched(corpus / entry["path"], recipes):
            found.setdefault(name, []).append(_row(entry))
    return dict(sorted(found.items()))


def _row(entry: Mapping[str, Any]) -> dict[str, str]:
    told = {"recording": entry["path"], "hardware": entry.get("hardware"), "sha256": entry.get("sha256")}
    return {key: str(value) for key, value in {**told, "source": _address(entry["source"])}.items() if value}


def _address(source: Mapping[str, Any]) -> str:
    """Where it is public, as precisely as the manifest says."""
    if "repo" in source:
        return f"https://github.com/{source['repo']}/blob/{source.get('commit', 'HEAD')}/{source.get('path', '')}"
    return str(source.get("issue", "public text"))


def _matched(path: Path, recipes: Sequence[Shelved]) -> Iterable[str]:
    try:
        recordings = inputs.opened([str(path)])
        nodes = assemble.inventory(recordings).nodes
    except RaxlError:  # a form that raxl does not read
        return ()
    names: dict[str, None] = {}
    for recording, node in zip(recordings, nodes):
        try:
            chosen, _ = match.chosen(recipes, NodeFacts(node, facts.of(recording, node)))
        except RecipeError:
            continue
        names[chosen.recipe.name] = None
    return names
