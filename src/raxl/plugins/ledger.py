"""What stands behind raxl's own plug-ins: real captures that it reads, hardware that it was seen on, and the tier.

`captures.json` and `tiers.json` beside this file are made by a command (`make captures`, `make generated`): neither the
captures nor the recordings travel with the package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Mapping

from raxl.model.plugin import Criterion

FOLDER = Path(__file__).parent
CAPTURES, TIERS = FOLDER / "captures.json", FOLDER / "tiers.json"


@dataclass(frozen=True)
class Captures:
    """Real captures of one kind that show a family's devices."""

    kind: str
    count: int
    sources: tuple[str, ...]
    """The public repositories and threads that they come from."""


@dataclass(frozen=True)
class Ledger:
    """What is known of one family from real machines."""

    captures: tuple[Captures, ...] = ()
    seen: tuple[str, ...] = ()
    """Devices on which raxl was compared with the vendor's tool: `device, driver, date, raxl`."""

    @property
    def count(self) -> int:
        """How many captures there are."""
        return sum(one.count for one in self.captures)


def of(vendor: str) -> Ledger:
    """The family's entry, by the first half of its ids."""
    told = _read(CAPTURES).get(vendor, {})
    captures = tuple(Captures(one["kind"], one["count"], tuple(one["sources"])) for one in told.get("captures", ()))
    return Ledger(captures, tuple(told.get("seen", ())))


def tier(name: str) -> tuple[str | None, tuple[Criterion, ...]]:
    """The tier of one of raxl's own plug-ins as it was computed when raxl was made, with its criteria."""
    told = _read(TIERS).get(name, {})
    return told.get("tier"), tuple(Criterion(**one) for one in told.get("criteria", ()))


@cache
def _read(path: Path) -> Mapping[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def forget() -> None:
    """Has the files read again: they were written."""
    _read.cache_clear()
