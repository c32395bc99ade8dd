"""`raxl diagnose --list` and `--explain`: the checks themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from raxl.cli import outcome
from raxl.errors import UsageError

if TYPE_CHECKING:
    from raxl.cli.diagnose import Options
    from raxl.cli.streams import Streams


def run(options: Options, streams: Streams) -> int:
    """Writes them, and returns the exit code."""
    from raxl.checks import diagnosis
    from raxl.render import text_checks

    known: Sequence[str] = (options.explain,) if options.explain else options.only
    document = diagnosis.described(known)
    if options.format.value == "json":
        from raxl.model import codec

        streams.write(codec.encode(document), options.output)
    elif options.format.value == "markdown":
        streams.write(text_checks.page(document), options.output)
    elif options.format.value == "text":
        shown = text_checks.explained if options.explain else text_checks.listed
        streams.print(shown(document, streams.width, unicode=streams.unicode), options.output)
    else:
        raise UsageError(f"a list of checks cannot be written as {options.format.value}")
    return outcome.OK
