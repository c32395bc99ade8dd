"""One recipe as text: what it is for, what it asks of a node, sets and expects, and what all that rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Optional

from raxl.model.recipe import (
    DOCUMENTED,
    LEVELS,
    OBSERVED,
    OWN_BASELINE,
    Condition,
    Expectation,
    Parameter,
    Recipe,
    Value,
)
from raxl.render.bench_units import duration, rate, size
from raxl.render.columns import Column, Row, lay_out
from raxl.render.naming import counted
from raxl.render.quantity import listed
from raxl.render.text import Line, Page, Span, parted

_HANG = 2
_BASED = {
    DOCUMENTED: "documented: it says what public pages say, and nobody has shown a run of it",
    OBSERVED: "observed: real recordings match it, and nobody has shown a run of it",
}


def shown(recipe: Recipe, name: str, width: int, *, unicode: bool = True) -> list[Line]:
    """All of it, a block for each of its parts; `name` is what it is called on the command line."""
    page = Page(width, unicode)
    head = page.fold(recipe.title, hang=_HANG, lead=(f"{recipe.name}  ", "bold"))
    return parted(
        [
            [*head, *(page.fold(recipe.summary, style="dim") if recipe.summary else [])],
            _block(page, "for", _conditions(page, recipe)),
            _block(page, "requires", _requirements(page, recipe)),
            _block(page, "computes", _parameters(page, recipe.parameters)),
            _block(page, "sets", _settings(page, recipe)),
            _block(page, "versions published together", _versions(page, recipe)),
            _block(page, "checks", _checks(page, recipe)),
            _block(page, "figures, bandwidth one way", _figures(page, recipe)),
            _block(page, "notes", [line for note in recipe.notes for line in _entry(page, note, lead=("· ", ""))]),
            _block(page, "sources", _sources(page, recipe)),
            page.fold(_sentence(recipe, name)),
        ]
    )


def _block(page: Page, title: str, lines: Sequence[Line]) -> list[Line]:
    return [[(page.spell(title), "dim")], *lines] if lines else []


def _entry(page: Page, text: str, lead: Span = ("", "")) -> list[Line]:
    return [[("  ", ""), *line] for line in Page(page.width - _HANG, page.unicode).fold(text, hang=_HANG, lead=lead)]


def _rows(page: Page, columns: Sequence[Column], rows: Sequence[Row]) -> list[Line]:
    inner = Page(page.width - _HANG, page.unicode)
    return [[("  ", ""), *line] for line in lay_out(inner, columns, rows, titled=False)]


def _conditions(page: Page, recipe: Recipe) -> list[Line]:
    lines = [line for one in recipe.match.all for line in _entry(page, _condition(one))]
    if recipe.match.by_name:
        lines += _entry(page, "or any node, where it is asked for by name")
    return lines


def _condition(one: Condition) -> str:
    return " ".join(word for word in (one.fact, one.op, _value(one.value)) if word)


def _value(value: Value) -> str:
    if isinstance(value, tuple):
        return ", ".join(_value(one) for one in value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _requirements(page: Page, recipe: Recipe) -> list[Line]:
    lines: list[Line] = []
    for one in sorted(recipe.requires, key=lambda one: LEVELS.index(one.level)):
        when = f", where {_condition(one.when)}" if one.when else ""
        told = f"{_condition(Condition(one.fact, one.op, one.value))}{when}{_rest(one.source, one.unverified)}"
        lines += _entry(page, told, lead=(f"{one.level:<6}", "warn" if one.level == "block" else "dim"))
        if one.remedy:
            lines += [
                [("        ", ""), *line] for line in Page(page.width - 8, page.unicode).fold(one.remedy, style="dim")
            ]
    return lines


def _parameters(page: Page, parameters: Mapping[str, Parameter]) -> list[Line]:
    lines: list[Line] = []
    for name, one in parameters.items():
        options = ", ".join(f"{key} {_value(value)}" for key, value in one.options.items())
        how = one.fact or f"{one.rule}({options})"
        expected = ""
        if isinstance(one.expect, Mapping):
            expected = f"; expected: {', '.join(f'{key} {_value(value)}' for key, value in one.expect.items())}"
        elif one.expect is not None:
            expected = f"; expected: {_value(one.expect)}"
        lines += _entry(page, f"{name} = {how}{expected}{_rest(one.source, one.unverified)}{_why(one.why)}")
    return lines


def _settings(page: Page, recipe: Recipe) -> list[Line]:
    lines: list[Line] = []
    for one in recipe.env.set:
        scope = "" if one.scope == "all" else f", on {one.scope} alone"
        when = f", where {_condition(one.when)}" if one.when else ""
        value = "?" if one.value is None else one.value
        told = f"{one.name}={value}{scope}{when}{_rest(one.source, one.unverified)}{_why(one.why)}"
        lines += _entry(page, told, lead=("+ ", ""))
    for gone in recipe.env.unset:
        held = Condition(gone.name, gone.op, gone.value)
        when = "" if gone.op == "present" else f", where it is {held.op} {_value(held.value)}"
        lines += _entry(
            page, f"{gone.name}{when}{_rest(gone.source, gone.unverified)}{_why(gone.why)}", lead=("- ", "")
        )
    flags = " ".join(f"--{flag}={value}" if value != "" else f"--{flag}" for flag, value in recipe.ray.start.items())
    lines += _entry(page, f"ray start {flags}") if flags else []
    lines += [line for key, value in recipe.ray.labels.items() for line in _entry(page, f"label {key}={value}")]
    lines += [line for key, amount in recipe.ray.resources.items() for line in _entry(page, f"resource {key}={amount}")]
    if recipe.kuberay.patch:
        lines += _entry(page, f"a patch of each worker group of a KubeRay manifest: {', '.join(recipe.kuberay.patch)}")
    return lines


def _versions(page: Page, recipe: Recipe) -> list[Line]:
    rows: list[Row] = [
        [(one.name, ""), (one.value or "?", ""), (_rest(one.source, one.unverified).strip(), "dim")]
        for one in recipe.versions
    ]
    return _rows(page, (Column(), Column(), Column(rank=1, least=16)), rows)


def _checks(page: Page, recipe: Recipe) -> list[Line]:
    lines = _entry(page, f"only {', '.join(recipe.diagnose.only)}") if recipe.diagnose.only else []
    for one in recipe.diagnose.skip:
        lines += _entry(page, f"skips {one.check}: {one.why}")
    expected = ", ".join(f"{key} {_value(value)}" for key, value in recipe.diagnose.expected.items())
    return [*lines, *(_entry(page, f"expects {expected}") if expected else [])]


def _figures(page: Page, recipe: Recipe) -> list[Line]:
    rows: list[Row] = [
        [
            (one.collective, ""),
            (f"{one.nodes} × {one.ranks // max(one.nodes, 1)}", ""),
            (size(one.size_bytes) if one.size_bytes else "?", ""),
            (one.algorithm or "", ""),
            (_amount(one), ""),
            (one.kind, "dim"),
            (one.date or "", "dim"),
            (_rest(one.source, one.unverified).strip(), "dim"),
        ]
        for one in recipe.expect
    ]
    columns = (Column(), Column(), Column(right=True), Column(rank=1), Column(right=True))
    return _rows(page, (*columns, Column(), Column(rank=2), Column(rank=3, least=12)), rows)


def _amount(one: Expectation) -> str:
    if one.value is None:
        return "measured here" if one.kind == OWN_BASELINE else "?"
    if one.metric == "latency_seconds":
        return duration(one.value)
    return f"{rate(one.value)} bus" if one.metric.startswith("bus") else rate(one.value)


def _sources(page: Page, recipe: Recipe) -> list[Line]:
    rows: list[Row] = [[(one.id, ""), (one.read, "dim"), (one.url, "")] for one in recipe.source]
    return _rows(page, (Column(), Column(rank=1), Column()), rows)


def _rest(source: Optional[str], unverified: Optional[str]) -> str:
    """What it rests on."""
    return f" [{source}]" if source else f" [unverified: {unverified}]" if unverified else ""


def _why(text: str) -> str:
    return f": {text}" if text else ""


def _sentence(recipe: Recipe, name: str) -> str:
    parts: Iterable[tuple[int, str]] = (
        (len(recipe.env.set), "variable"),
        (len(recipe.ray.start), "flag"),
        (len(recipe.ray.labels), "label"),
    )
    told = [counted(count, noun) for count, noun in parts if count]
    sets = f"It sets {listed(told)}" if told else "It sets nothing"
    reports = counted(len(recipe.reports), "report")
    based = _BASED.get(recipe.maturity, f"validated: {reports} of raxl on real hardware")
    if recipe.layer:
        return f"{sets}, and is a layer: others extend it."
    return f"{sets}. {based[0].upper()}{based[1:]}. What it would write here: raxl recipe plan {name}"
