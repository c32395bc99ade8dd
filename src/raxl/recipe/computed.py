"""What a recipe has computed on the node instead of copied: its parameters, and the texts that hold them.

A parameter is a fact, or a rule with options. `RULES` is the table of rules: it is closed, and nothing of a recipe is
executed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from raxl.model.facts import Reading
from raxl.model.plan import SAME, UNREAD, ComputedValue
from raxl.model.problem import NOT_SUPPORTED
from raxl.model.recipe import Parameter, Recipe, Scalar, Value
from raxl.recipe import rules_amounts, rules_interface, rules_rdma
from raxl.recipe.conditions import holds
from raxl.recipe.node_facts import ABSENT, NodeFacts
from raxl.recipe.parameter_rule import ParameterRule

DIFFERS = "differs"
RULES: Mapping[str, ParameterRule] = {
    one.name: one for one in (*rules_amounts.RULES, *rules_rdma.RULES, *rules_interface.RULES)
}
"""By name, every rule that a parameter may have, with its options."""
_HOLE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def values(recipe: Recipe, facts: NodeFacts) -> list[ComputedValue]:
    """Every parameter's value on this node, beside the recipe's reference."""
    return [_computed(name, one, facts) for name, one in recipe.parameters.items()]


def filled(text: str, told: Sequence[ComputedValue], facts: NodeFacts) -> str | None:
    """The text with each `{name}` replaced by the parameter's or fact's value; None where one is not known: `unfilled`
    says why. `{{` and `}}` are braces."""
    if unfilled(text, told, facts):
        return None
    by_name = {one.name: one for one in told}

    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        return written(by_name[found[1]].value if found[1] in by_name else facts.read(found[1]).value)

    return _HOLE.sub(value, text)


def unfilled(text: str, told: Sequence[ComputedValue], facts: NodeFacts) -> str:
    """Why the text cannot be filled; empty where it can."""
    by_name = {one.name: one for one in told}
    for name in names(text):
        if name in by_name:
            if by_name[name].value is None:
                return f"{name} is not known: {by_name[name].message}"
        else:
            reading = facts.read(name)
            if not reading.known:
                return f"{name} is not known: {reading.message or reading.reason}"
    return ""


def names(text: str) -> list[str]:
    """The parameters and facts that a text holds, in their order. Raises ValueError for a brace that stands alone."""
    found = []
    for one in _HOLE.finditer(text):
        if one[1] is not None:
            found.append(one[1])
        elif len(one[0]) == 1:
            raise ValueError(f"a brace stands alone in {text!r}: write {one[0] * 2}")
    return list(dict.fromkeys(found))


def written(value: Value) -> str:
    """A value as a text holds it: several with commas between them."""
    if isinstance(value, tuple):
        return ",".join(written(one) for one in value if one is not None)
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _computed(name: str, parameter: Parameter, facts: NodeFacts) -> ComputedValue:
    reading = _reading(parameter, facts)
    if not reading.known:
        return ComputedValue(
            name, None, None, UNREAD, reading.source, reading.message or reading.reason or "it is not known"
        )
    reference, message = _reference(parameter, facts)
    if reference is None:
        status = UNREAD if message else SAME
        return ComputedValue(name, reading.value, None, status, reading.source, message or reading.message)
    status = SAME if _is_same(reading.value, reference) else DIFFERS
    return ComputedValue(name, reading.value, reference, status, reading.source, reading.message)


def _reading(parameter: Parameter, facts: NodeFacts) -> Reading:
    if parameter.rule is None:
        return facts.read(parameter.fact or "")
    rule = RULES.get(parameter.rule)
    if rule is None:
        return Reading(None, "nothing", NOT_SUPPORTED, f"raxl has no rule {parameter.rule}")
    return rule.run(facts, parameter.options)


def _reference(parameter: Parameter, facts: NodeFacts) -> tuple[Scalar, str]:
    """The reference value, or why it is not known which one it is; neither where the recipe has none for this node."""
    if not isinstance(parameter.expect, Mapping):
        return parameter.expect, ""
    own = facts.read("placement.instance_type")
    if own.known:
        return parameter.expect.get(str(own.value)), ""
    if own.reason in ABSENT:
        return None, ""
    return None, f"the reference is by instance type, and that is not known: {own.message}"


def _is_same(value: Value, reference: Scalar) -> bool:
    """Whether they are equal; of lists in any order."""
    if isinstance(value, str) and isinstance(reference, str) and "," in f"{value}{reference}":
        return _entries(value) == _entries(reference)
    return holds("==", value, reference)


def _entries(text: str) -> tuple[bool, frozenset[str]]:
    text = text.strip()
    return text.startswith("="), frozenset(part.strip() for part in text.removeprefix("=").split(","))
