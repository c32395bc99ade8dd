"""`raxl recipe plan` as text: why the recipe is for the node, what it wants there, every byte that it would write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raxl.model.plan import (
    CHANGED,
    EDITED,
    MET,
    NEW,
    NOTHING,
    READY,
    SAME,
    UNMET,
    UNREAD,
    Candidate,
    ComputedValue,
    Plan,
    PlanDocument,
    PlannedFile,
    Precondition,
)
from raxl.model.printable import clean
from raxl.model.recipe import BLOCK, LEVELS, NOTE, WARN
from raxl.render.margin import beside
from raxl.render.node_names import nodes_called
from raxl.render.plan_groups import grouped, refused
from raxl.render.quantity import listed
from raxl.render.recipe_plan_words import closing, counted, holds, plain, signs, statement
from raxl.render.recipe_settings import settings
from raxl.render.recipe_variable_files import left_over, variable_files
from raxl.render.text import Line, Page, Style, parted

_MARGIN = 13
"""Columns of the word that begins a part, and of the lines beneath it."""
_STATUSES = (UNMET, UNREAD, MET)
_MARKS: dict[str, tuple[str, str, Style]] = {UNMET: ("✘", "x", "fail"), UNREAD: ("?", "?", "warn"), MET: ("✔", "+", "")}
"""By status, the mark, the same in ASCII, and its colour where it blocks."""
_LEVELS = {BLOCK: "blocks", WARN: "a warning", NOTE: "a note"}
_DIFF_STYLES: dict[str, Style] = {"+": "", "-": "warn"}
_Texts = Sequence[tuple[str, Style]]


def plans(
    document: PlanDocument, width: int, *, verbose: bool = False, unicode: bool = True, is_last: bool = True
) -> list[Line]:
    """The nodes without a plan; a block for each plan, or for the nodes that have the same one; then what to type once
    it is applied, and a sentence that sums up, unless somebody else has the last word.

    `verbose` shows every setting and requirement, what each was read from, and the pages that settings come from.
    """
    page = Page(width, unicode)
    blocks: list[list[Line]] = []
    for names, message in refused(document.refused):
        blocks.append(page.fold(clean(message), hang=2, lead=(f"{nodes_called(names)}  ", "bold")))
    for names, plan in grouped(document.plans, verbose):
        blocks += [*_plan(page, names, plan, verbose), *([_next(page, plan)] if is_last else [])]
    if is_last:
        blocks.append(page.fold(closing(document)))
    return parted(blocks)


def _plan(page: Page, names: Sequence[str], plan: Plan, verbose: bool) -> list[list[Line]]:
    return [
        [
            *_heading(page, names, plan),
            *_matches(page, plan, verbose),
            *_requires(page, plan, verbose),
            *_computed(page, plan, verbose),
            *_versions(page, plan),
            *_files(page, plan),
        ],
        [*left_over(page, plan.settings), *settings(page, plan.settings, verbose), *variable_files(page, plan)],
        _edited(page, plan) if plan.status == EDITED else [],
        *[_diff(page, one) for one in plan.files if one.diff],
    ]


def _heading(page: Page, names: Sequence[str], plan: Plan) -> list[Line]:
    recipe = plan.recipe
    words = [recipe.name, recipe.title, recipe.maturity, *([plan.origin] if plan.origin != "raxl" else [])]
    return page.fold(" · ".join(map(clean, words)), hang=2, lead=(f"{nodes_called(names)}  ", "bold"))


def _part(page: Page, word: str, texts: _Texts) -> list[Line]:
    """Sentences beneath one another, beside the word that they are about."""
    lines: list[Line] = []
    for text, style in texts:
        lead = f"{'' if lines else word:<{_MARGIN}}"
        lines += beside(page, signs(text, page.unicode), _MARGIN, style, (lead, "dim"))
    return lines


def _matches(page: Page, plan: Plan, verbose: bool) -> list[Line]:
    own, *others = plan.candidates
    met = [clean(holds(one)) for one in own.conditions if one.status == MET]
    rivals = [clean(one.recipe) for one in others if one.status == MET]
    alone = f"so does {listed(rivals)}, with less" if rivals else "no other recipe does"
    texts: list[tuple[str, Style]] = []
    if own.conditions and len(met) == len(own.conditions):
        texts.append((f"{' · '.join(met)} ({alone})", ""))
    else:
        texts.append((" · ".join(["asked for by name", *met]), ""))
        texts += [(clean(statement(one)), "warn") for one in own.conditions if one.status != MET]
    if verbose:
        texts += [(f"{clean(one.recipe)}: {_kept_from(one)}", "dim") for one in others]
    return _part(page, "matches", texts)


def _kept_from(one: Candidate) -> str:
    """The first condition that keeps a recipe from this node."""
    if not one.conditions:
        return "it is used by name alone"
    failed = next((held for held in one.conditions if held.status != MET), None)
    return clean(statement(failed)) if failed else "it matches too, with less"


def _requires(page: Page, plan: Plan, verbose: bool) -> list[Line]:
    """The worst first: what blocks, what could not be read; then what is met, together."""
    worst = sorted(plan.preconditions, key=lambda one: (_STATUSES.index(one.held.status), LEVELS.index(one.level)))
    met = [one for one in worst if one.held.status == MET]
    lines: list[Line] = []
    for one in worst if verbose else worst[: len(worst) - len(met)]:
        lines += _requirement(page, one, verbose)
    if met and not verbose:
        lines += _marked(page, MET, "", " · ".join(clean(holds(one.held, one.id)) for one in met))
    if lines:
        lines[0] = [(f"{'requires':<{_MARGIN}}", "dim"), *lines[0][1:]]
    return lines


def _requirement(page: Page, one: Precondition, verbose: bool) -> list[Line]:
    told = f"{clean(one.id)}: {clean(statement(one.held))}"
    style: Style = {BLOCK: _MARKS[one.held.status][2], WARN: "warn"}.get(one.level, "dim")
    if one.held.status == MET:
        lines = _marked(page, MET, "", told)
    else:
        lines = _marked(page, one.held.status, style, f"{told} ({_LEVELS[one.level]})")
        if one.remedy:
            arrow = f"{' ' * (_MARGIN + 2)}{page.spell('→')} "
            lines += beside(page, clean(one.remedy), len(arrow), lead=(arrow, "dim"))
    if verbose:
        for text in (one.held.evidence, *([one.source] if one.source else [])):
            lines += beside(page, clean(text), _MARGIN + 4, "dim")
    return lines


def _marked(page: Page, status: str, style: Style, text: str) -> list[Line]:
    mark = _MARKS[status][0 if page.unicode else 1]
    first, *others = beside(page, signs(text, page.unicode), _MARGIN + 2)
    return [[(" " * _MARGIN, ""), (f"{mark} ", style), *first[1:]], *others]


def _computed(page: Page, plan: Plan, verbose: bool) -> list[Line]:
    texts: list[tuple[str, Style]] = []
    for one in plan.computed:
        if one.value is None and not one.is_used and not verbose:
            continue
        parameter = plan.recipe.parameters.get(one.name)
        style: Style = "dim" if not one.is_used else "" if one.status == SAME else "warn"
        texts.append((_value(one, parameter.why if parameter else ""), style))
        if verbose and one.evidence:
            texts.append((f"  {clean(one.evidence)}", "dim"))
    return _part(page, "computed", texts)


def _value(one: ComputedValue, why: str) -> str:
    if one.value is None:
        return clean(f"{one.name} is not known: {one.message}")
    told = f"{one.name} {plain(one.value)}"
    if one.status == "differs":
        told += f", where the recipe's reference is {plain(one.reference)}"
    elif one.reference is not None:
        told += ", as the reference"
    reason = one.message or why
    return clean(f"{told}: {reason}" if reason else told)


def _versions(page: Page, plan: Plan) -> list[Line]:
    """Those that differ first; what nobody published or nobody read comes last. What is neither is left out."""
    differ = [one for one in plan.versions if one.status == "differs"]
    same = [f"{clean(one.name)} {clean(one.found or '')}" for one in plan.versions if one.status == SAME]
    open_ = [one for one in plan.versions if one.status == UNREAD]
    unread = [f"{clean(one.name)} {clean(one.value)}" for one in open_ if one.value is not None]
    silent = [f"{clean(one.name)} {clean(one.found)}" for one in open_ if one.value is None and one.found is not None]
    texts: list[tuple[str, Style]] = [
        (f"{clean(one.name)} {clean(one.found or '?')}, published with {clean(one.value or '?')}", "warn")
        for one in differ
    ]
    others: list[tuple[str, list[str], Style]] = [
        ("as published", same, ""),
        ("published, not known here", unread, "dim"),
        ("here, and nobody published one", silent, "dim"),
    ]
    texts += [(f"{words}: {', '.join(names)}", style) for words, names, style in others if names]
    return _part(page, "versions", texts)


def _files(page: Page, plan: Plan) -> list[Line]:
    texts: list[tuple[str, Style]] = [(f"{clean(plan.root)}/current/", "")]
    for one in plan.files:
        size = f", {counted(one.content.count(chr(10)), 'line')}" if one.status in (NEW, CHANGED) else ""
        texts.append((f"  {clean(one.path)} ({one.status}{size})", "dim" if one.status == SAME else ""))
    return _part(page, "would write", texts) if plan.files else []


def _edited(page: Page, plan: Plan) -> list[Line]:
    """What somebody changed since it was applied."""
    lines: list[Line] = []
    for one in plan.files:
        if one.edited_diff:
            lines += page.fold(f"{clean(one.path)} was changed since it was applied:", style="fail")
            lines += _verbatim(page, one.edited_diff)
    return lines


def _diff(page: Page, one: PlannedFile) -> list[Line]:
    """What it would become: every byte."""
    words = f"what {clean(one.path)} would become then:"
    return [*(page.fold(words) if one.edited_diff else []), *_verbatim(page, one.diff)]


def _verbatim(page: Page, diff: str) -> Iterator[Line]:
    """A diff, every byte of it: neither cut nor folded."""
    for line in diff.removesuffix("\n").split("\n"):
        style: Style = "bold" if line.startswith(("--- ", "+++ ")) else _DIFF_STYLES.get(line[:1], "dim")
        text = clean(line)
        yield [(text if page.unicode else text.encode("ascii", "backslashreplace").decode(), style)]


def _next(page: Page, plan: Plan) -> list[Line]:
    """What is typed once it is applied: as it stands, neither cut nor folded."""
    if plan.status not in (READY, NOTHING):
        return []
    return [
        [(f"{'' if number else 'then':<{_MARGIN}}", "dim"), (page.spell(step), "")]
        for number, step in enumerate(plan.next_steps)
    ]
