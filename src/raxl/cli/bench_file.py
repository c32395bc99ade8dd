"""What an earlier `raxl bench-transport --format json` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raxl.model.measurement import Bench


def read(path: Path) -> Bench:
    """The document. Raises UnreadableInput, also for a pipe or device, which may never end."""
    from raxl.errors import UnreadableInput
    from raxl.model import codec, schemas
    from raxl.model.measurement import Bench

    if path.exists() and not path.is_file():
        raise UnreadableInput(f"{path} cannot be read", "it is no regular file")
    try:
        document = codec.decode(path.read_text(encoding="utf-8"), Bench)
    except OSError as error:
        raise UnreadableInput(f"{path} cannot be read", error.strerror or str(error)) from error
    except ValueError as error:
        raise UnreadableInput(f"{path} is no result of raxl bench-transport --format json", str(error)[:200]) from error
    if document.schema != schemas.BENCH:
        raise UnreadableInput(f"{path} has the schema {document.schema[:40]}", f"this raxl reads {schemas.BENCH}")
    return document
