"""Packages with a plug-in of others, made in a folder as an installer leaves them."""

from __future__ import annotations

import shutil
from pathlib import Path

GOOD = '''"""An example."""
from raxl.host import Host
from raxl.model.presence import Presence
from raxl.model.report import Claim, Report


class Plugin:
    """Claims what CLAIMED names."""

    vendor = "guest"
    family = "Guest"
    claimed = CLAIMED

    def probe(self, host: Host) -> Presence:
        """Nothing."""
        PROBE
        return Presence("absent")

    def ask(self, host: Host) -> object:
        """Nothing."""
        ASK
        return None

    def parse(self, answers: object, functions: object) -> Report:
        """What it is told to claim."""
        PARSE
        return Report(claims=tuple(Claim("guest", "npu", "guest", address=one) for one in self.claimed))
'''


def plugin(
    *,
    top: str = "",
    probe: str = "pass",
    ask: str = "pass",
    parse: str = "pass",
    claimed: tuple[str, ...] = (),
    vendor: str = "guest",
) -> str:
    """The text of a module with a class `Plugin` that does this in its methods."""
    text = (
        GOOD.replace('vendor = "guest"', f"vendor = {vendor!r}")
        .replace("CLAIMED", repr(claimed), 2)
        .replace("PROBE", probe)
        .replace("ASK", ask)
        .replace("PARSE", parse)
    )
    return text.replace('"""An example."""\n', f'"""An example."""\nimport os, sys, time\n{top}\n', 1)


def example(folder: Path, source: Path, group: str, name: str, entry: str) -> Path:
    """The example package whose sources lie in the folder `source`, installed in the same way."""
    (package,) = (one.parent for one in source.glob("*/__init__.py"))
    shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    info = folder / f"{source.name.replace('-', '_')}-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {source.name}\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {entry}\n")
    return folder


def install(folder: Path, text: str, name: str = "guest", package: str = "guest-package") -> Path:
    """A package with this module, discovered where `folder` is on the path of modules."""
    module = package.replace("-", "_")
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(text)
    info = folder / f"{module}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[raxl.accelerators]\n{name} = {module}:Plugin\n")
    return folder
