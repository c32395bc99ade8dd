"""What verifications of an applied recipe found, beside its receipt: the machine's own figures, and the last report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from raxl.errors import RecipeError, UnreadableInput
from raxl.model import codec
from raxl.model.verification import BASELINE, REPORT, Baseline, Report
from raxl.recipe import generations, writing
from raxl.recipe.folder import opened, staged_name
from raxl.recipe.generations import BASELINE_FILE, CURRENT, GENERATIONS, REPORT_FILE, State

LARGEST = 1 << 24


def baseline(state: State) -> Baseline | None:
    """The figures that this machine reached, as they were kept; None where none were."""
    text = _read(state, BASELINE_FILE)
    return None if text is None else _decoded(text, Baseline, BASELINE, f"{state.root}/{CURRENT}/{BASELINE_FILE}")


def report(state: State) -> Report | None:
    """What the last verification of what is in force found; None where there was none."""
    text = _read(state, REPORT_FILE)
    return None if text is None else decoded_report(text, f"{state.root}/{CURRENT}/{REPORT_FILE}")


def decoded_report(text: str, where: str) -> Report:
    """A report that `raxl recipe verify --format json` wrote. Raises UnreadableInput for anything else."""
    return _decoded(text, Report, REPORT, where)


def keep(state: State, notes: Mapping[str, str]) -> None:
    """Writes these texts by name beside the receipt of what is in force; each takes the place of the one before in one
    step. Raises RecipeError where something else is in force by now, CannotStart where nothing can be written."""
    with writing.locked(state.root) as held:
        if state.generation is None or generations.linked(held.folder) != state.generation:
            raise RecipeError(f"what is in force below {state.root} has changed meanwhile", "", "Verify it again")
        with held.folder.folder(GENERATIONS) as every, every.folder(state.generation) as folder:
            for left in filter(generations.is_staged, folder.names()):
                folder.remove(left)
            for name, text in notes.items():
                staged = staged_name()
                folder.write(staged, text.encode())
                folder.rename(staged, name)
            folder.sync()


def _read(state: State, name: str) -> str | None:
    if state.generation is None:
        return None
    try:
        with opened(state.root / GENERATIONS / state.generation) as folder:
            return folder.read(name, LARGEST).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableInput(f"{state.root}/{CURRENT}/{name} cannot be read", error.strerror or str(error)) from error


_Kept = TypeVar("_Kept", Baseline, Report)


def _decoded(text: str, kind: type[_Kept], schema: str, where: str) -> _Kept:
    try:
        found = codec.decode(text, kind)
    except ValueError as error:
        raise UnreadableInput(f"{where} is no {schema}", str(error)[:200]) from error
    if found.schema != schema:
        raise UnreadableInput(f"{where} has the schema {found.schema[:40]}", f"this raxl reads {schema}")
    return found
