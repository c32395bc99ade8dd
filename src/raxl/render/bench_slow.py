"""Nodes and links that hold others up: which way, what shows it, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from raxl.model.measurement import Slow
from raxl.model.printable import clean
from raxl.render.bench_units import percent, rate, unbroken
from raxl.render.naming import counted
from raxl.render.node_names import short
from raxl.render.text import Line, Page
from raxl.render.unknown import REMARK

_CAUSES = {"alone": "a node or a cable", "together": "a link that too many share"}
_DIRECTIONS = {"sends": "sends slowly", "receives": "receives slowly", "both": "is slow both ways"}
_LINK_DIRECTIONS = {**_DIRECTIONS, "sends": "is slow", "receives": "is slow"}
_MOST_PAIRS = 4
_MOST = 12


def slow(page: Page, found: Sequence[Slow]) -> list[Line]:
    """The slowest first."""
    ranked = sorted(found, key=_share)
    lines = [line for one in ranked[:_MOST] for line in _one(page, one)]
    if len(ranked) > _MOST:
        lines += page.fold(f"{len(ranked) - _MOST} more in the JSON", 3, "dim", ("   ", ""))
    return lines


def _share(one: Slow) -> float:
    peers = one.evidence.peers_bytes_per_second
    return one.evidence.best_bytes_per_second / peers if peers > 0 else 1.0


def subject(one: Slow) -> str:
    """`gpu-03`; of a link `gpu-03 → gpu-04`."""
    return " → ".join(map(short, one.subject.split(" → ")))


def _one(page: Page, one: Slow) -> list[Line]:
    words = (_LINK_DIRECTIONS if one.kind == "link" else _DIRECTIONS).get(one.direction, clean(one.direction))
    best, peers = rate(one.evidence.best_bytes_per_second), rate(one.evidence.peers_bytes_per_second)
    share = f" ({percent(_share(one))})" if one.evidence.peers_bytes_per_second > 0 else ""
    head = f"{words}: at best {best}, others {peers}{share}"
    lines = page.fold(unbroken(head), 3, lead=(f"{REMARK}  {clean(one.kind)} {subject(one)} ", "fail"))
    if pairs := one.evidence.pairs:
        more = len(pairs) - _MOST_PAIRS
        told = [*map(clean, pairs[:_MOST_PAIRS]), *([counted(more, "more pair")] if more > 0 else [])]
        lines += page.fold(f"seen in Gb/s: {', '.join(told)}", 6, "dim", ("   ", ""))
    if (alone := one.evidence.alone_bytes_per_second) is not None:
        cause = _CAUSES.get(one.evidence.slow_when or "", "slow no more")
        lines += page.fold(f"one pair at a time {rate(alone)}: {cause}", 6, "dim", ("   ", ""))
    if one.next_command:
        lines += page.fold(clean(one.next_command), 6, lead=("   → ", ""))
    return lines
