"""The hardware of nodes as their documents have it: what makes figures comparable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from raxl.model.measurement import Bench

_NIC = re.compile(r"([0-9]+|None) bit/s, MTU ([0-9]+|None)")
"""How an older raxl wrote a NIC."""
_CALLED = {"cpu": "processor", "cores": "cores", "memory_gib": "GiB of memory", "nics": "NICs"}


def said(bench: Bench, node: str, what: str) -> Any:
    """What a node of the document said of itself; None where it said nothing."""
    nodes = bench.environment.get("nodes")
    own = nodes.get(node) if isinstance(nodes, Mapping) else None
    return own.get(what) if isinstance(own, Mapping) else None


def of(bench: Bench, node: str) -> Any:
    """What the node is, in a form in which equal hardware is equal, whichever raxl wrote it; None where it is not
    known."""
    own = said(bench, node, "hardware")
    if not isinstance(own, Mapping) or not isinstance(own.get("nics"), (list, tuple)):
        return own
    return {**own, "nics": [_nic(one) for one in own["nics"]]}


def _nic(told: Any) -> Any:
    found = _NIC.fullmatch(told) if isinstance(told, str) else None
    if found is None:
        return told
    speed, mtu = (None if word == "None" else int(word) for word in found.groups())
    return {"speed_bits_per_second": speed, "mtu": mtu}


def differs(before: Any, now: Any) -> str | None:
    """`GiB of memory 32 before, 64 now`: in what the two are not the same; None where they are."""
    if before == now:
        return None
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return f"{_words(before)} before, {_words(now)} now"
    parts = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
    return "; ".join(
        f"{_CALLED.get(name, str(name))} {_words(before.get(name))} before, {_words(now.get(name))} now"
        for name in parts
    )


def _words(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, (list, tuple)):
        return " and ".join(map(_words, value)) or "none"
    if isinstance(value, Mapping):
        speed = value.get("speed_bits_per_second")
        rate = "of unknown speed" if speed is None else f"of {speed / 1e9:g} Gbit/s"
        return f"{rate} with MTU {_words(value.get('mtu'))}"
    return str(value)
