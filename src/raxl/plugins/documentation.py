"""What a plug-in's module says of itself, read from its text: nothing is imported."""

from __future__ import annotations

import ast
from pathlib import Path

from raxl.plugins.discovery import Installed

_METHODS = ("probe", "ask", "parse")


def missing(plugin: Installed) -> str:
    """What lacks a docstring: the module, the class or one of its three methods; empty for nothing."""
    module, _, name = plugin.entry.partition(":")
    text = _text(plugin.folder, module)
    if text is None:
        return f"the text of {module} is not to be found"
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return f"{module} is no Python"
    if not ast.get_docstring(tree):
        return "the module has no docstring"
    found = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)
    if found is None:
        return f"{module} has no class {name}"
    if not ast.get_docstring(found):
        return "the class has no docstring"
    methods = {node.name: ast.get_docstring(node) for node in found.body if isinstance(node, ast.FunctionDef)}
    inherited = "" if not found.bases else "told by the class that it builds on"
    lacking = [method for method in _METHODS if not methods.get(method, inherited)]
    return f"no docstring: {', '.join(lacking)}" if lacking else ""


def _text(folder: str | None, module: str) -> str | None:
    if folder is None:
        return None
    path = Path(folder).joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file.read_text(encoding="utf-8", errors="replace")
    return None
