"""`raxl recipe plan --manifest`: what is wrong with a KubeRay manifest, and the recipe's patch for its groups."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.manifest import FAIL, NOTE, WARN, ManifestFinding, ManifestGroup, ManifestResult
from raxl.render.columns import Column, Row, lay_out
from raxl.render.quantity import listed
from raxl.render.text import Line, Page, Style, parted

_COLUMNS = (
    Column("GROUP", least=12),
    Column("LINE", rank=3, right=True),
    Column("PODS", right=True),
    Column("A POD ASKS FOR", least=14),
    Column("RAY WOULD COUNT", least=14),
    Column("RECIPE", rank=2),
)
_WORDS = {FAIL: "FAIL", WARN: "WARN", NOTE: "note"}
_STYLES: dict[str, Style] = {FAIL: "fail", WARN: "warn", NOTE: "dim"}
_HANG = 6
MISSING = "missing"
"""The check of what a recipe wants and a group does not have at all."""


def manifest(result: ManifestResult, width: int, *, unicode: bool = True) -> list[Line]:
    """A table of the groups, the findings from the worst on, the patch, and a sentence."""
    page = Page(width, unicode)
    blocks = [_groups(page, result), _findings(page, result), *_patch(page, result), page.fold(_sentence(result))]
    return parted(blocks)


def _groups(page: Page, result: ManifestResult) -> list[Line]:
    lines: list[Line] = []
    for title in dict.fromkeys(one.object for one in result.groups):
        groups = [one for one in result.groups if one.object == title]
        lines += [*([[]] if lines else []), *page.fold(f"{title}  {result.origin}", style="bold")]
        lines += lay_out(page, _COLUMNS, [_row(one, result.recipe) for one in groups])
    return lines


def _row(one: ManifestGroup, recipe: str | None) -> Row:
    asked = ", ".join(f"{count} × {key}" for key, count in one.limits.items())
    counted = ", ".join(f"{amount:g} {name}" for name, amount in one.registered.items())
    return [
        (one.name, ""),
        (str(one.line), "dim"),
        ("?" if one.pods is None else str(one.pods), ""),
        (asked or "–", "" if asked else "dim"),
        (counted or "–", "" if counted else "dim"),
        ((recipe or "") if one.is_for_recipe else "", ""),
    ]


def _findings(page: Page, result: ManifestResult) -> list[Line]:
    lines: list[Line] = []
    several = len({one.object for one in result.groups}) > 1
    for one in result.findings:
        if one.check == MISSING:
            continue
        lead = (f"{_WORDS[one.level]}  ", _STYLES[one.level])
        lines += page.fold(f"{place(one, several)}: {one.message}", _HANG, lead=lead)
        if one.remedy:
            lines += page.fold(one.remedy, _HANG + 2, lead=(f"{' ' * _HANG}→ ", "dim"))
    return lines + [line for group in result.groups for line in _missing(page, result, group)]


def _missing(page: Page, result: ManifestResult, group: ManifestGroup) -> list[Line]:
    """How much of what the recipe wants a group does not have; the diff says what."""
    found = [
        one
        for one in result.findings
        if one.check == MISSING and (one.object, one.where) == (group.object, group.where)
    ]
    if not found:
        return []
    told = f"{result.recipe} wants {len(found)} settings more in {group.where}: the patch below has them"
    return page.fold(
        told if len(found) > 1 else f"line {found[0].line}: {found[0].message}", _HANG, lead=("WARN  ", "warn")
    )


def place(one: ManifestFinding, with_object: bool = False) -> str:
    """`workerGroupSpecs[0] 'gpu-workers' line 42`"""
    where = [one.object] if with_object or not one.where else []
    line = [] if one.line is None else [f"line {one.line}"]
    return " ".join([*where, *([one.where] if one.where else []), *(line or ["with the patch"])])


def _patch(page: Page, result: ManifestResult) -> list[list[Line]]:
    """The diffs of what the recipe changes; in red what needs to be allowed."""
    blocks: list[list[Line]] = []
    for one in result.groups:
        if one.diff:
            blocks.append([_diff_line(page, line) for line in one.diff.splitlines()])
    told = [
        line
        for where, why in result.loads_code.items()
        for line in page.fold(f"{where}: {why}", _HANG, "fail", (f"{'CODE':{_HANG}}", "fail"))
    ]
    if told:
        blocks.append([*told, *page.fold("It is merged with --allow-code alone.", style="fail")])
    return blocks


def _diff_line(page: Page, text: str) -> Line:
    """A line of a diff, neither cut nor folded."""
    kind = text[:1]
    style: Style = "bold" if text.startswith(("---", "+++")) else "" if kind in ("+", "-") else "dim"
    return [(page.spell(text), style)]


def _sentence(result: ManifestResult) -> str:
    counts = {level: sum(one.level == level for one in result.findings) for level in _WORDS}
    parts = [_many(counts[FAIL], "fault"), _many(counts[WARN], "warning")]
    told = listed([part for part in parts if part]) or "Nothing is wrong with it"
    changed = [one.name for one in result.groups if one.diff]
    if changed and result.recipe:
        return f"{told}. The patch of {result.recipe} changes {listed(_few(changed))}: nothing was written."
    if result.recipe and any(one.is_for_recipe for one in result.groups):
        return f"{told}. It has what {result.recipe} wants."
    if result.recipe:
        return f"{told}. No group of workers is one for {result.recipe}."
    return f"{told}. Groups, topologies, limits and labels were held against each other, not against a cluster."


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}" if count else ""


def _few(names: Sequence[str]) -> list[str]:
    return [*names[:5], f"{len(names) - 5} more"] if len(names) > 6 else list(names)
