"""`raxl recipe verify` as text: what is wrong first, the figures, what holds, and what was not verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from raxl.model.finding import FAIL, WARN, Finding
from raxl.model.plan import MET, UNMET
from raxl.model.printable import clean
from raxl.model.verification import (
    DIFFERS,
    FAILED,
    INCOMPLETE,
    MISSING,
    SAME,
    UNKNOWN,
    Figure,
    Report,
    VerifiedNode,
    VerifiedSetting,
)
from raxl.render.columns import Column, Row, lay_out
from raxl.render.figure_words import held_against, kind_of, measured, path, share, way
from raxl.render.findings_words import rest
from raxl.render.naming import counted
from raxl.render.node_names import nodes_called
from raxl.render.quantity import listed
from raxl.render.text import Line, Page, Span, Style, display_width, parted, to_text

_MARGIN = 6
_LONGEST = 24
"""Columns of what a line is about."""
_MOST_NAMES = 6
_MANY = 3
"""So many of one kind that a place lacks are told together."""
_MOST_LINES = 12
"""Of one sort; the others are counted, and are in JSON and Markdown."""
_STYLES: dict[str, Style] = {"fail": "fail", "warn": "warn", "unknown": "dim", "skip": "dim"}
_WORDS = {"fail": "FAIL", "warn": "WARN", "unknown": "?", "baseline": "first"}
_COLUMNS = (
    Column("FIGURE", least=28),
    Column("OF", rank=3),
    Column("BETWEEN", rank=4, least=16),
    Column("MEASURED", right=True),
    Column("EXPECTED", rank=1, right=True),
    Column("SHARE", right=True),
    Column("PATH", rank=2, least=22),
    Column(""),
)


def report(document: Report, width: int, *, unicode: bool = True) -> list[Line]:
    """The report as text; its last line is a sentence."""
    page = Page(width, unicode)
    return parted(
        [
            _heading(page, document),
            _wrong(page, document),
            _figures(page, document.figures),
            _holds(page, document),
            _unverified(page, document),
            [line for step in document.next_steps for line in page.fold(step, 8, lead=("next    ", "dim"))],
            page.fold(closing(document)),
        ]
    )


def closing(document: Report) -> str:
    """What it comes to, as a sentence."""
    name = document.recipe.name
    where = document.nodes[0].name if len(document.nodes) == 1 else counted(len(document.nodes), "node")
    gaps = counted(len(document.not_verified), "thing")
    rest_ = (
        f"; {gaps} {'is' if len(document.not_verified) == 1 else 'are'} not verified" if document.not_verified else ""
    )
    if document.status == FAILED:
        wrong = counted(len(document.wrong), "thing")
        return f"{name} does not hold on {where}: {wrong} {'is' if len(document.wrong) == 1 else 'are'} wrong{rest_}."
    if document.status == INCOMPLETE:
        return f"{name} is not wrong on {where} as far as could be seen, which is not all{rest_}."
    return f"{name} holds on {where}: {_passed(document)}{rest_}."


def _passed(document: Report) -> str:
    count = Counter(one.status for one in document.figures)
    parts = [counted(document.summary.ok, "check")]
    if good := count["ok"] + count["warn"]:
        parts.append(counted(good, "figure"))
    if count["baseline"]:
        parts.append(f"{counted(count['baseline'], 'figure')} kept as the first")
    return listed(parts)


def _heading(page: Page, document: Report) -> list[Line]:
    recipe, force = document.recipe, document.in_force
    nodes = [f"{node.name}, {node.hardware}" for node in document.nodes[:2]]
    more = len(document.nodes) - len(nodes)
    told = [
        f"{recipe.title} · {recipe.maturity}",
        "; ".join(nodes) + (f" and {counted(more, 'more node')}" if more else ""),
    ]
    told.append(f"in force since {force.applied} below {force.root}" if force else "not in force here")
    return page.fold(" · ".join(told), 2, "dim", (f"{recipe.name}  ", "bold"))


def _wrong(page: Page, document: Report) -> list[Line]:
    """What fails, then what warns."""
    lines: list[Line] = []
    found = [one for one in document.findings if one.suppressed is None]
    told = list(_of_nodes(document))
    told += [("fail", one.id, one.message, None) for one in document.figures if one.status == FAIL]
    told += [_of_finding(one, document) for one in found if one.status == FAIL]
    told += [("warn", one.id, one.message, None) for one in document.figures if one.status == WARN]
    told += [_of_finding(one, document) for one in found if one.status == WARN]
    column = min(max((display_width(clean(one[1])) for one in told), default=0), _LONGEST)
    margin = min(_MARGIN + column + 2, page.width // 3)
    count = Counter(told)
    for (status, subject, words, remedy), times in sorted(count.items(), key=lambda one: one[0][0] != FAIL):
        words = f"{words}; so of {times}" if times > 1 else words
        lead = (f"{_WORDS[status]:<{_MARGIN}}{clean(subject):<{column}}  ", _STYLES[status])
        lines += page.fold(words, margin, lead=lead)
        if remedy:
            lines += page.fold(remedy, margin + 2, lead=(f"{' ' * margin}→ ", "dim"))
    return lines


_Told = tuple[str, str, str, "str | None"]
"""Status, subject, sentence, remedy."""


def _of_finding(one: Finding, document: Report) -> _Told:
    node = f"{one.node}: " if one.node and len(document.nodes) > 1 else ""
    return one.status, one.check, f"{node}{one.message}{rest(one)}", one.remedy


def _of_nodes(document: Report) -> Iterator[_Told]:
    """What of the requirements and settings of a node is not as it is to be."""
    edited = document.in_force.edited if document.in_force else ()
    if edited:
        yield "fail", "files", f"{listed(list(edited))} was changed by hand since it was applied", None
    for node in document.nodes:
        name = f"{node.name}: " if len(document.nodes) > 1 else ""
        for one in node.requirements:
            if one.held.status == UNMET and one.level != "note":
                wanted = " ".join(str(word) for word in (one.held.op, one.held.value) if word is not None)
                words = f"{name}{one.held.fact} is {one.held.found}, and is to be {wanted}"
                yield ("fail" if one.level == "block" else "warn"), one.id, words, one.remedy or None
        missing = _missing(node)
        for where, settings in missing.items():
            words = f"{name}not in {where}: {listed([one.name for one in settings])}"
            yield "warn", counted(len(settings), settings[0].kind), words, None
        for setting in node.settings:
            for place in setting.places:
                if place.status in (DIFFERS, MISSING) and setting not in missing.get(place.where, ()):
                    now = "does not have it" if place.value is None else f"has {place.value}"
                    wanted = "be unset" if setting.value is None else f"be {setting.value}"
                    yield (
                        ("fail" if place.is_applied else "warn"),
                        setting.name,
                        f"{name}is to {wanted}, and {place.where} {now}",
                        None,
                    )


def _missing(node: VerifiedNode) -> dict[str, list[VerifiedSetting]]:
    """By place, the settings of which it has none, where these are many of one kind."""
    found: dict[tuple[str, str], list[VerifiedSetting]] = {}
    for setting in node.settings:
        for place in setting.places:
            if place.status == MISSING and not place.is_applied and setting.value is not None:
                found.setdefault((place.where, setting.kind), []).append(setting)
    return {where: settings for (where, _), settings in found.items() if len(settings) >= _MANY}


def _figures(page: Page, figures: Sequence[Figure]) -> list[Line]:
    if not figures:
        return []
    order = ("fail", "warn", "unknown", "baseline", "ok", "skip")
    shown = sorted(figures, key=lambda one: order.index(one.status))
    rows: list[Row] = [_row(one) for one in shown[:_MOST_LINES]]
    lines = lay_out(page, _COLUMNS, rows)
    if len(shown) > _MOST_LINES:
        lines += page.fold(f"… {len(shown) - _MOST_LINES} more, which --format json has", style="dim")
    return lines


def _row(one: Figure) -> list[Span]:
    style = _STYLES.get(one.status, "")
    word = _WORDS.get(one.status, one.status)
    return [
        (one.id, style),
        (way(one), "dim"),
        (one.between or "", "dim"),
        (measured(one), ""),
        (f"{held_against(one)} {kind_of(one)}".strip(), "dim"),
        (share(one), style),
        (path(one), ""),
        (word, style),
    ]


def _holds(page: Page, document: Report) -> list[Line]:
    """What is as the recipe says; nodes that are told the same, together."""
    alike: dict[str, tuple[list[str], list[Line]]] = {}
    for node in document.nodes:
        body = [line for label, text in _of_node(node) for line in _labelled(page, label, text)]
        alike.setdefault(to_text(body), ([], body))[0].append(node.name)
    lines = []
    for names, body in alike.values():
        lines += page.fold(nodes_called(names), style="bold") if body and len(document.nodes) > 1 else []
        lines += body
    one = document.summary
    sums = f"{one.ok} ok, {one.warn} warn, {one.fail} fail, {one.unknown} unknown, {one.skip} skipped"
    return [*lines, *_labelled(page, "checks", sums)]


def _labelled(page: Page, label: str, text: str) -> list[Line]:
    return page.fold(text, 10, lead=(f"{label:<10}", "dim"))


def _of_node(node: VerifiedNode) -> Iterator[tuple[str, str]]:
    """What holds of a node, a sentence a sort."""
    met = [one.id for one in node.requirements if one.held.status == MET]
    if met:
        yield "requires", f"{len(met)} of {len(node.requirements)} met: {_names(met)}"
    same = [one.name for one in node.settings if one.status == SAME]
    if node.settings:
        others = Counter(one.status for one in node.settings if one.status != SAME)
        sorts = ((DIFFERS, "otherwise"), (MISSING, "missing"), (UNKNOWN, "not known"))
        more = [f"{others[status]} {word}" for status, word in sorts if others[status]]
        names = f": {_names(same)}" if same else ""
        words = f"{len(same)} of {len(node.settings)} in force as the recipe says{names}"
        yield "settings", "; ".join([words, *more])
    told = [one for one in node.versions if one.value is not None or one.found is not None]
    if told:
        yield "versions", "; ".join(_version(one.name, one.value, one.found) for one in told)


def _version(name: str, wanted: str | None, found: str | None) -> str:
    if found is None:
        return f"{name} ?" + (f", the recipe {wanted}" if wanted else "")
    if wanted is None:
        return f"{name} {found}"
    return f"{name} {found}" if found == wanted else f"{name} {found}, the recipe {wanted}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


def _unverified(page: Page, document: Report) -> list[Line]:
    lines: list[Line] = [[(page.spell("not verified"), "bold")]] if document.not_verified else []
    for words in document.not_verified[:_MOST_LINES]:
        lines += page.fold(words, 4, "dim", ("  ? ", "dim"))
    if len(document.not_verified) > _MOST_LINES:
        lines += page.fold(
            f"  … {len(document.not_verified) - _MOST_LINES} more, which --format markdown has", style="dim"
        )
    return lines
