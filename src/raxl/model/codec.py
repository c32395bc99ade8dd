"""To JSON and from it: the only place that imports msgspec."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, TypeVar

KINDS = {
    "baseline": "verification:Baseline",
    "bench": "measurement:Bench",
    "checks": "finding:ChecksDocument",
    "diff": "difference:DifferencesDocument",
    "findings": "finding:Findings",
    "inventory": "inventory:Inventory",
    "labels": "label:LabelsDocument",
    "manifest": "manifest:ManifestResult",
    "path": "path:PathDocument",
    "place": "place:PlaceDocument",
    "plan": "plan:PlanDocument",
    "plugins": "plugin:PluginsDocument",
    "receipt": "receipt:Receipt",
    "recipe": "recipe:Recipe",
    "recipe-index": "recipe_index:RecipeIndex",
    "recipes": "recipe:RecipesDocument",
    "report": "verification:Report",
}
"""What `raxl schema` knows: by kind, the module of the model and the class in it. Loaded when a schema is asked for."""

_CLOSED = ("recipe",)
"""What people write: a key that is not there is misspelt, not of a newer raxl."""

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

    module, _, name = KINDS[kind].partition(":")
    described = msgspec.json.schema(getattr(import_module(f"raxl.model.{module}"), name))
    if kind in _CLOSED:
        for one in described["$defs"].values():
            if "properties" in one:
                one["additionalProperties"] = False
    return encode({"$schema": "https://json-schema.org/draft/2020-12/schema", **described})
