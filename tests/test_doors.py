"""Who may import whom: the two tables of the house, held over the syntax tree of every module."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "raxl"
MODULES = sorted(SOURCE.rglob("*.py"))

ROOMS = {
    "model": set(),
    "host": set(),
    "sources": {"model", "host"},
    "accelerators": {"model", "host", "sources"},
    "platforms": {"model", "host", "sources"},
    "intake": {"model", "host", "sources"},
    "plugins": {"model", "host"},
    "topology": {"model"},
    "checks": {"model", "topology"},
    "render": {"model"},
    "collect": {"model", "host", "sources", "intake", "plugins", "topology"},
    "transfer": {"model", "host"},
    "transports": {"model", "host", "sources", "transfer"},
    "bench": {"model", "host", "plugins", "collect", "transfer"},
    "recipe": {"model", "topology", "checks"},
}
"""By room, what it may import besides the standard library and `raxl.errors`; `cli` may import everything."""

THIRD_PARTIES = {
    "msgspec": ("model/codec.py",),
    "rich": ("render/", "cli/streams.py"),
    "typer": ("cli/",),
    "ray": (
        "collect/ray_cluster.py",
        "bench/conductor.py",
        "transfer/ray_ends.py",
        "transfer/rdt.py",
        "transfer/sync_",
        "transports/",
    ),
    "grpc": ("collect/ray_cluster.py",),
    "httpx": ("collect/", "recipe/fetch.py"),
    "yaml": (
        "intake/yaml_events.py",
        "collect/catalog_files.py",
        "collect/policy_file.py",
        "recipe/document.py",
        "recipe/manifest_yaml.py",
        "recipe/load.py",
    ),
    "pynvml": ("sources/nvml_library.py",),
    "amdsmi": ("sources/amdsmi_library.py",),
    "prometheus_client": (),
    "torch": ("transfer/rdt.py", "transfer/sync_rdt.py", "transfer/torch_group.py", "transports/"),
    "numpy": ("transports/",),
    "nixl": ("transports/",),
}
"""By package, the only places that may import it."""

AT_TOP = {"typer"}
"""Packages that may be imported before a command needs them."""

PYTHON_OF_NODES = (3, 8)
"""What runs on a node that has nothing but Python: everything that the asker loads."""


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported when the code runs; what only a type checker imports opens no door."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield str(node.module)
            if node.module in ("raxl", "raxl.model", "raxl.host", "raxl.sources"):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_room_imports_only_from_the_rooms_that_its_door_opens_to(path: Path) -> None:
    room, *rest = name(path).split("/")
    if not rest or room == "cli":
        return
    for module in imports(ast.parse(path.read_text())):
        if not module.startswith("raxl."):
            continue
        other = module.split(".")[1]
        if other in ("errors", "__version__"):
            continue
        assert other == room or other in ROOMS[room], f"{name(path)} imports {module}"


@pytest.mark.parametrize("folder", ["accelerators", "platforms", "transports"])
def test_plug_ins_do_not_import_each_other(folder: str) -> None:
    for path in (SOURCE / folder).glob("*.py"):
        for module in imports(ast.parse(path.read_text())):
            assert not module.startswith(f"raxl.{folder}."), f"{name(path)} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_third_party_is_imported_in_its_home_alone_and_where_it_is_needed(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for module in imports(tree):
        package = module.split(".")[0]
        if package in sys.stdlib_module_names or package == "raxl":
            continue
        assert package in THIRD_PARTIES, f"{name(path)} imports {package}, which has no home"
        assert name(path).startswith(THIRD_PARTIES[package]), f"{name(path)} imports {package}"
    for node in tree.body:
        for module in imports(node) if isinstance(node, ast.Import | ast.ImportFrom) else ():
            package = module.split(".")[0]
            if package in THIRD_PARTIES:
                assert package in AT_TOP, f"{name(path)} imports {package} before a command needs it"


def test_nothing_imports_the_command_line() -> None:
    for path in MODULES:
        room = name(path).split("/")[0]
        if room not in ("cli", "__main__.py"):
            assert not any(module.startswith("raxl.cli") for module in imports(ast.parse(path.read_text()))), name(path)


@pytest.mark.parametrize(
    "path", [p for p in MODULES if name(p).split("/")[0] in ("host", "sources", "accelerators", "platforms")], ids=name
)
def test_what_runs_on_bare_nodes_is_written_for_their_python(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=PYTHON_OF_NODES)
