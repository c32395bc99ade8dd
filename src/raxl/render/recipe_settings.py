"""The settings of a plan as text: a line each with where it comes from; what needs no reading together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from raxl.model.plan import CHANGED, KEPT, NEW, REMOVED, SAME, UNREAD, Setting
from raxl.model.printable import clean
from raxl.render.margin import beside
from raxl.render.recipe_variable_files import overridden, stays
from raxl.render.text import Line, Page, Span, Style, display_width

_MARGIN = 4
_GAP = 2
_WIDEST = 0.42
"""Of a line's columns so many hold a setting; what is wider has its reason beneath."""
_SIGNS = {NEW: "+", CHANGED: "~", SAME: "=", REMOVED: "-", KEPT: "·", UNREAD: "?"}
_ORDER = (REMOVED, CHANGED, NEW, UNREAD, KEPT, SAME)
_KINDS = {"label": "a label", "resource": "a resource", "kuberay": "of KubeRay"}
_ORIGINS = {"recipe": "from the recipe", "computed": "computed here", "labels": "from the hardware"}
_SCOPES = {"head": "on the head alone", "workers": "not on the head"}
_RAYLETS = re.compile(r"/proc/\d+/environ")
_OWN = "environ(7)"
"""The environment of the process that asked."""


def settings(page: Page, told: Sequence[Setting], verbose: bool) -> list[Line]:
    """What may load code first, then what changes. Labels of the hardware, and variables that are as they should be,
    are named together; a KubeRay patch is seen in its file. `verbose` shows each, with the page that it is from."""
    shown = [one for one in told if verbose or not _is_plain(one)]
    shown.sort(key=lambda one: (not one.loads_code, not _is_open(one), _ORDER.index(one.status)))
    texts = [(one, written(one)) for one in shown]
    most = int((page.width - _MARGIN) * _WIDEST)
    column = min(max((display_width(page.spell(text)) for _, text in texts), default=0), most)
    lines: list[Line] = []
    for one, text in texts:
        lines += _setting(page, one, text, column)
        if verbose and one.source:
            lines += beside(page, clean(one.source), _MARGIN + column + _GAP, "dim")
    if not verbose:
        lines += _together(page, told)
    return lines


def written(one: Setting) -> str:
    """`NAME=value`, `--flag=value`, the name of what is unset or not known."""
    name = f"--{one.name}" if one.kind == "ray-start" else one.name
    return name if one.kind == "unset" or one.value is None or one.value == "" else f"{name}={one.value}"


def _is_open(one: Setting) -> bool:
    """Whether its value is not known."""
    return one.value is None and one.status == UNREAD and one.kind != "unset"


def _is_plain(one: Setting) -> bool:
    """Whether it is told together with others."""
    if one.loads_code or _is_open(one) or one.status in (REMOVED, CHANGED) or overridden(one):
        return False
    return one.kind == "kuberay" or one.origin == "labels" or one.status == SAME or one.kind == "unset"


def _together(page: Page, told: Sequence[Setting]) -> Iterator[Line]:
    plain = [one for one in told if _is_plain(one)]
    own = [one for one in plain if one.origin == "labels" and one.status == NEW]
    right = [one for one in plain if one.kind not in ("kuberay", "unset") and one.status == SAME]
    gone = [one for one in plain if one.kind == "unset" and not stays(one)]
    unset = {status: [one for one in gone if one.status == status] for status in _ORDER}
    groups: list[tuple[str, Style, Sequence[Setting], str]] = [
        ("+", "", own, "labels from the hardware"),
        ("=", "dim", right, "as it should be"),
        ("=", "dim", unset[SAME], "unset, and not in the environment now"),
        ("?", "dim", unset[UNREAD], "unset, and not known whether it is set now"),
        ("·", "dim", unset[KEPT], "unset where it has a stale value, which it has not"),
    ]
    for sign, style, members, words in groups:
        if members:
            text = f"{words}: {', '.join(clean(written(one)) for one in members)}"
            yield from beside(page, text, _MARGIN, style, (f"  {_spelled(page, sign)} ", style))
    entries = sum(one.kind == "kuberay" and one.status != SAME for one in plain)
    if entries:
        text = f"{entries} entries of a KubeRay worker group, as the patch below has them"
        yield from beside(page, text, _MARGIN, "", ("  + ", ""))


def _setting(page: Page, one: Setting, text: str, column: int) -> list[Line]:
    calm: Style = "dim" if one.status in (SAME, KEPT) else ""
    style: Style = "fail" if one.loads_code else "warn" if _is_open(one) else calm
    # What is there now may be unknown: the value is written all the same.
    sign = "+" if one.status == UNREAD and one.value is not None else _SIGNS[one.status]
    shown, hang = page.spell(text), _MARGIN + column + _GAP
    head: Line = [(f"  {_spelled(page, sign)} ", style), (shown, style)]
    reason = beside(page, clean(_reason(one)), hang, "fail" if one.loads_code else "dim")
    if display_width(shown) > column:
        # A value is shown whole, however wide it is: it is what will be written.
        return [head, *reason]
    pad: Span = (" " * (column - display_width(shown) + _GAP), "")
    return [[*head, pad, *reason[0][1:]], *reason[1:]]


def _spelled(page: Page, sign: str) -> str:
    """The sign; in ASCII a middle dot would be the sign of what goes."""
    return "." if sign == _SIGNS[KEPT] and not page.unicode else sign


def _reason(one: Setting) -> str:
    """Where its value comes from, why it is so, and what is there now."""
    if one.loads_code:
        return f"loads code: {one.message}; only with --allow-code"
    over = overridden(one)
    if one.origin == "environment":
        return f"set {_where(one)}, and stays" + (f"; {over}" if over else "")
    words = [one.message] if one.message else []
    if one.kind == "unset":
        told = "unset" if one.was is None else f"set to {one.was} {_where(one)}"
    else:
        told = ", ".join(
            part for part in (_KINDS.get(one.kind), _ORIGINS.get(one.origin), _SCOPES.get(one.scope)) if part
        )
        if one.kind == "env" and one.was not in (None, one.value):
            words.append(f"{one.was} {_where(one)} now")
        elif one.kind != "env" and one.status == CHANGED:
            words.append(f"{one.was} before")
        words += [over] if over else []
    return "; ".join([f"{told}: {one.why}" if one.why else told, *words])


def _where(one: Setting) -> str:
    if _RAYLETS.fullmatch(one.evidence):
        return "in the raylet's environment"
    return "in this environment" if one.evidence == _OWN else f"in {one.evidence}"
