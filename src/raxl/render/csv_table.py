"""Dataclasses as comma-separated values: where each column's value is, and how it is written."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from raxl.model.printable import clean

_FORMULA = ("=", "+", "-", "@")
"""How a text begins that a spreadsheet would act on."""


def table(columns: Mapping[str, str], rows: Iterable[Any]) -> str:
    """The heading and a line for each row; lines end in a line feed. `columns`: by heading, where its value is in a
    row, as `value` has it."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([cell(value(row, place)) for place in columns.values()])
    return written.getvalue()


def value(row: Any, place: str) -> Any:
    """What stands at `latency_seconds.p50`; None where a part of the way is None."""
    found = row
    for name in place.split("."):
        found = None if found is None else getattr(found, name)
    return found


def cell(found: Any) -> str:
    """Nothing for None; a text cannot act in a spreadsheet or on a terminal."""
    if found is None:
        return ""
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, tuple):
        return cell(" ".join(found))
    if not isinstance(found, str):
        return repr(found)
    shown = clean(found)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
