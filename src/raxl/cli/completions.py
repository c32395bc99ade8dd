"""Shell completions: `python -m raxl.cli.completions FOLDER` writes them, one file a shell.

Each script asks `raxl` itself what may follow, so it changes only when typer's own templates do.
"""

from __future__ import annotations

import sys
from pathlib import Path

FILES = {"bash": "raxl.bash", "zsh": "_raxl", "fish": "raxl.fish"}
VARIABLE = "_RAXL_COMPLETE"


def script(shell: str) -> str:
    """The completion script of a shell: bash, zsh or fish."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    return get_completion_script(prog_name="raxl", complete_var=VARIABLE, shell=shell).strip() + "\n"


def main(folder: Path) -> None:
    """Writes all scripts into a folder."""
    for shell, name in FILES.items():
        (folder / name).write_text(script(shell), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
