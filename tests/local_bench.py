"""Benchmarks several on the same Ray: one of this machine alone, or any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raxl.bench import plugged, run
from raxl.bench.conducting import Conducting
from raxl.bench.request import Request
from raxl.model.measurement import NOISY, OK, UNSTABLE, Run
from raxl.plugins import registry

GOOD = (OK, NOISY, UNSTABLE)
"""The machine of the tests may be busy."""
_STORE_BYTES = 100 << 20


def benches(
    *requests: Request, address: str | None = None, variables: Mapping[str, str] | None = None
) -> list[list[Run]]:
    """What each of them gives. `address`: of a cluster instead; `variables`: of the ends."""
    entries = {name: registry.TRANSPORTS[name] for request in requests for name in request.transports or ()}
    with Conducting(address, entries, _STORE_BYTES, variables or {}) as conducting:
        nodes = conducting.nodes()
        looked = run._looked(conducting, nodes)
        found = []
        for request in requests:
            own = plugged.loaded({name: entries[name] for name in request.transports or ()})
            pairs = run._pairs(nodes, request.pairs, request.pattern, request.actors)
            rows = run._rows(conducting, request, own, pairs, lambda *_: None, looked)
            found.append(run._judged(rows, looked))
    return found


def statuses(runs: Sequence[Run]) -> dict[str, set[str]]:
    """By transport."""
    return {name: {one.status for one in runs if one.transport == name} for name in {one.transport for one in runs}}
