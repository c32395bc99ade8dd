"""JSON of a command that was refused: standard output is one document whatever the exit code."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from raxl.cli import outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raxl.cli.streams import Streams


@contextlib.contextmanager
def told(is_json: bool, streams: Streams, shown: Sequence[object] = ()) -> Iterator[None]:
    """Writes null where what is wrong, or not known, left no result; `shown` holds what was written in its place."""
    from raxl.errors import RaxlError

    try:
        yield
    except RaxlError as error:
        if is_json and not shown and error.exit_code in (outcome.WRONG, outcome.INCOMPLETE):
            streams.write("null\n")
        raise
