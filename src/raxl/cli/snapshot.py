"""`raxl snapshot`, `raxl snapshot show`, `raxl snapshot collector`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Optional

import typer

from raxl.cli import outcome, source
from raxl.model.printable import clean

if TYPE_CHECKING:
    from raxl.cli.streams import Streams
    from raxl.host.record import Recording

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
STANDARD_OUTPUT = Path("-")
_LONGEST_KEY = 1 << 16
DEFAULT_OUTPUT = "raxl-{name}.tar.gz"


class Options(NamedTuple):
    """The flags of `raxl snapshot`."""

    source: source.Source
    output: Path | None = None
    redact: bool = False
    redact_key: Path | None = None


@app.callback()
def command(
    context: typer.Context,
    from_: source.From = None,
    as_node: source.AsNode = None,
    cluster: source.Cluster = False,
    address: source.Address = None,
    record: source.Record = None,
    timeout: source.Timeout = 20.0,
    plugins: source.Plugins = None,
    output: Annotated[
        Optional[Path],
        typer.Option(
            "--output", metavar="FILE", help="The snapshot [default: raxl-NODE.tar.gz]; - is standard output."
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace serials, UUIDs, addresses, host and user names by stand-ins.")
    ] = False,
    redact_key: Annotated[
        Optional[Path],
        typer.Option(
            "--redact-key", metavar="FILE", help="Redact under the key in FILE, so that replies stay comparable."
        ),
    ] = None,
) -> None:
    """Record everything that the other commands read, as one file that any of them takes with --from."""
    if context.invoked_subcommand is None:
        from raxl.cli.streams import Streams

        chosen = source.Source(
            tuple(from_ or ()), as_node, record, timeout, tuple(plugins or ()), cluster, address, "checks"
        )
        raise typer.Exit(run(Options(chosen, output, redact or redact_key is not None, redact_key), Streams()))


def run(options: Options, streams: Streams) -> int:
    """Records, says on standard error what was written and which nodes could not be read, and returns the exit code."""
    from raxl.collect import keeping
    from raxl.host.redact import Redactor

    recordings = source.recordings(options.source)
    for recording in recordings:
        source.read_through(recording, options.source.plugins)
    source.keep(options.source, recordings)
    if options.redact:
        redactor = Redactor(_key(options.redact_key))
        recordings = [redactor.recording(recording) for recording in recordings]
    if options.output == STANDARD_OUTPUT:
        streams.write_bytes(keeping.packed(recordings, options.redact))
        return _complete(recordings, streams)
    path = options.output or Path(DEFAULT_OUTPUT.format(name=_file_name([r.name for r in recordings])))
    archives = keeping.write(recordings, path, options.redact)
    answers = sum(len(recording.answers) for recording in recordings)
    held = f", a folder of {archives} archives" if archives > 1 else ""
    streams.note(f"{path}{held}: {answers} answers of {len(recordings)} {'node' if len(recordings) == 1 else 'nodes'}")
    return _complete(recordings, streams)


def _complete(recordings: Sequence[Recording], streams: Streams) -> int:
    """INCOMPLETE where a node could not be read, which is named."""
    lost = [(one.name, message) for one in recordings for subject, _, message in one.notes if subject == "node"]
    for name, message in lost:
        streams.note(f"{name} could not be read: {message}")
    return outcome.INCOMPLETE if lost else outcome.OK


def _key(path: Path | None) -> bytes | None:
    from raxl.errors import UnreadableInput, UsageError

    if path is None:
        return None
    try:
        with path.open("rb") as file:
            key = file.read(_LONGEST_KEY)  # /dev/urandom has no end
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or "") from error
    if len(key) < 16:
        raise UsageError(f"{path} holds {len(key)} bytes", "a key has at least 16", f"head -c 32 /dev/urandom > {path}")
    return key


def _file_name(names: list[str]) -> str:
    name = names[0] if len(names) == 1 else f"{len(names)}-nodes"
    return "".join(character if character.isalnum() or character in "._-" else "_" for character in name) or "node"


@app.command("show")
def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A snapshot, or anything that --from takes.")],
) -> None:
    """Say what a snapshot holds: of which node, recorded when and by whom, and what could not be read."""
    from raxl.cli.streams import Streams
    from raxl.collect import inputs

    recordings = inputs.opened([file])
    for recording in recordings:
        source.read_through(recording)
        Streams().write(summary(recording))


def summary(recording: Recording) -> str:
    """What a recording holds, a fact a line."""
    refused = Counter(answer.reason for answer in recording.answers.values() if not answer.known)
    held = Counter(question.kind for question, answer in recording.answers.items() if answer.known)
    made_by = f"raxl {recording.recorded_by}" if recording.recorded_by else "not by raxl"
    lines = [
        f"{recording.name}  {recording.nature}, recorded {recording.created} {made_by}, from {recording.source}",
        f"  holds         {_counted(held)}",
        f"  has no answer {_counted(refused)}",
        *(f"  {reason:13} {subject}: {message}" for subject, reason, message in recording.notes),
    ]
    return "".join(clean(line) + "\n" for line in lines)


def _counted(counts: Counter[Any]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in counts.most_common()) or "nothing"


@app.command("collector")
def collector() -> None:
    """Write the single-file collector: ssh NODE python3 -I - < raxl-collect.py > node.tar.gz."""
    from raxl import __version__
    from raxl.cli.streams import Streams
    from raxl.host import pack
    from raxl.plugins import registry

    Streams().write(pack.collector(__version__, registry.ask_tasks(registry.CHECKS), registry.LIBRARIES))
