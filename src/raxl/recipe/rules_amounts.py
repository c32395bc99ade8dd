"""Rules that compute amounts: a share of something, a product, how many devices work."""

from __future__ import annotations

from math import isfinite, prod

from raxl.model.facts import Reading
from raxl.model.problem import NOT_PRESENT
from raxl.recipe.node_facts import UNLIMITED, NodeFacts
from raxl.recipe.parameter_rule import Options, ParameterRule, number, refused, text, texts
from raxl.topology.working import absent, fleet


def fraction(facts: NodeFacts, options: Options) -> Reading:
    """A share of a fact, rounded down; at most so many."""
    path, share, most = text(options, "of", ""), number(options, "share", 1.0), options.get("at_most")
    reading = facts.read(path)
    if not reading.known:
        return reading
    bound = most if isinstance(most, int | float) and not isinstance(most, bool) else None
    if reading.value == UNLIMITED and bound is not None:
        return Reading(int(bound), reading.source)
    if not _is_number(reading.value):
        return refused(reading.source, f"{path} is {reading.value}, of which there is no share")
    value = int(reading.value * share)
    return Reading(value if bound is None else min(value, int(bound)), reading.source)


def product(facts: NodeFacts, options: Options) -> Reading:
    """Facts multiplied with each other, and with `times`."""
    readings = {path: facts.read(path) for path in texts(options, "of", ())}
    for path, one in readings.items():
        if not one.known:
            return one
        if not _is_number(one.value):
            return refused(one.source, f"{path} is {one.value}, which is no number")
    if not readings:
        return refused("the recipe", "it names no fact")
    result = prod([one.value for one in readings.values()]) * number(options, "times", 1)
    sources = ", ".join(dict.fromkeys(one.source for one in readings.values()))
    return Reading(int(result) if result == int(result) else result, sources)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def device_count(facts: NodeFacts, options: Options) -> Reading:
    """How many accelerators answer and can be used; of these vendors where some are named. Ray itself counts none, and
    raises no error, where a driver does not start."""
    node, vendors = facts.node, texts(options, "vendors", ())
    found = fleet(node)
    open_ = [one for one in found.open if not vendors or one.vendor in vendors]
    if open_ and found.why_open is not None:
        source = ", ".join(found.why_open.evidence) or ", ".join(open_[0].evidence)
        words = f"whether {len(open_)} of {len(found.present)} accelerators can be used: {found.why_open.message}"
        return Reading(None, source, found.why_open.reason, words)
    mine = [one for one in found.working if not vendors or one.vendor in vendors]
    if mine:
        out = f"without {', '.join(found.out)}" if found.out else ""
        sources = dict.fromkeys(name for one in mine for name in one.evidence)
        return Reading(len(mine), ", ".join(sources), message=out)
    why = absent(node, found)
    source = ", ".join(why.evidence) or facts.read("accelerators.count").source
    if why.reason == NOT_PRESENT and not found.out:
        return Reading(0, source)
    return Reading(None, source, why.reason, why.message)


RULES = (
    ParameterRule(
        "fraction",
        fraction,
        {"of": "the fact", "share": "what is taken of it: 0.5", "at_most": "an upper bound"},
        ("of", "share"),
    ),
    ParameterRule("product", product, {"of": "the facts", "times": "a factor"}, ("of",)),
    ParameterRule("device-count", device_count, {"vendors": "those that count: nvidia, amd, tpu …"}),
)
