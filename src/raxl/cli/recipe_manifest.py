"""`raxl recipe plan --manifest`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from raxl.cli import outcome, recipe_flags, recipe_named, recipe_plan

if TYPE_CHECKING:
    from raxl.cli.recipe_plan import Options
    from raxl.cli.streams import Streams
    from raxl.model.manifest import ManifestResult

_LARGEST = 1 << 20


def run(options: Options, path: Path, streams: Streams) -> int:
    """Checks the manifest, writes, and returns the exit code: 1 where pods would stay pending or count wrongly, or the
    patch holds what has to be allowed."""
    from raxl.model.manifest import FAIL

    result = _result(options, _text(path), str(path))
    if options.format is recipe_plan.Format.json:
        from raxl.model import codec

        streams.write(codec.encode(result), options.output)
    else:
        from raxl.render import text_recipe_manifest

        lines = text_recipe_manifest.manifest(result, streams.width, unicode=streams.unicode)
        streams.print(lines, options.output)
    is_barred = bool(result.loads_code) and not options.allow_code
    return outcome.WRONG if result.status == FAIL or is_barred else outcome.OK


def _result(options: Options, text: str, origin: str) -> ManifestResult:
    """The recipe's values are those of the node that was named, else its references. Without a recipe and a node, the
    manifest is held against itself alone."""
    from raxl.errors import UsageError
    from raxl.recipe import manifest

    root = options.root or recipe_flags.default_root()
    if options.source.paths or options.source.cluster:
        inventory, facts = recipe_plan.read(options.source)
        state = recipe_plan.standing(root, options.source, options.root is not None, len(inventory.nodes))
        made, refused = recipe_plan.planned(inventory, facts, state, options.recipe, options.allow_code)
        if not made.plans:
            raise refused[0]
        return manifest.for_plan(text, origin, made.plans[0])
    if options.source.record is not None or options.source.as_node is not None:
        raise UsageError(
            "--record and --as-node are about nodes, and none is read for --manifest", "", "Name one: --from"
        )
    if options.recipe is None:
        return manifest.checked(text, origin)
    recipe = recipe_named.named(options.recipe, root).recipe
    references = {name: one.expect for name, one in recipe.parameters.items() if not isinstance(one.expect, Mapping)}
    return manifest.checked(text, origin, recipe, references)


def _text(path: Path) -> str:
    from raxl.errors import UnreadableInput
    from raxl.recipe import document

    try:
        return document.content(path, _LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableInput(f"{path} is no manifest", "it is no UTF-8 text") from error
