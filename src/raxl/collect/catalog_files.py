"""Catalog files: raxl's own YAML, and the folders `catalog.d` in which a user tells of a device before raxl does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Iterable, NamedTuple, Sequence

from raxl.model import catalog
from raxl.model.catalog import Catalog, Device, ScaleUp
from raxl.model.problem import DISAGREEMENT, FAILED, Problem

FOLDER = Path(catalog.__file__).parents[1] / "accelerators" / "catalog"
COMPILED = FOLDER / "catalog.json"
ENDINGS = (".yaml", ".yml", ".json")
_LARGEST = 1 << 20
_MOST_KEYS = 6
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
    """raxl's own files as one document. Raises ValueError for a row that is none, and for a key that nothing reads."""
    paths = sorted(FOLDER.glob("*.yaml"))
    documents = [read_yaml(path) for path in paths]
    for path, document in zip(paths, documents, strict=True):
        catalog.parse(document)
        if unread := catalog.unread_keys(document):
            raise ValueError(f"{path.name}: {_unread(unread)}")
    return documents


def _unread(keys: Sequence[str]) -> str:
    return f"nothing reads {', '.join(keys[:_MOST_KEYS])}" + (" …" if len(keys) > _MOST_KEYS else "")


def folders() -> tuple[Path, ...]:
    """The user's folder, which wins, and the machine's."""
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(home) / "raxl" / "catalog.d", _SYSTEM


def overlay() -> Overlay:
    """All files of those folders, in their order; one that is damaged is a problem, and the others count.

    A folder wins over the next, and both over what raxl ships; two rows of one thing in one folder are a problem.
    """
    found: list[Catalog] = []
    problems: list[Problem] = []
    for folder in folders():
        here: list[tuple[Path, Catalog]] = []
        for path in _paths(folder):
            try:
                document = _read(path)
                here.append((path, catalog.parse(document)))
                if unread := catalog.unread_keys(document):
                    problems.append(Problem("catalog", FAILED, f"{path}: {_unread(unread)}", (str(path),)))
            except (OSError, ValueError, RecursionError) as error:
                words = error.strerror if isinstance(error, OSError) else str(error)
                problems.append(Problem("catalog", FAILED, f"{path} is left out: {words}", (str(path),)))
        problems += _told_twice(here)
        found += [one for _, one in here]
    return Overlay(catalog.merged(found), tuple(problems))


def _read(path: Path) -> Any:
    if path.stat().st_size > _LARGEST or not path.is_file():
        raise ValueError("it is no file of at most 1 MiB")
    return json.loads(path.read_text("utf-8")) if path.suffix == ".json" else read_yaml(path)


def _told_twice(files: Sequence[tuple[Path, Catalog]]) -> Iterable[Problem]:
    """One problem for each id of a device, and each name of a fabric, that two rows tell of; ids that several models
    share are told so."""
    first: dict[str, tuple[Path, Device | ScaleUp]] = {}
    for path, rows in files:
        for name, row in _named(rows):
            before, known = first.setdefault(name, (path, row))
            if known is not row and not (_is_shared(known) and _is_shared(row)):
                words = f"{name} is {known.name} in {before} and {row.name} in {path}: the first one is believed"
                yield Problem("catalog", DISAGREEMENT, words, tuple(dict.fromkeys((str(before), str(path)))))


def _named(rows: Catalog) -> Iterable[tuple[str, Device | ScaleUp]]:
    for row in rows.devices:
        yield from ((f"the device {row.vendor_id}:{one}", row) for one in dict.fromkeys(row.device_ids))
    yield from ((f"the scale-up link {one.name}", one) for one in rows.scale_ups)


def _is_shared(row: Device | ScaleUp) -> bool:
    return isinstance(row, Device) and row.is_id_shared


def _paths(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix in ENDINGS)
    except OSError:  # most machines have none; one that may not be listed adds nothing
        return []
