"""`raxl diagnose`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from raxl.cli import checks_described, outcome, recipe_diagnose, source

if TYPE_CHECKING:
    from raxl.checks.diagnosis import Wanted
    from raxl.cli.streams import Streams
    from raxl.model.finding import Findings


class Level(str, Enum):
    """How much is asked."""

    quick = "quick"
    standard = "standard"
    deep = "deep"


class FailOn(str, Enum):
    """What makes exit 1."""

    warn = "warn"
    fail = "fail"


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"
    junit = "junit"
    prometheus = "prometheus"
    markdown = "markdown"


class Options(NamedTuple):
    """The flags of `raxl diagnose`."""

    source: source.Source
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    level: Level = Level.standard
    fail_on: FailOn = FailOn.fail
    policy: Path | None = None
    recipe: str | None = None
    list: bool = False
    explain: str | None = None
    verbose: bool = False
    format: Format = Format.text
    output: Path | None = None


Globs = Optional[list[str]]
Budget = Annotated[
    Optional[float],
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=0.1,
        help="The whole budget of a node [default: 20; 0.7 at level quick].",
        rich_help_panel="Source",
    ),
]


def command(
    only: Annotated[
        Globs, typer.Option("--only", metavar="GLOB", help="Only these checks: 'ib.*'. Repeatable.")
    ] = None,
    skip: Annotated[Globs, typer.Option("--skip", metavar="GLOB", help="Not these checks. Repeatable.")] = None,
    require: Annotated[
        Globs,
        typer.Option(
            "--require",
            metavar="GLOB|p0",
            help="These checks must be answered: one that cannot be read from here (a container, no root) is unknown "
            "instead of skipped, hence exit 3. Repeatable.",
        ),
    ] = None,
    level: Annotated[
        Level,
        typer.Option(
            "--level", help="quick asks no driver and ends within a second; deep takes what standard does not wait for."
        ),
    ] = Level.standard,
    fail_on: Annotated[FailOn, typer.Option("--fail-on", help="What makes exit 1.")] = FailOn.fail,
    policy: Annotated[
        Optional[Path],
        typer.Option("--policy", metavar="FILE", help="Thresholds, expectations and suppressions (YAML)."),
    ] = None,
    recipe: Annotated[
        Optional[str],
        typer.Option(
            "--recipe",
            metavar="NAME|FILE",
            help="Look as this deployment recipe does: its checks, expectations and thresholds, before the policy's.",
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Print all checks, and check nothing.")] = False,
    explain: Annotated[
        Optional[str],
        typer.Option("--explain", metavar="CHECK", help="Print what a check goes by, and check nothing."),
    ] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show what each finding goes by.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="How the result is written.")] = Format.text,
    output: source.Output = None,
    from_: source.From = None,
    as_node: source.AsNode = None,
    cluster: source.Cluster = False,
    address: source.Address = None,
    record: source.Record = None,
    timeout: Budget = None,
    plugins: source.Plugins = None,
) -> None:
    """Check hardware, drivers, links and Ray's view of them; say what is wrong and what to do."""
    from raxl.cli.streams import Streams

    questions = "quick" if level is Level.quick else "checks"
    seconds = timeout or (0.7 if level is Level.quick and not cluster else 20.0)
    chosen = source.Source(
        tuple(from_ or ()), as_node, record, seconds, tuple(plugins or ()), cluster, address, questions
    )
    options = Options(
        chosen,
        tuple(only or ()),
        tuple(skip or ()),
        tuple(require or ()),
        level,
        fail_on,
        policy,
        recipe,
        list_,
        explain,
        verbose,
        format_,
        output,
    )
    raise typer.Exit(run(options, Streams()))


def run(options: Options, streams: Streams) -> int:
    """Reads, checks, writes, and returns the exit code."""
    if options.list or options.explain is not None:
        return checks_described.run(options, streams)
    from raxl.checks import diagnosis

    diagnosis.held(wanted := _wanted(options, streams))
    shelved = recipe_diagnose.named(options.recipe, wanted) if options.recipe is not None else None
    recordings, inventory = source.assembled(options.source, "raxl.checks.diagnosis")
    from raxl.collect import facts

    own = [facts.of(recording, node) for recording, node in zip(recordings, inventory.nodes, strict=True)]
    if shelved is not None:
        inventory, own, wanted = recipe_diagnose.narrowed(shelved, inventory, own, wanted, streams)
    found = diagnosis.findings(inventory, own, wanted)
    _write(found, options, streams)
    return outcome.of_findings(found, options.fail_on.value)


def _wanted(options: Options, streams: Streams) -> Wanted:
    from raxl.checks.diagnosis import Wanted
    from raxl.collect import clock, policy_file
    from raxl.model.policy import Policy

    policy = policy_file.read(options.policy) if options.policy else Policy()
    for one in policy.suppressions:
        if one.until < clock.now()[:10]:
            streams.note(f"the suppression of {one.check} ({one.reason}) has expired on {one.until}: it counts again")
    return Wanted(options.level.value, options.only, options.skip, options.require, policy)


def _write(found: Findings, options: Options, streams: Streams) -> None:
    if options.format is Format.text:
        from raxl.render import text_findings

        lines = text_findings.findings(found, streams.width, verbose=options.verbose, unicode=streams.unicode)
        streams.print(lines, options.output)
    else:
        from raxl.render import findings_files

        streams.write(findings_files.written(found, options.format.value, options.fail_on.value), options.output)
