"""The transports of a run: which they are, and their plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from raxl.bench.request import Request
from raxl.errors import UsageError
from raxl.plugins import discovery, registry

if TYPE_CHECKING:
    from raxl.transports import TransportPlugin


def entries(request: Request) -> dict[str, str]:
    """By transport, its plug-in as `module:Class`."""
    known = discovery.transports(request.plugins) if request.plugins else registry.TRANSPORTS
    wanted = request.transports if request.transports is not None else tuple(known)
    return {name: known[name] for name in wanted}


def loaded(found: Mapping[str, str]) -> dict[str, TransportPlugin]:
    """By transport, its plug-in. Raises UsageError for one of others that cannot be used."""
    return {name: _loaded(name, entry) for name, entry in found.items()}


def _loaded(name: str, entry: str) -> TransportPlugin:
    try:
        plugin = registry.transport(entry)
        for declared in ("patterns", "devices", "needs_tensor_transport", "way"):
            getattr(plugin, declared)
    except Exception as error:  # a plug-in of others may raise anything
        words = f"{type(error).__name__}: {error}"
        raise UsageError(f"the transport {name} ({entry}) cannot be used", words) from error
    return plugin
