"""Whether the options of a request apply to what it measures: what does nothing is refused before anything starts."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from raxl.bench.request import ALL, PARTITION, SCREEN, Request
from raxl.bench.screen import TRANSPORT
from raxl.errors import UsageError
from raxl.model.measurement import P2P
from raxl.transfer import TARGET

if TYPE_CHECKING:
    from raxl.transports import TransportPlugin

_FLAGS = {
    "sizes": "--sizes",
    "destination": "--destination",
    "streams": "--streams",
    "is_bidirectional": "--bidirectional",
    "least_seconds": "--min-time",
    "budget_seconds": "--budget",
    "baseline": "--baseline",
    "wants_recommendations": "--recommend",
}
"""Of the request's parts whose defaults are told from what was given, the flags."""
_NOT_OF_FAULTS = ("is_bidirectional", "least_seconds", "budget_seconds", "baseline", "wants_recommendations")
_NOT_OF_SCREENING = (
    *("sizes", "destination", "streams", "is_bidirectional", "least_seconds", "budget_seconds"),
    "wants_recommendations",
)
_TAKEN = {"streams": "streams", "is_bidirectional": "bidirectional"}
"""Of the request's parts that few transports can do, how these say that they can."""
ONE_END = "one end alone does the transfer: there is no other that could miss it"


def check(request: Request, plugins: Mapping[str, TransportPlugin]) -> None:
    """Raises UsageError for what does nothing, or cannot be done by what was named."""
    if request.fault is not None:
        _fault(request, plugins)
    if request.pairs == SCREEN:
        _screening(request)
    elif request.pairs != ALL:
        for word in request.pairs.split(","):
            _pair(word.strip(), is_local=request.address is None)
    if request.tolerance != Request().tolerance and request.baseline is None:
        raise UsageError("--tolerance is of a comparison", "--baseline is not given")
    if request.wants_recommendations and request.pattern != P2P:
        raise UsageError(f"--recommend is of --pattern {P2P}", f"--pattern {request.pattern} is given")
    _pattern(request, plugins)
    _takers(request, plugins)


def _given(request: Request, names: Collection[str]) -> list[str]:
    """The flags of those parts that are not what they are without a flag."""
    bare = Request()
    return [_FLAGS[name] for name in names if getattr(request, name) != getattr(bare, name)]


def _fault(request: Request, plugins: Mapping[str, TransportPlugin]) -> None:
    if useless := _given(request, _NOT_OF_FAULTS):
        raise UsageError(f"--fault goes without {', '.join(useless)}", "it measures no speed")
    if request.pattern != P2P:
        raise UsageError(f"--fault is of --pattern {P2P}", f"--pattern {request.pattern} is given")
    if request.pairs == SCREEN:
        raise UsageError("--fault goes without --pairs screen", "it is tried on pairs that are named, or on all")
    if len(request.sizes) > 1 and _given(request, ("sizes",)):
        raise UsageError("--fault hurts a transfer of one size", f"--sizes names {len(request.sizes)}", "Name one size")
    if request.fault == PARTITION and request.address is None:
        raise UsageError("--fault partition needs two nodes", "without --cluster there is one")
    for name in request.transports or ():
        if plugins[name].way == TARGET:
            raise UsageError(f"--fault does not apply to {name}", ONE_END)


def _screening(request: Request) -> None:
    if request.address is None:
        raise UsageError("--pairs screen needs the nodes of a cluster", "--cluster is not given")
    other = "Name pairs: --pairs all, or A:B"
    if request.pattern != P2P:
        raise UsageError(f"--pairs screen is of --pattern {P2P}", f"--pattern {request.pattern} is given", other)
    if useless := _given(request, _NOT_OF_SCREENING):
        what = f"the screening of a cluster goes without {', '.join(useless)}"
        raise UsageError(what, "it finds slow nodes in rounds of its own", other)
    if others := [name for name in request.transports or () if name != TRANSPORT]:
        raise UsageError(
            f"the screening of a cluster is by {TRANSPORT} alone", f"--transport {','.join(others)}", other
        )


def _pair(word: str, *, is_local: bool) -> None:
    parts = word.split(":")
    ways = [(":".join(parts[:place]), ":".join(parts[place:])) for place in range(1, len(parts))]
    if not any(all(way) for way in ways):
        raise UsageError(f"--pairs {word}", "a pair is A:B, of two nodes' names")
    if is_local and not any(_is_here(source) and _is_here(target) for source, target in ways):
        raise UsageError(f"--pairs {word}", f"without --cluster there is one node, {socket.gethostname()}")


def _is_here(name: str) -> bool:
    """Whether this machine may be called so; which of its addresses Ray takes is known only when it runs."""
    try:
        return name == socket.gethostname() or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _pattern(request: Request, plugins: Mapping[str, TransportPlugin]) -> None:
    able = [name for name, plugin in plugins.items() if request.pattern in plugin.patterns]
    for name in request.transports or ():
        if name not in able:
            done = ", ".join(plugins[name].patterns)
            raise UsageError(f"{name} does no {request.pattern}", f"it does {done}")


def _takers(request: Request, plugins: Mapping[str, TransportPlugin]) -> None:
    """An option of few transports where none of them is measured."""
    for part, taken in _TAKEN.items():
        able = [one for one in plugins.values() if request.pattern in one.patterns]
        if _given(request, (part,)) and not any(taken in getattr(one, "takes", ()) for one in able):
            who = ", ".join(plugins) if request.transports else f"--pattern {request.pattern}"
            raise UsageError(f"{_FLAGS[part]} does nothing to {who}", "tcp takes it")
