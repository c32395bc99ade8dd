"""What rules of content share: where something is wrong, days, and lists whose entries are known by a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from raxl.recipe.document import Keys

_DAY = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?", re.ASCII)


class Wrong(NamedTuple):
    """A rule that is broken."""

    keys: Keys
    what: str


def first_day(text: str) -> date | None:
    """The first day of what a page tells as precisely as it does: a day, a month or a year. None where it is none."""
    try:
        return date.fromisoformat(f"{text}{'-01-01'[len(text) - 4 :]}") if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def twice(keys: Keys, names: Sequence[str], key: str) -> Iterator[Wrong]:
    """Entries that are called like one before them."""
    for place, name in enumerate(names):
        if name in names[:place]:
            yield Wrong((*keys, place, key), f"{name[:80]} is there twice")


def one_of(keys: Keys, word: str, known: Sequence[str]) -> Iterator[Wrong]:
    """A word that is none of those that are known."""
    if word not in known:
        yield Wrong(keys, f"is to be one of {', '.join(known)}, not {word[:40]!r}")
