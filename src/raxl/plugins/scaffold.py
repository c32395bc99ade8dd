"""`raxl plugins new`: the skeleton of a plug-in's package."""

from __future__ import annotations

import ast
import builtins
import keyword
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

_ALLOWED = "lower case letters, digits and single underscores, a letter first, at most 40 characters"
_TAKEN = ("null", "nan", "yes", "no", "on", "off", "raxl", "plugin", "plugins", "accelerator", "accelerators")
"""Words that files and outputs read as something else than a name: YAML's, and raxl's own."""
_LONGEST = 40


def files(name: str) -> dict[str, str]:
    """The files of a package for the family `name`, by their path in it. Raises UsageError for a name that is none."""
    if wrong := _wrong(name):
        raise UsageError(f"{name!r} is no name for a plug-in", wrong, f"Allowed: {_ALLOWED}")
    values = {"name": name, "Name": " ".join(name.split("_")).capitalize(), "Class": _class(name)}
    return {
        Template(path).substitute(values): Template((SKELETON / source).read_text("utf-8")).safe_substitute(values)
        for path, source in FILES.items()
    }


def _class(name: str) -> str:
    return "".join(map(str.capitalize, name.split("_")))


def _wrong(name: str) -> str:
    """Why a family cannot be called so; empty where it can."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > _LONGEST:
        return "it is no such word"
    if name in registry.BUILT_IN:
        return "raxl has a plug-in of its own that is called so"
    words = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_bound()}
    if {name, _class(name)} & words or name in _TAKEN:
        return "the word means something else to Python, YAML or raxl"
    return ""


def _bound() -> set[str]:
    """What the skeleton's module calls by a name already: a class of that name would hide it."""
    text = Template((SKELETON / FILES["raxl_$name/plugin.py"]).read_text("utf-8"))
    tree = ast.parse(text.safe_substitute(name="_", Name="_", Class="_"))
    imported = (alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names)
    return {*imported, *(node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)))}


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
