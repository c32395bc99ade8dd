"""Whether a recipe has earned the maturity that it claims: by real recordings that it matched, by reports of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from raxl.errors import UnreadableInput
from raxl.model import codec
from raxl.model.recipe import DOCUMENTED, OBSERVED, VALIDATED, AttachedReport, Shelved
from raxl.recipe import document
from raxl.recipe.rule import Wrong

if TYPE_CHECKING:
    from raxl.model.verification import Report, VerifiedNode

LEDGER = "observed.json"
"""Beside the recipes: by name, the real recordings that each of them matched."""
_LARGEST = 16 << 20


def wrong(shelved: Shelved, folder: Path | None) -> Iterator[Wrong]:
    """What a recipe claims without having earned it. `folder` is where its file lies; None where it comes from none."""
    recipe = shelved.recipe
    if recipe.maturity == OBSERVED and not recordings(recipe.name, folder):
        yield Wrong(("maturity",), f"{OBSERVED} is not earned: {LEDGER} knows no real recording that it matched")
    if recipe.maturity == VALIDATED and not recipe.reports:
        yield Wrong(("maturity",), f"{VALIDATED} is not earned: no report is attached")
    for place, one in enumerate(recipe.reports):
        if (what := _refused(one, shelved, folder)) is not None:
            yield Wrong(("reports", place, "file"), what)


def earned(shelved: Shelved, folder: Path | None) -> str:
    """The maturity that it has earned, of those up to the one that it claims."""
    claimed = shelved.recipe.maturity
    if claimed == DOCUMENTED or not any(wrong(shelved, folder)):
        return claimed
    return OBSERVED if recordings(shelved.recipe.name, folder) else DOCUMENTED


def recordings(name: str, folder: Path | None) -> Sequence[Any]:
    """What the ledger in the folder holds of the recipe."""
    try:
        told = json.loads((folder / LEDGER).read_bytes()) if folder else {}
    except (OSError, ValueError, RecursionError):
        return ()
    found = told.get(name, ()) if isinstance(told, dict) else ()
    return found if isinstance(found, list) else ()


def _refused(one: AttachedReport, shelved: Shelved, folder: Path | None) -> str | None:
    """Why the report shows nothing for the recipe; None where it does."""
    if folder is None:
        return "cannot be read: the recipe comes from no folder"
    try:
        data = document.content(folder / one.file, _LARGEST)
    except UnreadableInput as error:
        return str(error)
    if hashlib.sha256(data).hexdigest() != one.sha256:
        return f"has the SHA-256 {hashlib.sha256(data).hexdigest()}, not the one that is told"
    return _shows_nothing(data, shelved)


def _shows_nothing(data: bytes, shelved: Shelved) -> str | None:
    """Why a report of this content shows nothing for the recipe; None where it does."""
    from raxl.model import verification  # few recipes have a report

    try:
        report: Report = codec.decode(data.decode(), verification.Report)
    except ValueError:
        return f"is no {verification.REPORT}"
    if report.schema != verification.REPORT:
        return f"is no {verification.REPORT}"
    if report.recipe.recipe_sha256 != shelved.sha256:
        return "is about another recipe, or about this one before it was changed"
    if report.status != verification.PASSED or report.wrong:
        return f"says that not all was well: {report.status[:40]!r}"
    if report.in_force is None or report.in_force.recipe_sha256 != shelved.sha256:
        return "is of nodes where the recipe was not in force"
    if report.in_force.edited:
        return "is of nodes on which somebody had changed what was applied"
    others = [one.source for one in report.nodes if not _is_live(one)]
    if others or not report.nodes:
        return f"is of {others[0][:80] if others else 'no node'}, not of a machine that raxl asked itself"
    known = {one.id for one in shelved.recipe.expect}
    figures = [one for one in report.figures if not known or one.id in known]
    if not any(one.status == "ok" and one.measured is not None for one in figures):
        return "holds no figure that was measured and held"
    return None


def _is_live(node: VerifiedNode) -> bool:
    """Whether its facts come from the machine itself, and from no recording."""
    return node.source == "local" or node.source.startswith("ray:")
