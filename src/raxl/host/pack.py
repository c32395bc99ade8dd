"""The single-file collector: the asking half of raxl as one text of standard-library Python.

It runs on a node that has Python 3.8 and nothing else, over a pipe:

    ssh NODE python3 -I - < raxl-collect.py > node.tar.gz
"""

from __future__ import annotations

import ast
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Collection, Iterable, Mapping, Sequence

MAIN = "raxl.host.collector"
BINDINGS = ("pynvml",)
"""Packages of one pure-Python module that travel with raxl's own. `amdsmi` does not: a node has the copy that fits its
library."""
_TEXT = '''"""raxl {version}: collects a snapshot of this node and writes it to standard output.

    ssh NODE python3 -I - < raxl-collect.py > node.tar.gz

Standard library only, Python 3.8. RAXL_TIMEOUT is the node's budget in seconds (20), RAXL_PACKAGES a folder of Python
packages beside Ray's.
Made by `raxl snapshot collector`; MODULES holds raxl's own modules.
"""
import importlib.abc
import importlib.machinery
import json
import os
import sys

MODULES = json.loads(
    {modules}
)
TASKS = {tasks!r}
LIBRARIES = {libraries!r}


class Packed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name in MODULES:
            return importlib.machinery.ModuleSpec(name, self, is_package=MODULES[name][0])

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(MODULES[module.__name__][1], module.__name__, "exec"), module.__dict__)


sys.meta_path.insert(0, Packed())

from raxl.host.collector import main

main(MODULES, TASKS, LIBRARIES, {version!r}, os.environ.get("RAXL_TIMEOUT", "20"), os.environ.get("RAXL_PACKAGES", ""))
'''


def collector(version: str, tasks: Sequence[str], libraries: Mapping[str, str]) -> str:
    """The collector's text: what to ask (`module:name`), the classes that call vendor libraries by the library's name,
    and every module that asking needs, pure-Python bindings among them."""
    named = [entry.partition(":")[0] for entry in (*tasks, *libraries.values())]
    sources = modules([MAIN, "raxl.host.child", *named])
    sources.update((name, source) for name in BINDINGS if (source := _source(name)) is not None)
    return _TEXT.format(
        version=version, modules=repr(json.dumps(sources)), tasks=list(tasks), libraries=dict(libraries)
    )


def modules(names: Iterable[str]) -> dict[str, tuple[bool, str]]:
    """The named modules, the packages above them and what they import of raxl and of their own packages: is it a
    package, and its text."""
    found: dict[str, tuple[bool, str]] = {}
    waiting = list(names)
    packages = {"raxl", *(name.partition(".")[0] for name in waiting)}
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        source = _source(name)
        if source is None:
            continue
        found[name] = source
        waiting += _imports(source[1], packages)
        if "." in name:
            waiting.append(name.rpartition(".")[0])
    return dict(sorted(found.items()))


def _source(name: str) -> tuple[bool, str] | None:
    """Whether the module is a package, and its text; None for a name inside a module."""
    try:
        spec = find_spec(name)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return spec.submodule_search_locations is not None, Path(spec.origin).read_text(encoding="utf-8")


def _imports(text: str, packages: Collection[str]) -> Iterable[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in packages:
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in packages)
