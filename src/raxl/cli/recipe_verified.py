"""A recipe verified on its nodes: checked, measured, and kept beside the receipt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raxl.errors import RaxlError

if TYPE_CHECKING:
    from raxl.cli.recipe_nodes import Fitting
    from raxl.cli.recipe_verify import Options
    from raxl.cli.streams import Streams
    from raxl.model.recipe import Shelved
    from raxl.model.verification import Baseline, Figure, InForce, Report
    from raxl.recipe.generations import State


def verified(shelved: Shelved, found: Fitting, state: State, options: Options, streams: Streams) -> Report:
    """The report; it, and the machine's own figures, are kept where the recipe is applied."""
    from raxl.checks import diagnosis
    from raxl.model import codec
    from raxl.recipe import diagnosing, generations, notes, plan, verify
    from raxl.recipe.places import Seen

    recipe = shelved.recipe
    expected, unsaid = diagnosing.expected(recipe, found.fills(shelved))
    wanted = diagnosing.wanted(recipe, diagnosis.EVERYTHING, expected)
    diagnosis.held(wanted)
    findings = diagnosis.findings(found.inventory, found.facts, wanted)
    nodes = []
    for node, facts, asked, held in zip(
        found.inventory.nodes, found.facts, found.node_facts, found.candidates, strict=True
    ):
        made = plan.plan(shelved, held, node, facts, asked, state.root, state)
        contents = state.contents if state.generation is not None else None
        nodes.append((node, made, Seen(contents, facts, asked.case.ray)))
    figures = _figures(shelved, found, state, options, streams)
    force = _in_force(state)
    remarks = [f"{name}: {why}" for name, why in found.others.items()]
    if force is not None and force.recipe_sha256 != shelved.sha256:
        remarks.append("the recipe as it was applied: it has changed since, and raxl recipe plan shows how")
    document = verify.report(
        verify.Given(
            shelved=shelved,
            created=found.inventory.created,
            nodes=nodes,
            in_force=force,
            why_not_applied=_not_applied(state, options),
            findings=findings,
            left_out=wanted.left_out,
            unsaid=unsaid,
            figures=figures,
            remarks=remarks,
        )
    )
    if force is not None:
        try:
            notes.keep(state, {generations.REPORT_FILE: codec.encode(document)})
        except RaxlError as error:
            streams.note(f"the report is not kept: {error}")
    return document


def _in_force(state: State) -> InForce | None:
    from raxl.model.verification import InForce

    receipt = state.receipt
    if receipt is None or state.generation is None:
        return None
    return InForce(
        str(state.root), state.generation, receipt.applied, receipt.recipe, receipt.recipe_sha256, state.edited
    )


def _not_applied(state: State, options: Options) -> str | None:
    if state.generation is not None or (options.source.paths and options.root is None):
        return None
    return f"whether the recipe's settings hold: nothing is applied below {state.root}"


def _figures(shelved: Shelved, found: Fitting, state: State, options: Options, streams: Streams) -> tuple[Figure, ...]:
    """The expectations beside what was measured; what was measured for the first time is kept, or is told not to be."""
    from raxl.cli import recipe_measure
    from raxl.recipe import figures, measurable, notes
    from raxl.recipe.generations import BASELINE_FILE, CURRENT

    expectations = shelved.recipe.expect
    beside = figures.Beside(
        sources={one.id: one for one in shelved.recipe.source},
        has_accelerators=any(node.accelerators for node in found.inventory.nodes),
        software=_software(found),
    )
    baseline = notes.baseline(state)
    why = recipe_measure.refusal(options.source, no_bench=options.no_bench)
    if why is not None:
        return figures.figures(expectations, (), {one.id: measurable.never(one) or why for one in expectations}, beside)
    measured, refused = recipe_measure.measured(
        shelved.recipe, state.contents, options.source, found.inventory, options.budget, streams
    )
    if state.generation is None:
        return figures.figures(expectations, measured, refused, beside)
    beside = beside._replace(baseline=baseline)
    kept = beside._replace(baseline_file=f"{state.root}/{CURRENT}/{BASELINE_FILE}")
    told = figures.figures(expectations, measured, refused, kept)
    try:
        _keep(shelved, state, told, baseline, found.inventory.created)
    except RaxlError as error:
        return figures.figures(expectations, measured, refused, beside._replace(no_place=str(error)))
    return told


def _keep(shelved: Shelved, state: State, told: tuple[Figure, ...], baseline: Baseline | None, created: str) -> None:
    """Writes the baseline where it has changed."""
    from raxl import __version__
    from raxl.model import codec
    from raxl.model.verification import BASELINE, Baseline
    from raxl.recipe import figures, notes
    from raxl.recipe.generations import BASELINE_FILE

    own = figures.kept(told, baseline, created)
    if own != (baseline.figures if baseline else ()):
        kept = Baseline(BASELINE, __version__, shelved.recipe.name, shelved.sha256, own)
        notes.keep(state, {BASELINE_FILE: codec.encode(kept)})


def _software(found: Fitting) -> dict[str, str]:
    """By name, the versions on which all nodes agree."""
    told: dict[str, set[str]] = {}
    for node in found.inventory.nodes:
        for one in node.software:
            if one.version:
                told.setdefault(one.name, set()).add(one.version)
    return {name: versions.pop() for name, versions in told.items() if len(versions) == 1}
