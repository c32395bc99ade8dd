"""Flags that several commands of `raxl recipe` share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Optional

import typer

from raxl.errors import CannotStart


def _folder(text: str) -> Path:
    """The folder that is named. An empty name, as of a variable that is not set, would be the one that one is in."""
    if not text.strip():
        raise typer.BadParameter("it is empty; . is the folder that you are in")
    return Path(text)


Root = Annotated[
    Optional[Path],
    typer.Option(
        "--root",
        parser=_folder,
        metavar="DIR",
        help="The folder below which everything is written [default: $XDG_CONFIG_HOME/raxl/recipe, ~/.config/…].",
    ),
]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="Let through settings that can make a process load or run code.")
]


def default_root() -> Path:
    """The user's own. https://specifications.freedesktop.org/basedir-spec/latest/"""
    told = os.environ.get("XDG_CONFIG_HOME", "")
    try:
        base = Path(told) if os.path.isabs(told) else Path.home() / ".config"
    except RuntimeError as error:  # a container's user of whom nobody knows a home
        raise CannotStart("this user has no home", str(error).rstrip("."), "Name a folder: --root DIR") from error
    return base / "raxl" / "recipe"
