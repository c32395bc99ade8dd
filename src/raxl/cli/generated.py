"""Everything that a command writes into the sources: `python -m raxl.cli.generated ROOT [CORPUS]`.

Completions, the compiled catalog and recipes, the plug-ins' tiers, the support matrix and the page of checks; with a
corpus of real captures (a folder with `MANIFEST.yaml`) also the ledger of those, and of the recipes that they matched.
Tests hold that what is checked in is what this writes.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from raxl.checks import diagnosis
from raxl.cli import completions, recipe_ledger
from raxl.collect import capture_ledger, catalog_files, plugin_list, plugin_recordings
from raxl.model.plugin import TIERS, Plugin
from raxl.plugins import ledger, registry
from raxl.recipe import compiled, load, maturity
from raxl.render import support_matrix, text_checks
from raxl.render.support_matrix import Family


def captures(root: Path, corpus: Path | None) -> dict[str, Any]:
    """The ledger: captures as they were counted, counted anew where a corpus is named, and what was seen on
    hardware."""
    plugins = registry.accelerators()
    known = json.loads(ledger.CAPTURES.read_text("utf-8")) if ledger.CAPTURES.is_file() else {}
    counted = {vendor: told["captures"] for vendor, told in known.items()}
    if corpus is not None:
        counted = capture_ledger.captures(corpus, catalog_files.read_yaml(corpus / "MANIFEST.yaml")["entries"])
    evidence = (root / "docs/evidence.md").read_text("utf-8")
    seen = capture_ledger.seen(evidence, {plugin.vendor: plugin.family for plugin in plugins})
    return {
        vendor: {"captures": counted.get(vendor, []), "seen": seen.get(vendor, [])}
        for vendor in sorted({*counted, *seen})
    }


def observed(root: Path, corpus: Path | None) -> dict[str, Any]:
    """By recipe, the real captures that it matched, as they were found, and found anew where a corpus is named."""
    if corpus is None:
        path = root / "recipes" / maturity.LEDGER
        known: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        return known
    entries = catalog_files.read_yaml(corpus / "MANIFEST.yaml")["entries"]
    return recipe_ledger.observed(corpus, entries, load.of_files())


def checked(root: Path) -> list[Plugin]:
    """raxl's own plug-ins, tried on their recordings."""
    recordings = plugin_recordings.read(root / "tests/recordings")
    return [plugin_list.checked_own(name, recordings) for name in registry.BUILT_IN]


def tiers(plugins: list[Plugin]) -> dict[str, Any]:
    """What `raxl plugins list` tells where there are no recordings."""
    return {
        plugin.name: {"tier": plugin.tier, "criteria": [asdict(one) for one in plugin.criteria]} for plugin in plugins
    }


def families(plugins: list[Plugin]) -> list[Family]:
    """The rows of the support matrix."""
    return [_family(plugin) for plugin in plugins]


def _family(plugin: Plugin) -> Family:
    own = registry.built_in(plugin.name)
    rows = [(one.kind, one.count, one.sources) for one in ledger.of(own.vendor).captures]
    following = TIERS[TIERS.index(plugin.tier) + 1 :][:1] if plugin.tier else TIERS[:1]
    missing = dict.fromkeys(one.evidence for one in plugin.criteria if one.tier in following and not one.is_met)
    return Family(plugin.name, own.family, plugin.tier, rows, list(missing))


def as_json(value: Any) -> str:
    """As the generated files are written."""
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main(root: Path, corpus: Path | None = None) -> None:
    """Writes all of it."""
    completions.main(root / "completions")
    catalog_files.COMPILED.write_text(as_json(catalog_files.compiled()), "utf-8")
    ledger.CAPTURES.write_text(as_json(captures(root, corpus)), "utf-8")
    (root / "recipes" / maturity.LEDGER).write_text(as_json(observed(root, corpus)), "utf-8")
    compiled.FILE.write_text(compiled.written(load.of_files()), "utf-8")
    compiled.forget()
    ledger.forget()
    plugins = checked(root)
    ledger.TIERS.write_text(as_json(tiers(plugins)), "utf-8")
    for name, table in (("README.md", support_matrix.short), ("docs/vendors.md", support_matrix.long)):
        document = (root / name).read_text("utf-8")
        (root / name).write_text(support_matrix.placed(document, table(families(plugins))), "utf-8")
    (root / "docs/checks.md").write_text(text_checks.page(diagnosis.described()), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
