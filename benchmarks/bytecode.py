"""raxl's sources compiled, as pip leaves what it installs: else every start compiles what was edited since."""

from __future__ import annotations

import compileall
from pathlib import Path

import raxl


def compiled() -> None:
    """Compiles what is not."""
    if not compileall.compile_dir(Path(raxl.__file__).parent, quiet=1):
        raise SystemExit("raxl's sources could not be compiled")
