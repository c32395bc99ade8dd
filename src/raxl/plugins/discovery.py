"""The plug-ins that are installed: entry points of all packages, read only when plug-ins of others are wanted."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, Sequence

from raxl.errors import UsageError

ACCELERATORS = "raxl.accelerators"
GROUPS = (ACCELERATORS, "raxl.platforms", "raxl.transports", "raxl.checks")
"""The entry-point groups, one a kind of plug-in."""


class Installed(NamedTuple):
    """One entry point."""

    group: str
    name: str
    package: str
    """The distribution that brings it."""
    version: str
    entry: str
    """`module:Class`"""

    @property
    def folder(self) -> str | None:
        """The folder from which its module is imported; None where it cannot be found. Nothing is imported."""
        top = self.entry.partition(":")[0].partition(".")[0]
        try:
            spec = find_spec(top)
        except (ImportError, ValueError):
            return None
        if spec is None or spec.origin is None:
            return None
        return str(Path(spec.origin).parents[bool(spec.submodule_search_locations)])


def installed() -> list[Installed]:
    """Every entry point of raxl's groups, raxl's own among them, by group, name and package."""
    from importlib.metadata import distributions

    found = set()
    for distribution in distributions():
        package = distribution.metadata["Name"] or "?"
        try:
            points = list(distribution.entry_points)
        except (ValueError, TypeError, OSError):  # another package's damaged list is no plug-in of raxl's
            continue
        for point in points:
            if point.group in GROUPS:
                found.add(Installed(point.group, point.name, package, distribution.version or "?", point.value))
    return sorted(found)


def foreign() -> list[Installed]:
    """The plug-ins that raxl does not ship."""
    return [one for one in installed() if re.sub(r"[-_.]+", "-", one.package).lower() != "raxl"]


def chosen(names: Sequence[str], built_in: Sequence[str]) -> tuple[Installed, ...]:
    """The accelerator plug-ins of others that the names (of entry points, or of packages) mean; names of raxl's own
    mean nothing more. Raises UsageError for a name that means none, or several."""
    wanted = [name for name in dict.fromkeys(names) if name not in built_in]
    if not wanted:
        return ()
    known = [one for one in foreign() if one.group == ACCELERATORS]
    found: dict[Installed, None] = {}
    for name in wanted:
        fitting = [one for one in known if name in (one.name, one.package)]
        if not fitting:
            there = ", ".join(one.name for one in known) or "none but raxl's own"
            raise UsageError(f"no plug-in is called {name}", f"installed: {there}", "see raxl plugins list")
        if len({one.package for one in fitting}) > 1:
            packages = " and ".join(sorted({one.package for one in fitting}))
            raise UsageError(f"several plug-ins are called {name}", f"of {packages}", "name the package")
        found.update(dict.fromkeys(fitting))
    return tuple(found)
