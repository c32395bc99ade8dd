"""The support matrix of the documents: each family, its tier, and the real captures behind it."""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

BEGIN, END = "<!-- support matrix: make generated -->", "<!-- end of the support matrix -->"
_MOST_SOURCES = 4
_BETWEEN = re.compile(f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})", re.DOTALL)


class Family(NamedTuple):
    """One row."""

    name: str
    """Of the plug-in."""
    family: str
    tier: str | None
    captures: Sequence[tuple[str, int, Sequence[str]]]
    """Kind, how many, and where they are public."""
    missing: Sequence[str]
    """What the next tier asks for."""


def short(families: Sequence[Family]) -> str:
    """For the README: tier and count."""
    rows = [f"| {one.family} | `{one.name}` | {one.tier or 'none'} | {_count(one)} |\n" for one in families]
    return "| family | plug-in | tier | real captures |\n|---|---|---|---|\n" + "".join(rows)


def long(families: Sequence[Family]) -> str:
    """For docs/vendors.md: kinds, sources, and what is missing for the next tier."""
    head = "| family | tier | real captures | from | what the next tier asks for |\n|---|---|---|---|---|\n"
    return head + "".join(
        f"| {one.family} | {one.tier or 'none'} | {_kinds(one)} | {_sources(one)} | {'; '.join(one.missing) or '–'} |\n"
        for one in families
    )


def _count(family: Family) -> int:
    return sum(count for _, count, _ in family.captures)


def _kinds(family: Family) -> str:
    return ", ".join(f"{count} {kind}" for kind, count, _ in family.captures) or "0"


def _sources(family: Family) -> str:
    every = sorted({source for _, _, sources in family.captures for source in sources})
    more = [f"{len(every) - _MOST_SOURCES} more"] if len(every) > _MOST_SOURCES else []
    return ", ".join([*every[:_MOST_SOURCES], *more]) or "–"


def placed(document: str, table: str) -> str:
    """The document with the table between its marks. Raises ValueError where it has none."""
    if not _BETWEEN.search(document):
        raise ValueError("no marks for the support matrix")
    return _BETWEEN.sub(lambda _: table, document)
