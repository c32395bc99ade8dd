"""`raxl labels`."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from raxl.cli import outcome, source

if TYPE_CHECKING:
    from raxl.cli.streams import Streams
    from raxl.model.label import LabelsDocument


class Format(str, Enum):
    """How it is written."""

    text = "text"
    json = "json"
    ray_file = "ray-file"
    ray_args = "ray-args"
    kuberay = "kuberay"
    k8s = "k8s"


class Options(NamedTuple):
    """The flags of `raxl labels`."""

    source: source.Source
    format: Format = Format.text
    check: bool = False
    output: Path | None = None


def command(
    format_: Annotated[
        Format,
        typer.Option(
            "--format",
            help="How the result is written: for ray start --labels-file, as arguments of ray start, for a group of a "
            "RayCluster, as kubectl commands for Nodes.",
        ),
    ] = Format.text,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with what the cluster's raylets carry; exit 1 where one differs.")
    ] = False,
    output: source.Output = None,
    from_: source.From = None,
    as_node: source.AsNode = None,
    cluster: source.Cluster = False,
    address: source.Address = None,
    record: source.Record = None,
    timeout: source.Timeout = 20.0,
    plugins: source.Plugins = None,
) -> None:
    """Print the Ray node labels that describe the hardware; what is not known has none."""
    from raxl.cli.streams import Streams

    chosen = source.Source(tuple(from_ or ()), as_node, record, timeout, tuple(plugins or ()), cluster, address)
    raise typer.Exit(run(Options(chosen, format_, check, output), Streams()))


def run(options: Options, streams: Streams) -> int:
    """Reads, labels, compares where asked, writes, and returns the exit code."""
    if options.check and options.format not in (Format.text, Format.json):
        from raxl.errors import UsageError

        raise UsageError(f"--check cannot be written as {options.format.value}", try_="Use --format text or json")
    inventory = source.inventory(options.source, "raxl.collect.labelling")
    from raxl.collect import labelling

    document = labelling.document(inventory, options.check)
    _write(document, options, streams)
    statuses = {node.check.status for node in document.nodes if node.check}
    if document.restart:
        return outcome.WRONG
    return outcome.INCOMPLETE if "no-answer" in statuses else outcome.of_inventory(inventory)


def _write(document: LabelsDocument, options: Options, streams: Streams) -> None:
    if options.format is Format.json:
        from raxl.model import codec

        streams.write(codec.encode(document), options.output)
    elif options.format is Format.text and options.check:
        from raxl.render import text_label_check

        streams.print(text_label_check.check(document, streams.width, unicode=streams.unicode), options.output)
    elif options.format is Format.text:
        from raxl.render import text_labels

        streams.print(text_labels.labels(document, streams.width, unicode=streams.unicode), options.output)
    else:
        from raxl.render import label_files, label_kubernetes

        written = {
            Format.ray_file: label_files.ray_file,
            Format.ray_args: label_files.ray_args,
            Format.kuberay: label_kubernetes.kuberay,
            Format.k8s: label_kubernetes.k8s,
        }
        streams.write(written[options.format](document), options.output)
