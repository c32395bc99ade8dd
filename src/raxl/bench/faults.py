"""`--fault`: what each transport does when an end dies in the middle of a transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from raxl.bench.conducting import Conducting
from raxl.bench.request import Request
from raxl.model.measurement import FAILED, NOT_TRIED, OK, UNAVAILABLE, UNKNOWN, Endpoint, Fault, Left
from raxl.transfer import Transfer

PATIENCE_SECONDS = 10.0
VARIABLES = {"RAY_rdt_fetch_fail_timeout_milliseconds": "5000"}
"""Ray Direct Transport waits a minute by default before it gives up; Ray reads this at import, in each process."""
_SIZE_BYTES = 32 << 20
_SETUP_SECONDS = 120.0
_STATUSES = {"hurt": OK, "unavailable": UNAVAILABLE, "failed": FAILED}
"""By what the conductor tells."""


def fault(conducting: Conducting, request: Request, transport: str, nodes: Sequence[Mapping[str, Any]]) -> Fault:
    """One fault of one transport, from the first node to the last."""
    size = _size(request)
    transfer = Transfer(
        size_bytes=size,
        destination=request.destination,
        streams=request.streams,
        most_samples=1 << 20,
        seconds=PATIENCE_SECONDS,
        least_seconds=PATIENCE_SECONDS,
    )
    told = conducting.ask(
        "hurt",
        2 * _SETUP_SECONDS + 2 * PATIENCE_SECONDS,
        transport=transport,
        nodes=[node["id"] for node in nodes],
        kind=request.fault,
        transfer=asdict(transfer),
        seconds=PATIENCE_SECONDS,
    )
    status = FAILED
    values: dict[str, Any] = {"why": "it told nothing"}
    for word, told_values in told:
        if word in _STATUSES:
            status, values = _STATUSES[word], told_values
    source, target = _ends(nodes)
    if status != OK:
        return Fault(
            transport, source, target, str(request.fault), size, None, values["why"], UNKNOWN, Left(), NOT_TRIED, status
        )
    return Fault(
        transport=transport,
        source=source,
        target=target,
        kind=str(request.fault),
        size_bytes=size,
        seconds_to_error=values["seconds"] if values["raised"] else None,
        error=values["error"],
        other_end=values["other_end"],
        left=Left(**values["left"], actors=values["actors"]),
        next_transfer=values["next"],
    )


def inapplicable(request: Request, transport: str, nodes: Sequence[Mapping[str, Any]], why: str) -> Fault:
    """Of a transport to which nothing can be done that `--fault` does."""
    size = _size(request)
    return Fault(transport, *_ends(nodes), str(request.fault), size, None, why, UNKNOWN, Left(), NOT_TRIED, UNAVAILABLE)


def _size(request: Request) -> int:
    return max((one for one in request.sizes if one <= _SIZE_BYTES), default=request.sizes[0])


def _ends(nodes: Sequence[Mapping[str, Any]]) -> tuple[Endpoint, Endpoint]:
    return Endpoint(str(nodes[0]["name"]), "cpu"), Endpoint(str(nodes[-1]["name"]), "cpu")
