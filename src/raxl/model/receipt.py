"""What was applied, and how it is undone: `raxl.receipt/v1`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

RECEIPT = "raxl.receipt/v1"


@dataclass(frozen=True)
class ReceiptFile:
    """A file that was written."""

    path: str
    """Relative to the folder that is in force."""
    before_sha256: Optional[str]
    """Of the file that it took the place of; None where there was none."""
    after_sha256: Optional[str]
    """None for one that is gone since."""
    mode: int
    owner: int
    group: int
    content: Optional[str] = None
    """As it was applied: what was edited since is told from it. None for one that is gone since."""


@dataclass(frozen=True)
class Receipt:
    """The root of `raxl.receipt/v1`. It lies beside the files that it lists."""

    schema: str
    raxl_version: str
    applied: str
    """UTC, ISO 8601."""
    node: str
    root: str
    recipe: str
    recipe_sha256: str
    facts_sha256: str
    previous: Optional[str] = None
    """The generation that was in force before; None where there was none."""
    made_folders: Tuple[str, ...] = ()
    """Folders that did not exist before, the outermost first; they go when the last generation goes."""
    files: Tuple[ReceiptFile, ...] = ()
