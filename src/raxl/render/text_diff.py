"""`raxl diff`: a line for each difference, the worst first, and a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from raxl.model import difference as kinds
from raxl.model.difference import CHANGE, FAULT, NEW, Difference, DifferencesDocument, Side
from raxl.model.inventory import Inventory
from raxl.model.printable import clean
from raxl.render.diff_subjects import Subjects
from raxl.render.diff_words import field_word, unknown_word, values
from raxl.render.naming import counted
from raxl.render.quantity import listed
from raxl.render.text import Line, Page, Style, parted

_BY_IDENTITY = "matched by UUID or serial number, then PCI address, then id"
_BY_SHAPE = "two machines, compared as to shape"
_NOT_COMPARED = ": UUIDs, serial numbers, addresses and places are no differences (--all)"
_MARKS: dict[str, tuple[str, Style]] = {FAULT: ("!", "fail"), CHANGE: ("~", "warn"), NEW: ("+", "")}
_DIM: Style = "dim"
_UNKNOWN = (kinds.UNKNOWN, kinds.KNOWN)
_MOST_WORDS = 8
_MOST_EACH = 2


def diff(
    document: DifferencesDocument, before: Inventory, after: Inventory, width: int, *, unicode: bool = True
) -> list[Line]:
    """The differences as text; `before` and `after` name the devices."""
    page = Page(width, unicode)
    if not document.differences:
        unread = any(one.subject == "node" for node in (*before.nodes, *after.nodes) for one in node.problems)
        head = _heading(page, document) if document.matched_by == "shape" else []
        return parted([head, page.fold("No difference in what could be read." if unread else "No difference.")])
    subjects = Subjects(before, after)
    lines = [line for one in document.differences for line in _line(page, one, subjects)]
    return parted([_heading(page, document), lines, page.fold(_sentence(document))])


def _heading(page: Page, document: DifferencesDocument) -> list[Line]:
    how = _BY_IDENTITY
    if document.matched_by == "shape":
        how = _BY_SHAPE + ("" if document.everything else _NOT_COMPARED)
    return [*page.fold(f"{_side(document.a)} → {_side(document.b)}", 2, "bold"), *page.fold(how, 2, "dim")]


def _side(side: Side) -> str:
    """`before.tar.gz (gpu-07, 2026-05-01 10:00:00)`, UTC."""
    nodes = clean(side.nodes[0]) if len(side.nodes) == 1 else counted(len(side.nodes), "node")
    told = [] if side.operand == f"node:{nodes}" else [nodes]
    facts = [*told, clean(side.created).replace("T", " ")]
    return f"{clean(side.operand)} ({', '.join(filter(None, facts))})"


def _line(page: Page, one: Difference, subjects: Subjects) -> list[Line]:
    mark, style = ("?", _DIM) if one.kind in _UNKNOWN and one.severity != FAULT else _MARKS[one.severity]
    owner = ", ".join(filter(None, (subjects.nodes(one), subjects.devices(one)))) if one.subjects else ""
    words = _WORDS_OF.get(one.kind, _changed)(one, subjects)
    text = f"{owner}: {words}" if owner else words
    return page.fold(text, 3, _DIM if mark == "?" else "", (f"{mark}  ", style))


def _changed(one: Difference, subjects: Subjects) -> str:
    """`PCIe width ×16 → ×8`; of a link the classes alone."""
    (field,) = one.fields
    told = values(field, one.before, one.after)
    why = f" ({clean(one.why)})" if one.why else ""
    return (told if field == "link_class" else f"{field_word(field)} {told}") + why


def _gone(one: Difference, subjects: Subjects) -> str:
    if one.fields == ("ray.node",):
        return "left Ray" + (f" ({clean(one.why)})" if one.why else "")
    return "gone" + (f" ({clean(str(one.before))})" if one.before is not None else "")


def _appeared(one: Difference, subjects: Subjects) -> str:
    if one.fields == ("ray.node",):
        return "joined Ray"
    return "new" + (f" ({clean(str(one.after))})" if one.after is not None else "")


def _dead(one: Difference, subjects: Subjects) -> str:
    return "dead in Ray" + (f" ({clean(one.why)})" if one.why else "")


def _state(one: Difference, subjects: Subjects) -> str:
    if one.fields == ("state",):
        return f"{clean(str(one.after))}, was {clean(str(one.before))}"
    return _changed(one, subjects)


def _replaced(one: Difference, subjects: Subjects) -> str:
    word = field_word(one.fields[0])
    return f"replaced, {word} {_each(one)}" if len(one.subjects) == 1 else f"replaced, other {word}s"


def _moved(one: Difference, subjects: Subjects) -> str:
    ends = {(subject.before, subject.after) for subject in one.subjects}
    if one.fields == ("nodes",):
        return f"moved from {clean(str(one.subjects[0].before))}" if len(ends) == 1 else "moved from other nodes"
    return f"moved, {_each(one)}" if len(ends) <= _MOST_EACH else "moved, other PCI addresses"


def _each(one: Difference) -> str:
    """What each of a few subjects had and has."""
    return ", ".join(dict.fromkeys(values(one.fields[0], each.before, each.after) for each in one.subjects))


def _renumbered(one: Difference, subjects: Subjects) -> str:
    if one.fields == ("name",):
        return ", ".join(f"{clean(str(each.was))} is called {clean(each.node)} now" for each in one.subjects)
    return f"called {subjects.before(one)} before"


def _unknown(one: Difference, subjects: Subjects) -> str:
    why = f"{(one.reason or 'not-asked').replace('-', ' ')} ({clean(one.why or '').rstrip('.')})"
    words = list(dict.fromkeys(map(unknown_word, one.fields)))
    if len(words) > _MOST_WORDS:
        words = [*words[: _MOST_WORDS - 1], f"{len(words) - _MOST_WORDS + 1} more"]
    if one.kind == kinds.UNKNOWN:
        return f"{listed(words)} not known now: {why}"
    return f"{listed(words)} known now, before: {why}"


_WORDS_OF: Mapping[str, Callable[[Difference, Subjects], str]] = {
    kinds.GONE: _gone,
    kinds.APPEARED: _appeared,
    kinds.DEAD: _dead,
    kinds.WORSE: _state,
    kinds.BETTER: _state,
    kinds.REPLACED: _replaced,
    kinds.MOVED: _moved,
    kinds.RENUMBERED: _renumbered,
    kinds.UNKNOWN: _unknown,
    kinds.KNOWN: _unknown,
}
"""What is said of each kind; of the others, the values."""


def _sentence(document: DifferencesDocument) -> str:
    """`2 faults, 3 changes; nothing else differs.`"""
    counts = document.summary
    told = [
        counted(counts.faults, "fault") if counts.faults else "",
        counted(counts.changes, "change") if counts.changes else "",
        f"{counts.new} new" if counts.new else "",
    ]
    return f"{', '.join(filter(None, told))}; nothing else differs."
