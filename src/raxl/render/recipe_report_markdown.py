"""A recipe's report as Markdown: what a vendor publishes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from raxl.model.finding import SKIP, Finding
from raxl.model.plan import Precondition
from raxl.model.verification import OVERRIDDEN, Figure, Place, Report, VerifiedNode, VerifiedSetting
from raxl.model.verification import UNKNOWN as UNTOLD
from raxl.render.figure_words import NONE, UNKNOWN, held_against, interval, measured, metric, path, share, way
from raxl.render.findings_words import rest
from raxl.render.text_recipe_report import closing

_PAGE = r"https?://[A-Za-z0-9._~/?#@!$&*+=%:-]*[A-Za-z0-9/]"


def markdown(document: Report) -> str:
    """What was not verified comes first, then what is wrong, and everything that was seen."""
    recipe = document.recipe
    lines = [f"# {_plain(recipe.title)}", "", _plain(closing(document)), ""]
    lines += _facts(document)
    lines += _list("Not verified", document.not_verified)
    lines += _list("Wrong", document.wrong)
    lines += _figures(document.figures)
    for node in document.nodes:
        lines += _node(node)
    lines += _findings(document)
    return "\n".join(lines).rstrip() + "\n"


def _facts(document: Report) -> list[str]:
    recipe, force = document.recipe, document.in_force
    edited = f", changed by hand since: {', '.join(force.edited)}" if force and force.edited else ""
    rows = [
        ("recipe", f"{recipe.name} ({recipe.maturity}), from {recipe.origin}"),
        ("its SHA-256", recipe.recipe_sha256),
        ("in force", f"since {force.applied}, generation {force.generation}{edited}" if force else "no"),
        ("status", document.status),
        ("verified", f"{document.created}, raxl {document.raxl_version}"),
        *((f"node {node.name}", f"{node.hardware}, read from {node.source}") for node in document.nodes),
    ]
    return _table(("", ""), rows)


def _list(title: str, sentences: Sequence[str]) -> list[str]:
    if not sentences:
        return []
    return [f"## {title}", "", *(f"- {_plain(one)}" for one in sentences), ""]


def _figures(figures: Sequence[Figure]) -> list[str]:
    if not figures:
        return []
    head = ("figure", "of", "metric", "expected", "source", "measured", "95 %", "share", "path", "status")
    rows = [
        (
            one.id,
            way(one) + (f", {one.between}" if one.between else ""),
            metric(one),
            f"{held_against(one)} {one.kind}",
            _source(one),
            measured(one),
            interval(one),
            share(one),
            path(one),
            one.status,
        )
        for one in figures
    ]
    told = [f"- `{_code(one.id)}`: {_plain(one.message)}" for one in figures if one.message]
    return ["## Figures", "", *_table(head, rows), *told, ""]


def _source(one: Figure) -> str:
    """Where the expected value comes from, of which day, and with which versions it was measured."""
    read = f"read {one.source_read}" if one.source_read else None
    software = ", ".join(f"{name} {version}" for name, version in one.software.items())
    parts = [one.source, one.date, read, software, f"unverified: {one.unverified}" if one.unverified else None]
    return ", ".join(part for part in parts if part) or NONE


def _node(node: VerifiedNode) -> Iterator[str]:
    yield from (f"## {_plain(node.name)}", "", _plain(node.hardware), "")
    if node.versions:
        versions = [(one.name, one.value or NONE, one.found or UNKNOWN, one.status) for one in node.versions]
        yield from ("### Versions", "", *_table(("name", "recipe", "here", "status"), versions))
    if node.software:
        yield from ("### Software seen", "", *_table(("name", "version"), sorted(node.software.items())))
    if node.requirements:
        rows = [_requirement(one) for one in node.requirements]
        yield from ("### Requirements", "", *_table(("id", "wanted", "found", "status", "remedy"), rows))
    if node.settings:
        head = ("setting", "recipe", "origin", "where it is set", "status", "why", "source")
        yield from ("### Settings", "", *_table(head, [_setting(one) for one in node.settings]))


def _requirement(one: Precondition) -> tuple[str, ...]:
    held = one.held
    wanted = " ".join(str(word) for word in (held.fact, held.op, held.value) if word is not None)
    found = UNKNOWN if held.found is None else str(held.found)
    status = held.status if not held.message else f"{held.status} ({held.message})"
    return (f"{one.id} ({one.level})", wanted, found, status, one.remedy)


def _setting(one: VerifiedSetting) -> tuple[str, ...]:
    where = "; ".join(f"{place.where}: {_value(place)}" for place in one.places)
    value = "unset" if one.value is None and one.kind == "unset" else one.value if one.value is not None else UNKNOWN
    scope = "" if one.scope == "all" else f", {one.scope}"
    return (
        f"{one.name} ({one.kind}{scope})",
        value,
        one.origin,
        where or UNKNOWN,
        one.status,
        one.why,
        one.source or "",
    )


def _value(place: Place) -> str:
    if place.value is None:
        return UNKNOWN if place.status == UNTOLD else "not set"
    return f"{place.value}, {OVERRIDDEN}" if place.status == OVERRIDDEN else place.value


def _findings(document: Report) -> Iterator[str]:
    counts = document.summary
    yield from (
        "## Checks",
        "",
        f"{counts.ok} ok, {counts.warn} warn, {counts.fail} fail, {counts.unknown} unknown, {counts.skip} skipped.",
        "",
    )
    told = [one for one in document.findings if one.status != SKIP]
    if told:
        head = ("status", "check", "about", "found", "remedy")
        yield from _table(head, [_finding(one) for one in told])
    skipped = [(one.check, _about(one), one.message) for one in document.findings if one.status == SKIP]
    skipped += [(", ".join(one.checks), "", one.why) for one in document.left_out]
    if skipped:
        yield from ("### Skipped", "", *_table(("check", "about", "why"), skipped))


def _finding(one: Finding) -> tuple[str, ...]:
    status = one.status if one.suppressed is None else f"{one.status}, known until {one.suppressed.until}"
    return (status, one.check, _about(one), f"{one.message}{rest(one)}", one.remedy or "")


def _about(one: Finding) -> str:
    return one.node if one.subject == "node" else f"{one.node} {one.subject}".strip()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return [*lines, *(f"| {' | '.join(_cell(one) for one in row)} |" for row in rows), ""]


def _cell(text: str) -> str:
    """On one line; the address of a page as a link."""
    words = " ".join(text.split())
    return re.sub(_PAGE, lambda found: f"<{found[0]}>", _plain_between(words))


def _plain_between(text: str) -> str:
    """Text that Markdown takes as it stands, but for addresses, of which nothing acts."""
    parts, place = [], 0
    for found in re.finditer(_PAGE, text):
        parts += [_plain(text[place : found.start()]), found[0]]
        place = found.end()
    return "".join([*parts, _plain(text[place:])])


def _plain(text: str) -> str:
    """Text that Markdown takes as it stands."""
    return "".join(f"\\{c}" if c in "\\`*_<>[]#|" else c for c in text)


def _code(text: str) -> str:
    return text.replace("`", "'")
