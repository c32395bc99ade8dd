"""`raxl diagnose` as text: the worst first with what to do beneath, and how much was seen last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.model.finding import FAIL, OK, SKIP, UNKNOWN, WARN, Coverage, Finding, Findings
from raxl.render.findings_words import closing, counted, gaps, healthy, named, rest
from raxl.render.node_names import nodes_called
from raxl.render.text import Line, Page, Style, display_width, parted, to_text

_HEADS: dict[str, tuple[str, Style]] = {
    FAIL: ("FAIL", "fail"),
    WARN: ("WARN", "warn"),
    UNKNOWN: ("?", "dim"),
    SKIP: ("skip", "dim"),
    OK: ("ok", "dim"),
}
_MARGIN = 6
"""Columns of the word that begins a finding, and of the lines beneath it."""
_MOST_ALIKE = 3
"""Findings of one check on one node that are shown one by one; the others are counted."""
_MOST_NAMES = 8
"""Subjects that are named of those that are not shown."""
_LONGEST_CHECK = 24


def findings(found: Findings, width: int, *, verbose: bool = False, unicode: bool = True) -> list[Line]:
    """A block for each node where something is to be told, or for those that are told the same; one line for all
    others, and the sentence that sums up.

    `verbose` shows every finding, and what each goes by.
    """
    page = Page(width, unicode)
    own: dict[str, list[Finding]] = {one.node: [] for one in found.coverage}
    for one in found.findings:
        own.setdefault(one.node, []).append(one)
    seen = {one.node: one for one in found.coverage}
    calm = [one.node for one in found.coverage if len(seen) > 1 and not verbose and healthy(one, own[one.node])]
    alike: dict[str, tuple[list[str], list[Line]]] = {}
    for name, told in own.items():
        if told and name not in calm:
            words, body = _summed(seen.get(name), told, found.recipe), _body(page, told, verbose)
            alike.setdefault(f"{words}\n{to_text(body)}", ([], body))[0].append(name)
    blocks = [
        [*_heading(page, names, text.partition("\n")[0]), *([[]] if body else []), *body]
        for text, (names, body) in alike.items()
        if body or seen.get(names[0])
    ]
    if calm:
        blocks.append(page.fold(f"{nodes_called(calm)}: nothing wrong, and all that matters was read", hang=2))
    return parted([*blocks, page.fold(closing(found), hang=0)])


def _summed(coverage: Coverage | None, told: Sequence[Finding], recipe: str | None) -> str:
    by = f"by recipe {recipe} · " if recipe else ""
    return f"{by}{coverage.levels[-1]} · {coverage.vantage} · {counted(told)}" if coverage else ""


def _body(page: Page, told: Sequence[Finding], verbose: bool) -> list[Line]:
    """What is wrong on a node, what could not be read, and what is known."""
    shown = [one for one in told if one.suppressed is None and (verbose or one.status in (FAIL, WARN))]
    column = min(max((display_width(one.check) for one in shown), default=0), _LONGEST_CHECK)
    body: list[Line] = []
    for alike, hidden in _thinned(shown, verbose):
        if alike:
            body += _finding(page, alike[0], alike[1:], column, verbose)
        if hidden and not alike:
            words = f"{_more(hidden)}, beside the faults of the same"
            body += page.fold(words, _MARGIN, "dim", lead=(f"{' ' * _MARGIN}{hidden[0].check}  ", "dim"))
        elif hidden:
            body += page.fold(_more(hidden), _MARGIN, "dim", lead=(" " * _MARGIN, ""))
    if not verbose:
        for words in gaps(told):
            body += page.fold(words, hang=_MARGIN, style="dim", lead=("?".ljust(_MARGIN), "dim"))
    for one in told:
        if one.suppressed is not None:
            words = f"{one.check} {one.subject} is known until {one.suppressed.until}: {one.suppressed.reason}"
            body += page.fold(words, hang=_MARGIN, style="dim", lead=("·".ljust(_MARGIN), "dim"))
    return body


def _heading(page: Page, names: Sequence[str], words: str) -> list[Line]:
    """The node, or the nodes that are told the same, and how much was seen of them."""
    name = nodes_called(names) if any(names) else "all nodes"
    if not words:
        return page.fold(name, style="bold")
    return page.fold(words, hang=2, style="dim", lead=(f"{name}  ", "bold"))


def _thinned(shown: Sequence[Finding], verbose: bool) -> Iterator[tuple[Sequence[Finding], Sequence[Finding]]]:
    """The findings that say the same of several subjects, and those behind them that are not shown.

    Of a check every subject's first finding comes before any second one; a subject whose worst finding is not shown
    has no lesser one shown in its place.
    """
    alike: dict[tuple[str, str], list[Finding]] = {}
    for one in shown:
        alike.setdefault((one.status, one.check), []).append(one)
    unshown: dict[str, set[str]] = {}
    for (_, check), told in alike.items():
        sets = _sets(told)
        kept = sets if verbose else [one for one in sets if not unshown.get(check, set()).issuperset(_subjects(one))]
        kept = kept if verbose or len(kept) <= _MOST_ALIKE + 1 else kept[:_MOST_ALIKE]
        hidden = [one for group in sets if group not in kept for one in group]
        unshown.setdefault(check, set()).update(
            set(_subjects(hidden)) - {s for group in kept for s in _subjects(group)}
        )
        for group in kept[:-1]:
            yield group, ()
        yield kept[-1] if kept else (), hidden


def _sets(told: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that say the same, together; those first that tell of a subject of which none before them does."""
    same: dict[tuple[str, str | None], list[Finding]] = {}
    for one in told:
        same.setdefault((one.message, one.remedy), []).append(one)
    first: list[list[Finding]] = []
    later: list[list[Finding]] = []
    seen: set[str] = set()
    for group in same.values():
        (later if seen.issuperset(_subjects(group)) else first).append(group)
        seen.update(_subjects(group))
    return [*first, *later]


def _subjects(told: Sequence[Finding]) -> list[str]:
    return list(dict.fromkeys(one.subject for one in told))


def _more(hidden: Sequence[Finding]) -> str:
    """How many findings are not shown, and of what."""
    names = [name for name in _subjects(hidden) if name != "node"]
    if not names:
        return f"and {len(hidden)} more like it (-v shows all)"
    told = ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")
    return f"and {len(hidden)} more: {told} (-v shows all)"


def _finding(page: Page, one: Finding, others: Sequence[Finding], column: int, verbose: bool) -> list[Line]:
    word, style = _HEADS[one.status]
    margin = " " * min(_MARGIN + column + 2, page.width // 3)
    also = f"; so of {len(others) + 1}: {named([one.subject, *(other.subject for other in others)])}" if others else ""
    lead = f"{word:<{_MARGIN}}{one.check:<{column}}  "
    lines = page.fold(f"{one.message}{rest(one)}{also}", hang=len(margin), lead=(lead, style))
    if one.remedy and one.status in (FAIL, WARN):
        lines += _remedy(page, one, margin)
    if verbose:
        for told in one.evidence:
            lines += page.fold(f"{told.source}: {told.value}", len(margin) + 2, "dim", lead=(margin, ""))
    return lines


def _remedy(page: Page, one: Finding, margin: str) -> list[Line]:
    """What to do, and at the right edge what has to stop for it."""
    lines = page.fold(one.remedy or "", hang=len(margin) + 2, lead=(f"{margin}→ ", "dim"))
    used = sum(display_width(text) for text, _ in lines[-1])
    room = page.width - used - len(one.remedy_class)
    if room >= 2:
        lines[-1] = [*lines[-1], (" " * room + one.remedy_class, "dim")]
        return lines
    return [*lines, [(" " * max(page.width - len(one.remedy_class), 0) + one.remedy_class, "dim")]]
