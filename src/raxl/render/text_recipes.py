"""Recipes as text: a row each, or what is wrong with each."""

from __future__ import annotations

from collections.abc import Iterator

from raxl.model.recipe import MATURITIES, RecipeFault, RecipeRecord, RecipesDocument
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import counted
from raxl.render.quantity import listed as words_listed
from raxl.render.text import Line, Page, Style, parted

_COLUMNS = (
    Column("RECIPE"),
    Column("MATURITY", rank=2),
    Column("NEWEST SOURCE", rank=4),
    Column("FROM", rank=3),
    Column("FOR", rank=1, least=24),
)
_STYLES: dict[str, Style] = {"broken": "fail", "look": "warn", "ok": ""}
_NONE = "–"
_OWN, _FETCHED = "raxl", "fetched"


def listed(document: RecipesDocument, width: int, *, unicode: bool = True) -> list[Line]:
    """A row for each; whether they were fetched only where not all are raxl's own."""
    page = Page(width, unicode)
    foreign = any(one.origin != _OWN for one in document.recipes)
    rows: list[Row] = [
        [
            (one.name, "bold"),
            (one.maturity, ""),
            (one.newest_source or _NONE, "dim"),
            ((_OWN if one.origin == _OWN else _FETCHED) if foreign else "", "dim"),
            (one.title, ""),
        ]
        for one in document.recipes
    ]
    return parted([lay_out(page, _COLUMNS, rows, refill=True) if rows else [], page.fold(_counts(document))])


def _counts(document: RecipesDocument) -> str:
    if not document.recipes:
        return "There is no recipe."
    found = [(word, sum(one.maturity == word for one in document.recipes)) for word in reversed(MATURITIES)]
    told = words_listed([f"{count} {word}" for word, count in found if count])
    step = f"which one is for this node: raxl recipe plan; one in full: raxl recipe show {document.recipes[0].name}"
    return f"{counted(len(document.recipes), 'recipe')}, {told}; {step}"


def validated(document: RecipesDocument, width: int, *, unicode: bool = True) -> list[Line]:
    """The broken ones with all that is wrong, then those that are to be looked at, then the others."""
    page = Page(width, unicode)
    broken = [one for one in document.recipes if one.faults]
    aged = [one for one in document.recipes if not one.faults and one.warnings]
    fine = [one for one in document.recipes if not one.faults and not one.warnings]
    lines = [line for one in broken for line in _told(page, one, "broken")]
    lines += [line for one in aged for line in _told(page, one, "look")]
    lines += [line for one in fine for line in _head(page, one, "ok")]
    return parted([lines, page.fold(_sentence(document, broken, aged))])


def _told(page: Page, one: RecipeRecord, word: str) -> Iterator[Line]:
    yield from _head(page, one, word)
    for fault in (*one.faults, *one.warnings):
        yield from page.fold(_fault(fault), hang=4, lead=("  ", ""))


def _head(page: Page, one: RecipeRecord, word: str) -> list[Line]:
    what = "layer" if one.layer else one.maturity
    told = f"{one.name}  ({what})" if what else one.name
    return page.fold(told, hang=8, lead=(f"{word:<8}", _STYLES[word]))


def _fault(one: RecipeFault) -> str:
    where = f"{one.file}:{one.line}" if one.line else one.file
    return f"{where} {one.key}: {one.what}" if one.key else f"{where}: {one.what}"


def _sentence(document: RecipesDocument, broken: list[RecipeRecord], aged: list[RecipeRecord]) -> str:
    every = document.recipes
    if broken:
        count = sum(len(one.faults) for one in broken)
        who = broken[0].name if len(broken) == 1 else f"{len(broken)} of {len(every)}"
        return f"{who} cannot be used: {counted(count, 'thing')} {'is' if count == 1 else 'are'} wrong."
    if not every:
        return "There is no recipe."
    more = f"; {len(aged)} to be looked at" if aged else ""
    if len(every) == 1:
        return f"{every[0].name} is valid{more}."
    layers = sum(one.layer for one in every)
    kinds = [(len(every) - layers, "recipe"), (layers, "layer")]
    told = words_listed([counted(count, noun) for count, noun in kinds if count])
    return f"All are valid: {told}{more}."
