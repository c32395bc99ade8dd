"""The checks themselves: a list, one explained, and all of them as a page."""

from __future__ import annotations

import re

from raxl.model.finding import CheckRecord, ChecksDocument
from raxl.render.columns import Column, Row, lay_out
from raxl.render.text import Line, Page, parted

_COLUMNS = (
    Column("CHECK"),
    Column("PRIORITY", rank=2),
    Column("LEVEL", rank=1),
    Column("FROM", rank=3),
    Column("SAYS"),
)
_FROM = {"anywhere": "anywhere", "host": "the host", "root": "root"}


def listed(document: ChecksDocument, width: int, *, unicode: bool = True) -> list[Line]:
    """A row for each check."""
    page = Page(width, unicode)
    rows: list[Row] = [
        [(one.id, ""), (one.priority, "dim"), (one.level, "dim"), (_FROM[one.vantage], "dim"), (one.title, "")]
        for one in document.checks
    ]
    count = "1 check" if len(document.checks) == 1 else f"{len(document.checks)} checks"
    return parted([lay_out(page, _COLUMNS, rows), page.fold(f"{count}; one in full: raxl diagnose --explain CHECK")])


def explained(document: ChecksDocument, width: int, *, unicode: bool = True) -> list[Line]:
    """Each check in full."""
    page = Page(width, unicode)
    return parted([_block(page, one) for one in document.checks])


def _block(page: Page, one: CheckRecord) -> list[Line]:
    lines = page.fold(one.title, hang=2, lead=(f"{one.id}  ", "bold"))
    facts = f"{one.priority} · level {one.level} · from {_FROM[one.vantage]} · remedy {one.remedy_class}"
    lines += page.fold(facts, style="dim")
    for paragraph in _paragraphs(one.explanation):
        lines += [[], *page.fold(paragraph.replace("`", ""))]
    if one.thresholds:
        lines += [[], *page.fold("A policy file may set:")]
        lines += [[("  ", ""), (f"{name} = {_number(value)}", "")] for name, value in one.thresholds.items()]
    if one.reference:
        lines += [[], [(page.spell(one.reference), "dim")]]
    return lines


def page(document: ChecksDocument) -> str:
    """All of them as Markdown."""
    lines = [
        "# Checks",
        "",
        "What `raxl diagnose` looks at. This page is made by `raxl diagnose --list --format markdown`.",
        "",
        "| check | priority | level | from | says |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in document.checks:
        anchor = one.id.replace(".", "")
        lines.append(f"| [`{one.id}`](#{anchor}) | {one.priority} | {one.level} | {_FROM[one.vantage]} | {one.title} |")
    for one in document.checks:
        lines += ["", f"## {one.id}", "", f"{one.title}. Remedy, as a rule: {one.remedy_class}."]
        for paragraph in _paragraphs(one.explanation):
            lines += ["", paragraph]
        if one.thresholds:
            told = ", ".join(f"`{name}` = {_number(value)}" for name, value in one.thresholds.items())
            lines += ["", f"A policy file may set {told}."]
        if one.reference:
            lines += ["", f"<{one.reference}>"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}"
