"""The plug-ins that are installed: entry points of all packages, read only when plug-ins of others are wanted."""

from __future__ import annotations

import contextlib
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Sequence

from raxl.errors import UsageError
from raxl.plugins import entry_points, registry

if TYPE_CHECKING:
    from importlib.metadata import Distribution

ACCELERATORS = "raxl.accelerators"
PLATFORMS = "raxl.platforms"
TRANSPORTS = "raxl.transports"
GROUPS = (ACCELERATORS, PLATFORMS, TRANSPORTS, "raxl.checks")
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


class Damaged(NamedTuple):
    """A distribution whose list of entry points is not to be read, or not whole."""

    package: str
    message: str


class Listing(NamedTuple):
    """What is installed."""

    plugins: tuple[Installed, ...]
    """By group, name and package."""
    damaged: tuple[Damaged, ...]


@cache
def look() -> Listing:
    """Every entry point of raxl's groups, raxl's own among them. Of two distributions of one name the first on the
    path counts, as when they are imported."""
    from importlib.metadata import distributions

    seen: set[str] = set()
    found: set[Installed] = set()
    damaged = []
    for distribution in distributions():
        package, version = _named(distribution)
        if _normal(package) in seen:
            continue
        seen.add(_normal(package))
        try:
            points = entry_points.read(distribution.read_text("entry_points.txt") or "", GROUPS)
        except (ValueError, OSError) as error:
            words = "it is no UTF-8" if isinstance(error, UnicodeError) else str(error)
            damaged.append(Damaged(package, words))
            continue
        found.update(Installed(one.group, one.name, package, version, one.value) for one in points.found)
        if points.wrong:
            damaged.append(Damaged(package, points.wrong))
    return Listing(tuple(sorted(found)), tuple(sorted(damaged)))


def _named(distribution: Distribution) -> tuple[str, str]:
    """Name and version; where its metadata do not say them, what its folder is called, and `?`."""
    name: str | None = None
    version: str | None = None
    with contextlib.suppress(ValueError, KeyError, TypeError, OSError):  # no UTF-8, or no such file any more
        name, version = distribution.metadata["Name"], distribution.metadata["Version"]
    folder = getattr(distribution, "_path", None)
    return name or (Path(str(folder)).stem if folder else "?"), version or "?"


def _normal(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()


def installed() -> list[Installed]:
    """Every entry point of raxl's groups, raxl's own among them, by group, name and package."""
    return list(look().plugins)


def foreign() -> list[Installed]:
    """The plug-ins that raxl does not ship."""
    return [one for one in installed() if _normal(one.package) != "raxl"]


def transports(names: Sequence[str]) -> dict[str, str]:
    """The entry (`module:Class`) of each transport by its name: raxl's own, and those of the plug-ins of others that
    the names mean. Raises UsageError for a name that means none, or several, and for one that is taken."""
    known = dict(registry.TRANSPORTS)
    for one in chosen(names, tuple(known), TRANSPORTS):
        if one.name in known:
            raise UsageError(f"{one.package} brings a transport {one.name}", "raxl has one that is called so")
        known[one.name] = one.entry
    return known


def chosen(names: Sequence[str], built_in: Sequence[str], group: str = ACCELERATORS) -> tuple[Installed, ...]:
    """The plug-ins of others that the names (of entry points, or of packages) mean; names of raxl's own mean nothing
    more. Raises UsageError for a name that means none, or several."""
    wanted = [name for name in dict.fromkeys(names) if name not in built_in]
    if not wanted:
        return ()
    known = [one for one in foreign() if one.group == group]
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
