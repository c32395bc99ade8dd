"""`raxl plugins new`: the skeleton of a plug-in's package."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from raxl.errors import CannotStart, UsageError
from raxl.plugins import registry

SKELETON = Path(__file__).parent / "skeleton"
FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "raxl_$name/__init__.py": "init.py.txt",
    "raxl_$name/plugin.py": "plugin.py.txt",
    "raxl_$name/recordings/two-cards/machine.txt": "machine.txt.txt",
    "tests/test_$name.py": "test.py.txt",
}
"""Each file of the package, and the text that it is made from; `$name`, `$Name` and `$Class` are filled in."""


def files(name: str) -> dict[str, str]:
    """The files of a package for the family `name`, by their path in it. Raises UsageError for a name that is none."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > 40:
        raise UsageError(f"{name!r} is no name for a plug-in", "lower case letters, digits and underscores")
    if name in registry.BUILT_IN:
        raise UsageError(f"raxl has a plug-in called {name}", "its own", "choose another name")
    words = name.split("_")
    values = {"name": name, "Name": " ".join(words).capitalize(), "Class": "".join(map(str.capitalize, words))}
    return {
        Template(path).substitute(values): Template((SKELETON / source).read_text("utf-8")).safe_substitute(values)
        for path, source in FILES.items()
    }


def write(name: str, folder: Path) -> list[Path]:
    """Makes the package's folder in `folder`, and returns what was written. Nothing that is there is written over."""
    made = files(name)
    top = folder / f"raxl-{name}-accelerator"
    try:
        top.mkdir()
        for path, text in made.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CannotStart(f"{top} cannot be made", error.strerror or str(error)) from error
    return [top / path for path in made]
