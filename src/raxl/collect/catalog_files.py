"""Catalog files: raxl's own YAML, and the folders `catalog.d` in which a user tells of a device before raxl does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from raxl.model import catalog
from raxl.model.catalog import Catalog
from raxl.model.problem import FAILED, Problem

FOLDER = Path(catalog.__file__).parents[1] / "accelerators" / "catalog"
COMPILED = FOLDER / "catalog.json"
ENDINGS = (".yaml", ".yml", ".json")
_LARGEST = 1 << 20
_SYSTEM = Path("/etc/raxl/catalog.d")


class Overlay(NamedTuple):
    """What the user's files add, and what is wrong with them."""

    catalog: Catalog
    problems: tuple[Problem, ...]


def read_yaml(path: Path) -> Any:
    """What a YAML file holds. Raises ValueError for what is none."""
    import yaml

    try:
        return yaml.safe_load(path.read_text("utf-8"))
    except (
        yaml.YAMLError,
        RecursionError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:  # its constructors raise these
        raise ValueError(f"no YAML: {' '.join(str(error).split())}"[:200]) from error


def compiled() -> list[Any]:
    """raxl's own files as one document. Raises ValueError for a row that is none."""
    documents = [read_yaml(path) for path in sorted(FOLDER.glob("*.yaml"))]
    for document in documents:
        catalog.parse(document)
    return documents


def folders() -> tuple[Path, ...]:
    """The user's folder, which wins, and the machine's."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "raxl" / "catalog.d", _SYSTEM


def overlay() -> Overlay:
    """All files of those folders, in their order; one that is damaged is a problem, and the others count."""
    found: list[Catalog] = []
    problems = []
    for path in _paths():
        try:
            if path.stat().st_size > _LARGEST or not path.is_file():
                raise ValueError("it is no file of at most 1 MiB")
            document = json.loads(path.read_text("utf-8")) if path.suffix == ".json" else read_yaml(path)
            found.append(catalog.parse(document))
        except (OSError, ValueError, RecursionError) as error:
            words = error.strerror if isinstance(error, OSError) else str(error)
            problems.append(Problem("catalog", FAILED, f"{path} is left out: {words}", (str(path),)))
    return Overlay(catalog.merged(found), tuple(problems))


def _paths() -> list[Path]:
    paths: list[Path] = []
    for folder in folders():
        try:
            paths += sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)
        except OSError:  # most machines have none; one that may not be listed adds nothing
            continue
    return paths
