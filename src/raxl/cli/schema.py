"""`raxl schema`."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="bench, diff, inventory, labels, path, place or plugins")],
) -> None:
    """Print the JSON Schema of an output."""
    from raxl.cli.streams import Streams
    from raxl.errors import UsageError
    from raxl.model import codec

    if kind not in codec.KINDS:
        raise UsageError(f"no schema is called {kind}", f"known: {', '.join(codec.KINDS)}")
    Streams().write(codec.schema(kind))
