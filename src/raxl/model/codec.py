"""To JSON and from it: the only place that imports msgspec."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

from raxl.model.difference import DifferencesDocument
from raxl.model.finding import ChecksDocument, Findings
from raxl.model.inventory import Inventory
from raxl.model.label import LabelsDocument
from raxl.model.measurement import Bench
from raxl.model.path import PathDocument
from raxl.model.place import PlaceDocument
from raxl.model.plugin import PluginsDocument

BENCH = "raxl.bench/v1"
INVENTORY = "raxl.inventory/v1"
PATH = "raxl.path/v1"
PLACE = "raxl.place/v1"
PLUGINS = "raxl.plugins/v1"
LABELS = "raxl.labels/v1"
DIFF = "raxl.diff/v1"
KINDS: dict[str, type] = {
    "bench": Bench,
    "checks": ChecksDocument,
    "diff": DifferencesDocument,
    "findings": Findings,
    "inventory": Inventory,
    "labels": LabelsDocument,
    "path": PathDocument,
    "place": PlaceDocument,
    "plugins": PluginsDocument,
}
"""What `raxl schema` knows."""

_Record = TypeVar("_Record")


def encode(document: Any, other: Callable[[Any], Any] | None = None) -> str:
    """The document as JSON, indented by two, ending in a newline. `other` makes a value of what JSON cannot hold."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(document, enc_hook=other), indent=2).decode() + "\n"


def decode(text: str, kind: type[_Record]) -> _Record:
    """The document that `encode` wrote. Raises ValueError for anything else."""
    import msgspec

    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        raise ValueError(f"no {kind.__name__}: {error}") from error


def converted(value: Any, kind: Any) -> Any:
    """What JSON held as a value of this type. Raises ValueError where it is none."""
    import msgspec

    try:
        return msgspec.convert(value, type=kind)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error


def schema(kind: str) -> str:
    """The JSON Schema of an output, as `raxl schema KIND` prints it."""
    import msgspec

    described = msgspec.json.schema(KINDS[kind])
    return encode({"$schema": "https://json-schema.org/draft/2020-12/schema", **described})
