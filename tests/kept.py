"""The outputs that are kept in `tests/expected`: written anew with --accept, and the diff read as an operator would."""

from __future__ import annotations

from pathlib import Path

from raxl import __version__

FOLDER = Path(__file__).parent / "expected"
_VERSION = "VERSION"
"""Stands in the kept files for raxl's own version, so that a release changes none of them."""


def check(name: str, view: str, printed: str, accept: bool, folder: Path = FOLDER) -> None:
    """Compares what was printed of `name` with what is kept."""
    path = folder / name / view
    printed = printed.replace(f'": "{__version__}"', f'": "{_VERSION}"')
    if accept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(printed)
    assert printed == path.read_text()
