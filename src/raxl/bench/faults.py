"""`--fault`: what each transport does when an end dies in the middle of a transfer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from raxl.bench.conducting import Conducting
from raxl.bench.request import Request
from raxl.model.measurement import FAILED, NOT_TRIED, OK, UNAVAILABLE, UNKNOWN, Endpoint, Fault, Left
from raxl.transfer import Transfer

PATIENCE_SECONDS = 10.0
"""So long an error is waited for; a partition lasts half of it."""
VARIABLES = {"RAY_rdt_fetch_fail_timeout_milliseconds": "5000"}
"""Ray Direct Transport waits a minute by default before it gives up; Ray reads this at import, in each process."""
_SIZE_BYTES = 32 << 20
_SETUP_SECONDS = 120.0
_STATUSES = {"hurt": OK, "unavailable": UNAVAILABLE, "failed": FAILED}
"""By what the conductor tells."""


def fault(conducting: Conducting, request: Request, transport: str, nodes: Sequence[Mapping[str, Any]]) -> Fault:
    """One fault of one transport, from the first node to the last."""
    told = conducting.ask(
        "hurt",
        2 * _SETUP_SECONDS + 2 * PATIENCE_SECONDS,
        transport=transport,
        nodes=[node["id"] for node in nodes],
        kind=request.fault,
        transfer=asdict(transfer(request)),
        seconds=PATIENCE_SECONDS,
    )
    status = FAILED
    values: dict[str, Any] = {"why": "it told nothing"}
    for word, told_values in told:
        if word in _STATUSES:
            status, values = _STATUSES[word], told_values
    if status != OK:
        return not_tried(request, transport, nodes, values["why"], status)
    tried = not_tried(request, transport, nodes, "", status)
    return replace(
        tried,
        seconds_to_error=values["seconds"] if values["raised"] else None,
        error=values["error"],
        other_end=values["other_end"],
        left=Left(**values["left"], actors=values["actors"]),
        next_transfer=values["next"],
    )


def not_tried(
    request: Request, transport: str, nodes: Sequence[Mapping[str, Any]], why: str, status: str = UNAVAILABLE
) -> Fault:
    """A fault that was not done."""
    source, target = (Endpoint(str(node["name"]), "cpu") for node in (nodes[0], nodes[-1]))
    size = transfer(request).size_bytes
    return Fault(transport, source, target, str(request.fault), size, None, why, UNKNOWN, Left(), NOT_TRIED, status)


def transfer(request: Request) -> Transfer:
    """What is hurt in its middle: the largest of the sizes that is not so large that only setting up takes long."""
    return Transfer(
        size_bytes=max((one for one in request.sizes if one <= _SIZE_BYTES), default=request.sizes[0]),
        destination=request.destination,
        streams=request.streams,
        most_samples=1 << 20,
        seconds=PATIENCE_SECONDS,
        least_seconds=PATIENCE_SECONDS,
    )
